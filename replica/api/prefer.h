// The Prefer header of RFC 7240, as far as Once knows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace once {

/// The seconds of the first `wait` in a list of preferences, at most a day. Nothing: there is none,
/// or it is not a number, and such a preference is ignored.
std::optional<std::int64_t> PreferredWait(std::string_view prefer);

}  // namespace once
