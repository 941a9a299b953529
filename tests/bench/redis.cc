// Redis over RESP2.
#include <charconv>
#include <initializer_list>
#include <stdexcept>

#include "tests/bench/phase.h"
#include "tests/bench/request_template.h"

namespace once::load {
namespace {

constexpr std::size_t kRecordBytes = 200;  // about what a claim's record takes in Once

Reply ParseResp(std::string_view input) {
  const std::size_t line_bytes = input.find("\r\n");
  if (line_bytes == std::string_view::npos) return {};
  const std::string_view line = input.substr(0, line_bytes);
  if (line.starts_with('+') || line.starts_with('-') || line == "$-1") {
    return {line_bytes + 2, line.starts_with('-'), line, {}};
  }
  std::size_t body_bytes = 0;
  if (!line.starts_with('$') ||
      std::from_chars(line.data() + 1, line.data() + line.size(), body_bytes).ec != std::errc()) {
    throw std::runtime_error("not an expected RESP answer: " + std::string(line));
  }
  const std::size_t bytes = line_bytes + 2 + body_bytes + 2;
  if (input.size() < bytes) return {};
  return {bytes, false, line, input.substr(line_bytes + 2, body_bytes)};
}

std::string Command(std::initializer_list<std::string_view> words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (std::string_view word : words) {
    out += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
  }
  return out;
}

/// SET if absent, for a day: the usual Redis idempotency lock.
Phase SetPhase(const WorkloadOptions& options, std::size_t value_bytes) {
  const std::string value(value_bytes, 'a');
  const RequestTemplate set(Command({"SET", kKeyHole, value, "NX", "EX", "86400"}), options.seed);
  Phase phase;
  phase.write = [set](std::uint64_t index, std::string* out) { set.Write(index, out); };
  phase.accept = [](std::uint64_t, const Reply& reply) { return reply.head == "+OK"; };
  return phase;
}

}  // namespace

Workload RedisWorkload(const WorkloadOptions& options) {
  if (options.job == Job::kClaim) return {ParseResp, {}, SetPhase(options, kRecordBytes)};

  Phase get;
  get.write = [get = RequestTemplate(Command({"GET", kKeyHole}), options.seed)](
                  std::uint64_t index, std::string* out) { get.Write(index, out); };
  get.accept = [bytes = options.answer_bytes](std::uint64_t, const Reply& reply) {
    return reply.body.size() == bytes;
  };
  const Workload::SetUp store{SetPhase(options, options.answer_bytes), options.population};
  return {ParseResp, {store}, get, options.population};
}

}  // namespace once::load
