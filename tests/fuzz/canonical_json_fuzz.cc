// Any bytes as a document: canonical text is its own canonical text, and the value reader accepts
// exactly the same documents and reads the same value from both.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "replica/api/canonical_json.h"
#include "replica/api/json_value.h"
#include "replica/env/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view document(reinterpret_cast<const char*>(data), size);
  const auto canonical = once::Canonicalize(document);
  std::string error;
  const auto value = once::ParseJson(document, error);
  once::Check(value.has_value() == canonical.text.has_value(), "one rule for both readers");
  if (!value) {
    once::Check(!error.empty() && !canonical.error.reason.empty(), "a refusal has a reason");
    once::Check(canonical.error.offset <= size, "the offset is in the document");
    return 0;
  }
  once::Check(canonical.text->size() <= 6 * size + 32, "canonical text is bounded");
  const auto read = once::Canonicalize(" " + std::string(document));
  once::Check(read.text == canonical.text, "a document that need not be read is its own text");
  const auto again = once::Canonicalize(*canonical.text);
  once::Check(again.text == canonical.text, "canonical text is its own canonical text");
  once::Check(once::ParseJson(*canonical.text, error) == value,
              "canonical text has the same value");
  return 0;
}
