// One invocation takes effect at most once, over all starts and leaders that still hear of it, not
// later than its caller was promised, and not at all when its caller was told so.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "conflict/claim.pb.h"
#include "simulator/checks.h"
#include "simulator/history.h"

namespace once {

/// What a begin of a simulated caller is sent as: a claim then says which invocation took it up.
std::string ActorOf(const Operation& operation);

/// By the leader's stamp a strict command is taken up by then, or never. What its caller was told
/// before that, by a node that gave up earlier, changes nothing about it. INT64_MAX: the clock of
/// whoever was asked was off, and nothing is promised.
std::int64_t LatestTakeUpMillis(const History& history, const Operation& operation);

/// Shown claims as regions have them, it finds invocations that took up two claims, or one claim
/// under two fences, or any though its caller was told that nothing was done; and strict ones that
/// were taken up, by the stamp, later than the clock bound after the caller's 503. Stamps and
/// askers' clocks may differ by the bound from true time; whose wall clock was off beyond it is
/// promised nothing about time.
class TakeUpWatch {
 public:
  /// `history` outlives it; its time began when the wall said `start_wall_ms`.
  TakeUpWatch(const History& history, std::int64_t start_wall_ms)
      : history_(history), start_wall_ms_(start_wall_ms) {}

  Violations Look(const Claim& claim, std::int64_t now_ms);
  /// In the end: whoever took up a claim, and was told that nothing was done.
  Violations Refused() const;

 private:
  struct TakeUp {
    std::string run_id;
    std::uint64_t fence = 0;
  };
  bool IsLate(const Operation& operation, const Claim& claim) const;

  const History& history_;
  const std::int64_t start_wall_ms_;
  std::map<std::uint64_t, TakeUp> take_ups_;  // by operation
};

}  // namespace once
