#include "replica/api/prefer.h"

#include <algorithm>
#include <charconv>

#include "replica/api/header_list.h"
#include "replica/limits.h"

namespace once {
namespace {

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

std::optional<std::int64_t> PreferredWait(const HttpRequest& request) {
  for (auto [name, prefer] : request.headers) {
    if (!SameToken(name, "Prefer")) continue;
    while (!prefer.empty()) {
      std::string_view preference = TakeUntil(prefer, ',');
      std::string_view pair = TakeUntil(preference, ';');
      if (SameToken(TakeUntil(pair, '='), "wait")) return Seconds(Trimmed(pair));
    }
  }
  return std::nullopt;
}

}  // namespace once
