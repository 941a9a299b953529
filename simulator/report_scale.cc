#include "simulator/report_scale.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "simulator/report_words.h"

namespace once {
namespace {
constexpr double kMargin = 8;
}  // namespace

double TimeScale::X(std::int64_t ms) const {
  const double part = static_cast<double>(ms) / static_cast<double>(end_ms_);
  return kMargin + std::clamp(part, 0.0, 1.0) * (kPlotWidth - 2 * kMargin);
}

std::vector<std::int64_t> TimeScale::Ticks() const {
  constexpr std::int64_t kSteps[] = {
      1,       2,       5,         10,        20,        50,         100,       200,
      500,     1'000,   2'000,     5'000,     10'000,    30'000,     60'000,    120'000,
      300'000, 600'000, 1'800'000, 3'600'000, 7'200'000, 21'600'000, 86'400'000};
  std::int64_t step = kSteps[0];
  for (const std::int64_t candidate : kSteps) {
    step = candidate;
    if (end_ms_ / candidate <= 12) break;
  }
  step = std::max(step, end_ms_ / 12);  // runs of weeks
  std::vector<std::int64_t> ticks;
  for (std::int64_t at = 0; at <= end_ms_; at += step) ticks.push_back(at);
  return ticks;
}

std::string TimeScale::Label(std::int64_t ms) const {
  if (ms == 0) return "0";
  // "1 min" beside "2 min", though Duration prefers "60 s".
  return ms == 60'000 && end_ms_ > 120'000 ? "1 min" : Duration(ms);
}

LogScale::LogScale(double low_ms, double high_ms)
    : low_(std::log10(low_ms)), high_(std::log10(high_ms)) {}

double LogScale::Position(double ms) const {
  return std::clamp((std::log10(std::max(ms, 1.0)) - low_) / (high_ - low_), 0.0, 1.0);
}

std::vector<std::int64_t> LogScale::Ticks() const {
  constexpr double kRounding = 1e-9;
  const bool room = high_ - low_ <= 3.5;
  std::vector<std::int64_t> ticks;
  for (double decade = std::floor(low_); decade <= high_ + kRounding; ++decade) {
    for (const int factor : {1, 3}) {
      if (factor != 1 && !room) continue;
      const double tick = factor * std::pow(10, decade);
      const double position = std::log10(tick);
      if (position >= low_ - kRounding && position <= high_ + kRounding)
        ticks.push_back(std::llround(tick));
    }
  }
  return ticks;
}

}  // namespace once
