// What the strict group's leader does of its own accord: expiry, steps of runs, and giving up
// leadership when its clock cannot be trusted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "replica/clock.h"
#include "replica/env/scheduler.h"
#include "replica/strict/engine.h"
#include "replica/strict/strict_proposals.h"
#include "replica/strict/strict_state.h"

namespace once {

/// On every node; does something only while its engine leads. Nothing of it is kept: each duty is a
/// command that changes nothing when it comes twice, and the next leader looks at the state anew.
class LeaderDuties {
 public:
  /// All outlive it.
  LeaderDuties(Scheduler& scheduler, NodeClock& clock, Engine& engine, StrictState& state,
               StrictProposals& proposals, std::int64_t skew_ms);
  ~LeaderDuties();

  void Start();
  /// This node has begun to lead.
  void TakeOver();
  /// Not all that is due has expired yet.
  void ExpireMore();
  /// That run changed.
  void Consider(const std::string& run_id);

 private:
  void Round();
  void LookAtRuns();

  Scheduler& scheduler_;
  NodeClock& clock_;
  Engine& engine_;
  StrictState& state_;
  StrictProposals& proposals_;
  const std::int64_t skew_ms_;
  std::uint64_t rounds_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace once
