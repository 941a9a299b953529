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

namespace once {

/// Violations are named after the rule that is broken, as in log-matching. Who led since when is
/// written into the history.
class RaftWatch {
 public:
  /// Both outlive it.
  RaftWatch(Cluster& cluster, History& history) : cluster_(cluster), history_(history) {}

  /// The region did something. What is found, once.
  Violations Observe(const std::string& region, std::int64_t now_ms);
  /// The region's process started: of what it showed, only what was durable must come back.
  void Restarted(const std::string& region) { Forget(region); }

  /// Called when a region has begun to lead, or has given its vote to another.
  std::function<void(const std::string& region)> on_promise;

 private:
  void Forget(const std::string& region);
  void NotePromise(const std::string& region, const Raft& raft);

  Cluster& cluster_;
  History& history_;
  RaftInvariants invariants_;
  struct Watched {
    std::string member;
    RaftRole role = RaftRole::kFollower;
    std::string voted_for;
  };
  std::map<std::string, Watched> watched_;  // as last seen, by region
  bool broken_ = false;
};

}  // namespace once
