#include "replica/api/prefer.h"

#include <algorithm>
#include <charconv>

namespace once {
namespace {

constexpr std::int64_t kWaitSecondsMax = 86'400;

std::string_view Trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Takes what is before the next `end` that is not quoted, and that too.
std::string_view Take(std::string_view& text, char end) {
  std::size_t at = 0;
  for (bool quoted = false; at < text.size() && (quoted || text[at] != end); ++at)
    if (text[at] == '"') quoted = !quoted;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

bool IsWait(std::string_view name) {
  constexpr std::string_view kWait = "wait";
  return std::equal(name.begin(), name.end(), kWait.begin(), kWait.end(),
                    [](char a, char b) { return (a | 0x20) == b; });
}

std::optional<std::int64_t> Seconds(std::string_view value) {
  if (value.size() > 2 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  std::uint64_t seconds = 0;
  const char* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, seconds);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(seconds, kWaitSecondsMax));
}

}  // namespace

std::optional<std::int64_t> PreferredWait(std::string_view prefer) {
  while (!prefer.empty()) {
    std::string_view preference = Take(prefer, ',');
    std::string_view pair = Take(preference, ';');
    if (IsWait(Trim(Take(pair, '=')))) return Seconds(Trim(pair));
  }
  return std::nullopt;
}

}  // namespace once
