// Once over keep-alive HTTP/1.1.
#include <charconv>
#include <memory>
#include <stdexcept>

#include "tests/bench/phase.h"
#include "tests/bench/request_template.h"

namespace once::load {
namespace {

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != lower[at]) return false;
  }
  return true;
}

/// The value of the header named `lower` (in lower case), or empty.
std::string_view FindHeader(std::string_view head, std::string_view lower) {
  for (std::size_t end = head.find("\r\n"); end != std::string_view::npos;) {
    const std::size_t begin = end + 2;
    end = head.find("\r\n", begin);
    const std::string_view line = head.substr(begin, end - begin);
    if (line.size() <= lower.size() || line[lower.size()] != ':') continue;
    if (!EqualsIgnoringCase(line.substr(0, lower.size()), lower)) continue;
    const std::size_t value = line.find_first_not_of(' ', lower.size() + 1);
    return value == std::string_view::npos ? std::string_view() : line.substr(value);
  }
  return {};
}

Reply ParseHttp(std::string_view input) {
  const std::size_t head_bytes = input.find("\r\n\r\n");
  if (head_bytes == std::string_view::npos) return {};
  const std::string_view head = input.substr(0, head_bytes);
  if (head.size() < 12 || !head.starts_with("HTTP/1.1 ")) {
    throw std::runtime_error("not an HTTP/1.1 answer: " + std::string(head));
  }
  const std::string_view length = FindHeader(head, "content-length");
  std::size_t body_bytes = 0;
  std::from_chars(length.data(), length.data() + length.size(), body_bytes);
  if (length.empty() && !head.substr(9).starts_with("204")) {
    throw std::runtime_error("an answer without Content-Length: " + std::string(head));
  }
  const std::size_t bytes = head_bytes + 4 + body_bytes;
  if (input.size() < bytes) return {};
  return {bytes, head[9] >= '4', head, input.substr(head_bytes + 4, body_bytes)};
}

bool HasStatus(const Reply& reply, std::string_view status) {
  return reply.head.substr(9).starts_with(status);
}

std::string Post(const WorkloadOptions& options) {
  const std::string body = R"({"endpoint":"POST /pay","request":{"amount":)" +
                           std::string(kAmountHole) + R"(,"to":"acct"}})";
  return "POST /v1/claims HTTP/1.1\r\nHost: " + options.address + "\r\nAuthorization: Bearer " +
         options.api_key + "\r\nIdempotency-Key: " + std::string(kKeyHole) +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

/// The value of a member of a flat JSON object that this client asked for: a string without
/// escapes, or a number.
std::string Member(std::string_view json, std::string_view name) {
  const std::string quoted = '"' + std::string(name) + '"';
  std::size_t at = json.find(quoted);
  if (at != std::string_view::npos) at = json.find_first_not_of(": \"", at + quoted.size());
  if (at == std::string_view::npos) {
    throw std::runtime_error("no member " + quoted + " in " + std::string(json));
  }
  return std::string(json.substr(at, json.find_first_of("\",}", at) - at));
}

struct Ticket {
  std::string claim_id;
  std::string fence;
};

Phase ClaimPhase(const WorkloadOptions& options) {
  Phase phase;
  phase.write = [post = RequestTemplate(Post(options), options.seed)](
                    std::uint64_t index, std::string* out) { post.Write(index, out); };
  phase.accept = [](std::uint64_t, const Reply& reply) { return HasStatus(reply, "201"); };
  return phase;
}

/// Puts the answer of `answer_bytes` into every claim for which `tickets` has the fence.
Phase SettlePhase(const WorkloadOptions& options, std::shared_ptr<std::vector<Ticket>> tickets) {
  const std::string body =
      R"({"status":200,"headers":{"Content-Type":"application/json"},"body":")" +
      std::string(options.answer_bytes, 'a') + "\"}";
  Phase phase;
  phase.write = [options, body, tickets](std::uint64_t index, std::string* out) {
    const Ticket& ticket = (*tickets)[index];
    *out =
        "PUT /v1/claims/" + ticket.claim_id + "/outcome HTTP/1.1\r\nHost: " + options.address +
        "\r\nAuthorization: Bearer " + options.api_key + "\r\nIf-Match: \"" + ticket.fence +
        "\"\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
  };
  phase.accept = [](std::uint64_t, const Reply& reply) { return HasStatus(reply, "2"); };
  return phase;
}

}  // namespace

Workload OnceWorkload(const WorkloadOptions& options) {
  Workload workload{ParseHttp, {}, ClaimPhase(options)};
  if (options.job == Job::kClaim) return workload;

  auto tickets = std::make_shared<std::vector<Ticket>>(options.population);
  Phase begin = ClaimPhase(options);
  begin.accept = [tickets](std::uint64_t index, const Reply& reply) {
    if (!HasStatus(reply, "201")) return false;
    (*tickets)[index] = {Member(reply.body, "claimId"), Member(reply.body, "fence")};
    return true;
  };
  workload.set_ups.push_back({begin, options.population});
  workload.set_ups.push_back({SettlePhase(options, tickets), options.population});
  workload.measured.accept = [](std::uint64_t, const Reply& reply) {
    return HasStatus(reply, "200") && FindHeader(reply.head, "openwop-idempotent-replay") == "true";
  };
  workload.population = options.population;
  return workload;
}

}  // namespace once::load
