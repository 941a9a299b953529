// Any bytes as a request: a fingerprint or a reason; the same for the canonical body and for a
// query that carries a key; of different kinds never the same.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "replica/api/fingerprint.h"
#include "replica/env/check.h"

namespace {

std::string_view TakeLine(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : line.size());
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view id = TakeLine(rest);
  const std::string_view query = TakeLine(rest);
  const std::string_view content_type = TakeLine(rest);
  const std::array<std::pair<std::string_view, std::string_view>, 1> path = {{{"id", id}}};
  once::FingerprintInput input = {"POST", "/v1/runs/{id}", path, query, content_type, rest};
  const auto result = once::FingerprintOfRequest(input);
  if (!result.fingerprint) {
    once::Check(once::IsJson(content_type) && !result.error.reason.empty(), "only JSON is refused");
    return 0;
  }
  once::Check(result.fingerprint->bytes.size() == 32, "32 bytes");
  once::Check(*result.fingerprint != once::FingerprintOfOpaque(rest), "kinds never meet");

  const std::string keyed = "idempotency_key=k&" + std::string(query);
  input.query = keyed;
  const auto canonical = once::Canonicalize(rest);
  if (once::IsJson(content_type) && !rest.empty()) input.body = *canonical.text;
  const auto same = once::FingerprintOfRequest(input);
  once::Check(same.fingerprint == result.fingerprint, "spelling and key do not count");
  return 0;
}
