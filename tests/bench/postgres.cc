// PostgreSQL's protocol 3.0: prepared statements in the extended query protocol, trust
// authentication.
#include <stdexcept>

#include "tests/bench/phase.h"
#include "tests/bench/request_template.h"

namespace once::load {
namespace {

constexpr std::size_t kFingerprintBytes = 64;
constexpr std::size_t kBodyBytes = 100;  // with key and fingerprint: about Once's record

constexpr std::string_view kSchema =
    "CREATE TABLE IF NOT EXISTS claims(key text PRIMARY KEY, fingerprint text NOT NULL,"
    " body text NOT NULL, expires timestamptz NOT NULL)";
constexpr std::string_view kInsert =
    "INSERT INTO claims(key, fingerprint, body, expires)"
    " VALUES($1, $2, $3, now() + interval '24 hours') ON CONFLICT DO NOTHING";
constexpr std::string_view kSelect = "SELECT body FROM claims WHERE key = $1";

std::string Int16(unsigned value) {
  return {static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string Int32(std::size_t value) {
  return Int16(value >> 16) + Int16(value & 0xffff);
}

std::size_t ReadInt32(std::string_view at) {
  std::size_t value = 0;
  for (char c : at.substr(0, 4)) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

std::string Terminated(std::string_view text) {
  return std::string(text) + '\0';
}

std::string Message(char type, const std::string& payload) {
  return type + Int32(payload.size() + 4) + payload;
}

std::string StartUp(const std::string& user) {
  const std::string payload = Int32(3 << 16) + Terminated("user") + Terminated(user) + '\0';
  return Int32(payload.size() + 4) + payload;
}

/// Prepares `sql` under the name "s".
std::string Prepare(std::string_view sql) {
  return Message('P', Terminated("s") + Terminated(sql) + Int16(0)) + Message('S', "");
}

std::string Execute(const std::vector<std::string>& parameters) {
  std::string bind = Terminated("") + Terminated("s") + Int16(0) + Int16(parameters.size());
  for (const std::string& parameter : parameters) bind += Int32(parameter.size()) + parameter;
  return Message('B', bind + Int16(0)) + Message('E', Terminated("") + Int32(0)) + Message('S', "");
}

/// Reads up to ReadyForQuery, which ends every exchange.
Reply ParseMessages(std::string_view input) {
  Reply reply;
  for (std::size_t at = 0; input.size() >= at + 5;) {
    const char type = input[at];
    const std::size_t bytes = ReadInt32(input.substr(at + 1)) + 1;
    if (input.size() < at + bytes) break;
    const std::string_view payload = input.substr(at + 5, bytes - 5);
    at += bytes;
    if (type == 'R' && ReadInt32(payload) != 0) {
      throw std::runtime_error("PostgreSQL asks for a password; it must trust this connection");
    } else if (type == 'E') {
      reply.error = true;
      reply.head = payload;
    } else if (type == 'C' && !reply.error) {
      reply.head = payload.substr(0, payload.find('\0'));
    } else if (type == 'D') {
      reply.body = payload;
    } else if (type == 'Z') {
      reply.bytes = at;
      return reply;
    }
  }
  return {};
}

Phase SchemaPhase(const WorkloadOptions& options) {
  Phase phase;
  phase.opening = {StartUp(options.user)};
  phase.write = [](std::uint64_t, std::string* out) { *out = Message('Q', Terminated(kSchema)); };
  phase.accept = [](std::uint64_t, const Reply& reply) { return !reply.error; };
  return phase;
}

Phase InsertPhase(const WorkloadOptions& options, std::size_t body_bytes) {
  const std::string execute = Execute(
      {std::string(kKeyHole), std::string(kFingerprintBytes, 'f'), std::string(body_bytes, 'a')});
  Phase phase;
  phase.opening = {StartUp(options.user), Prepare(kInsert)};
  phase.write = [insert = RequestTemplate(execute, options.seed)](
                    std::uint64_t index, std::string* out) { insert.Write(index, out); };
  phase.accept = [](std::uint64_t, const Reply& reply) { return reply.head == "INSERT 0 1"; };
  return phase;
}

}  // namespace

Workload PostgresWorkload(const WorkloadOptions& options) {
  const Workload::SetUp schema{SchemaPhase(options), 1};
  if (options.job == Job::kClaim)
    return {ParseMessages, {schema}, InsertPhase(options, kBodyBytes)};

  Phase select;
  select.opening = {StartUp(options.user), Prepare(kSelect)};
  select.write = [select = RequestTemplate(Execute({std::string(kKeyHole)}), options.seed)](
                     std::uint64_t index, std::string* out) { select.Write(index, out); };
  select.accept = [bytes = options.answer_bytes](std::uint64_t, const Reply& reply) {
    return reply.head == "SELECT 1" && reply.body.size() == 2 + 4 + bytes;
  };
  const Workload::SetUp store{InsertPhase(options, options.answer_bytes), options.population};
  return {ParseMessages, {schema, store}, select, options.population};
}

}  // namespace once::load
