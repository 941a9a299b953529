// The node's clock: the source of stamps. Monotonic time carries it, the wall clock only nudges it.
#pragma once

#include <cstdint>

#include "replica/env/scheduler.h"

namespace once {

/// A jump of the wall clock must not expire a claim early or hand out a stamp from the future, so
/// the clock is (start + monotonic time elapsed), slewed toward the wall by at most one twentieth
/// of the time that passes, and only while the two are within the skew bound of each other.
///
/// The start is the later of the last persisted stamp and the wall clock at boot: time spent down
/// is known to nobody else. A wall clock that is wrong at boot by more than the bound is trusted
/// when ahead and ignored (and unsafe) when behind.
class NodeClock {
 public:
  NodeClock(const Scheduler& scheduler, std::int64_t last_stamp_ms, std::int64_t skew_bound_ms);

  /// Never falls.
  std::int64_t NowMillis();
  /// False while the wall clock disagrees by more than the bound: new claims are refused then.
  bool Safe();
  /// What NowMillis would have said when this was last read, by NowMillis or Safe.
  std::int64_t read_ms() const { return now_us_ / 1000; }
  /// Wall minus node time, as last seen.
  std::int64_t OffsetMillis() const { return offset_ms_; }

 private:
  void Advance();

  const Scheduler& scheduler_;
  const std::int64_t skew_bound_ms_;
  std::int64_t monotonic_us_;
  std::int64_t now_us_;
  std::int64_t offset_ms_ = 0;
};

}  // namespace once
