// One spelling for each JSON number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace once {

/// Appends the canonical spelling of `text`, which must be a number by the JSON grammar.
///
/// The layout is ECMAScript's (RFC 8785 §3.2.2.3), the digits are chosen by kind:
/// - A number without a fractional part (1, 1.0, 10e-1, 1e300) keeps all its digits, so different
///   integers never meet, above 2^53 too. From 22 digits on it reads d.ddde+x without trailing
///   zeros, so the result is never much longer than `text`, whatever the exponent.
/// - Any other number becomes the nearest double, with the fewest digits that read back as it.
/// - Zero is 0, with either sign.
/// False, with nothing appended, when the value rounds to no finite double (1e400, in any
/// spelling).
bool AppendCanonicalNumber(std::string_view text, std::string& out);

using JsonNumber = std::variant<std::int64_t, std::uint64_t, double>;

/// The same number as a value: an integer when it is one and fits, whatever its spelling
/// (30000.0 is 30000), otherwise the nearest double. False as above.
bool ReadNumber(std::string_view text, JsonNumber& number);

}  // namespace once
