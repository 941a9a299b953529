// Spans of time that tests speak of.
#pragma once

#include <cstdint>

namespace once {

inline constexpr std::int64_t kSecondMs = 1000;
inline constexpr std::int64_t kHourMs = 3'600'000;
inline constexpr std::int64_t kDayMs = 24 * kHourMs;

}  // namespace once
