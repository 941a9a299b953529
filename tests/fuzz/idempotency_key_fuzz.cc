// Any bytes as header and query: what is taken for a key is within its bounds and survives being
// quoted.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "replica/api/idempotency_key.h"
#include "replica/env/check.h"
#include "replica/limits.h"

namespace {

using once::IdempotencyKey;
using Kind = IdempotencyKey::Kind;

std::string Quote(std::string_view key) {
  std::string quoted = "\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

void CheckParsed(const IdempotencyKey& parsed) {
  once::Check(!parsed.text.empty(), "a key or a reason");
  if (parsed.kind != Kind::kKey) return;
  once::Check(parsed.text.size() <= once::kKeyBytesMax, "a key is bounded");
  for (const char c : parsed.text) once::Check(c >= 0x20 && c <= 0x7e, "a key is printable");
  once::Check(once::ParseIdempotencyKey(Quote(parsed.text)) == parsed, "quoting keeps the key");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const IdempotencyKey parsed = once::ParseIdempotencyKey(input);
  once::Check(parsed.kind != Kind::kAbsent, "an input is never absent");
  CheckParsed(parsed);

  const std::string_view header = input.substr(0, input.find('\n'));
  const std::string_view target =
      header.size() < input.size() ? input.substr(header.size() + 1) : std::string_view{};
  const auto read = once::ReadIdempotencyKey({"POST", target, {{"Idempotency-Key", header}}, {}});
  once::Check(read.kind != Kind::kAbsent, "a header is never absent");
  CheckParsed(read);

  const auto queried = once::ReadIdempotencyKey({"POST", target, {}, {}});
  if (queried.kind != Kind::kAbsent) CheckParsed(queried);
  return 0;
}
