// Everything that is watched of a strict group while a world runs, and whether it is well.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "simulator/checks.h"
#include "simulator/clock_watch.h"
#include "simulator/cluster.h"
#include "simulator/faults.h"
#include "simulator/group_operator.h"
#include "simulator/history.h"
#include "simulator/hung_leader_watch.h"
#include "simulator/leader_watch.h"
#include "simulator/raft_watch.h"
#include "simulator/rules_watch.h"
#include "simulator/state_watch.h"

namespace once {

/// Raft's promises after everything that a region does; stability, and leaders whose disks hang,
/// every quarter of a second; equal states every half second.
class GroupWatch {
 public:
  using Keep = std::function<void(Violations)>;

  /// All outlive it, and it every task of the cluster's scheduler. A message may be `late_ms` late,
  /// also one that was sent before all faults ended.
  GroupWatch(Cluster& cluster, GroupOperator& keeper, Faults& faults, History& history,
             std::int64_t late_ms, Keep keep);

  void Start();
  /// The region's process started.
  void Restarted(const std::string& region);
  /// A message is about to be heard by a region whose clock is off.
  void Delivered(const std::string& from, const std::string& to, const std::string& message) {
    clocks_.Delivered(from, to, message);
  }
  /// All faults have ended: from now on it must become well within the bound.
  void Healed() { healed_ms_ = NowMillis(); }
  /// Empty: one leads, all are voters, and everyone has applied all of its log. Else what is
  /// missing.
  std::string Unwell();
  /// In the end.
  void Check();

 private:
  void Look();
  std::int64_t NowMillis() const;

  Cluster& cluster_;
  GroupOperator& keeper_;
  Keep keep_;
  RaftWatch raft_;
  StateWatch states_;
  LeaderWatch leader_;
  HungLeaderWatch hung_;
  RulesWatch rules_;
  ClockWatch clocks_;
  const std::int64_t late_ms_;
  const std::int64_t start_us_;
  std::uint64_t looks_ = 0;
  std::int64_t healed_ms_ = -1;
  std::int64_t well_ms_ = -1;  // the first time after that
};

}  // namespace once
