// The query of a request target, taken apart without losing how it was spelled.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace once {

/// One `name=value` of a query; views into the target, still percent-encoded.
struct QueryParameter {
  std::string_view text;   // the whole of it
  std::string_view name;   // all of it when there is no '='
  std::string_view value;  // after the first '='
};

/// What follows the first '?' of a target; empty when there is none.
std::string_view QueryOf(std::string_view target);

/// The parameters in order. Empty ones (`a&&b`) are left out: they say nothing.
std::vector<QueryParameter> ParseQuery(std::string_view query);

/// Every %XX as its byte; nothing when an escape is malformed. A '+' stays a '+'.
std::optional<std::string> PercentDecode(std::string_view text);

/// RFC 3986 §6.2.2 form: escapes of unreserved characters as the character, other escapes in upper
/// case. Equal forms mean equal to every reader, also to those who take '+' for a space and %2B
/// not. A text with a malformed escape stays as it is: readers differ on what it means.
std::string NormalizePercent(std::string_view text);

}  // namespace once
