// Looks at the Raft core of a region after everything that the region does, and holds it against
// what Raft promises about all members together (consensus/invariants.h).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "consensus/invariants.h"
#include "simulator/checks.h"
#include "simulator/cluster.h"
#include "simulator/history.h"
#include "simulator/moment.h"

namespace once {

/// Violations are named after the rule that is broken, as in log-matching. Who led since when, and
/// who was sent snapshots, is written into the history.
class RaftWatch {
 public:
  /// Both outlive it.
  RaftWatch(Cluster& cluster, History& history) : cluster_(cluster), history_(history) {}

  /// The region did something. What is found, once.
  Violations Observe(const std::string& region, std::int64_t now_ms);
  /// The region's process started: of what it showed, only what was durable must come back.
  void Restarted(const std::string& region) { Forget(region); }

  std::function<void(const std::string& region, Moment moment)> on_moment;

 private:
  void Forget(const std::string& region);
  void NoteMoment(const std::string& region, const Raft& raft);
  void NoteSnapshots(const std::string& region, const Raft& raft, std::int64_t now_ms);
  void NoteRestored(const std::string& region, const Raft& raft, std::int64_t now_ms);

  Cluster& cluster_;
  History& history_;
  RaftInvariants invariants_;
  struct Watched {
    std::string member;
    RaftRole role = RaftRole::kFollower;
    std::string voted_for;
    std::uint64_t acknowledged = 0;  // to a leader, by whoever holds most
    std::uint64_t commit = 0;
  };
  std::map<std::string, Watched> watched_;        // as last seen, by region
  std::map<std::string, std::size_t> receiving_;  // in the history, by region
  bool broken_ = false;
};

}  // namespace once
