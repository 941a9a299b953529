// Headers whose value is a list: parts between commas, each with parameters after semicolons.
#pragma once

#include <algorithm>
#include <string_view>

namespace once {

/// Without spaces and tabs around it.
std::string_view Trimmed(std::string_view text);

/// Takes what is before the next `end` that is not quoted, and that too; what is before it,
/// trimmed.
std::string_view TakeUntil(std::string_view& text, char end);

/// Equal but for the case of ASCII letters. Inline: it is asked about every header of a request.
inline bool SameToken(std::string_view a, std::string_view b) {
  if (a == b) return true;  // as most clients spell it
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c | 0x20 : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [lower](char left, char right) { return lower(left) == lower(right); });
}

}  // namespace once
