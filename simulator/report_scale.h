// From milliseconds to pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace once {

/// Sizes shared by the pictures that stand above each other on one time axis: a column of names
/// that stays in view while the plot beside it scrolls.
inline constexpr double kNamesWidth = 148;
inline constexpr double kPlotWidth = 994;

/// The run's time from left to right, linear.
class TimeScale {
 public:
  explicit TimeScale(std::int64_t end_ms) : end_ms_(end_ms) {}
  double X(std::int64_t ms) const;
  /// Round moments, at most about a dozen.
  std::vector<std::int64_t> Ticks() const;
  std::string Label(std::int64_t ms) const;

 private:
  std::int64_t end_ms_;
};

/// Durations on a logarithmic scale, because a healed link's lag is a thousand times a healthy
/// one's. Below 1 ms counts as 1 ms.
class LogScale {
 public:
  /// Maps [low_ms, high_ms] to [0, 1]; 1 <= low_ms < high_ms.
  LogScale(double low_ms, double high_ms);
  double Position(double ms) const;
  /// The powers of ten in range, with their threefolds where there is room.
  std::vector<std::int64_t> Ticks() const;

 private:
  double low_;
  double high_;
};

}  // namespace once
