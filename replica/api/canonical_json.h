// The one way JSON is read here: strict, bounded, and with a canonical text for comparing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace once {

/// Why a document was refused. Refused are: anything but one RFC 8259 document (comments, trailing
/// commas, a byte order mark, text after the end, an empty text), a member name twice in one
/// object (compared after unescaping), a number whose value rounds to no finite double or whose
/// exponent has no 32-bit value, a lone surrogate, invalid UTF-8, nesting deeper than
/// kJsonDepthMax.
struct JsonError {
  std::size_t offset = 0;  // of the byte at or before which the document went wrong
  std::string reason;
};

struct CanonicalJson {
  std::optional<std::string> text;
  JsonError error;  // set when there is no text
};

/// Two documents have equal canonical texts exactly when they have the same value: member order,
/// white space, escapes and the spelling of numbers do not count (a number with a fractional part
/// is the nearest double). This is RFC 8785, except that integers keep all their digits (see
/// json_number.h), so for integers that no double holds the text is not what another RFC 8785
/// implementation writes: it is for our own use. Canonical text is its own canonical text, and at
/// most a small multiple of the input's length.
CanonicalJson Canonicalize(std::string_view document);

}  // namespace once
