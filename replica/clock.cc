#include "replica/clock.h"

#include <algorithm>
#include <cstdlib>

#include "conflict/mutation.h"

namespace once {
namespace {
constexpr std::int64_t kSlewDivisor = 20;
}

NodeClock::NodeClock(const Scheduler& scheduler, std::int64_t last_stamp_ms,
                     std::int64_t skew_bound_ms)
    : scheduler_(scheduler),
      skew_bound_ms_(skew_bound_ms),
      monotonic_us_(scheduler.MonotonicMicros()),
      now_us_(std::max(last_stamp_ms, scheduler.WallMillis()) * 1000) {}

void NodeClock::Advance() {
  const std::int64_t monotonic_us = scheduler_.MonotonicMicros();
  const std::int64_t elapsed_us = std::max<std::int64_t>(0, monotonic_us - monotonic_us_);
  monotonic_us_ = monotonic_us;
  const std::int64_t wall_us = scheduler_.WallMillis() * 1000;
  now_us_ += elapsed_us;
  const std::int64_t offset_us = wall_us - now_us_;
  offset_ms_ = offset_us / 1000;
  if (std::abs(offset_ms_) > skew_bound_ms_) return;
  const std::int64_t slew_us = elapsed_us / kSlewDivisor;
  now_us_ += std::clamp(offset_us, -slew_us, slew_us);
}

std::int64_t NodeClock::NowMillis() {
  Advance();
  return now_us_ / 1000;
}

bool NodeClock::Safe() {
  Advance();
  if (MutationOn("clock-unchecked")) return true;
  return std::abs(offset_ms_) <= skew_bound_ms_;
}

}  // namespace once
