#include "replica/api/header_list.h"

#include <algorithm>

namespace once {

std::string_view Trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string_view TakeUntil(std::string_view& text, char end) {
  std::size_t at = 0;
  for (bool quoted = false; at < text.size() && (quoted || text[at] != end); ++at)
    if (text[at] == '"') quoted = !quoted;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return Trimmed(taken);
}

}  // namespace once
