// Looks at the Raft core of a region after everything that the region does, and holds it against
// what Raft promises about all members together (consensus/invariants.h).
#pragma once

#include <map>
#include <string>

#include "consensus/invariants.h"
#include "simulator/checks.h"
#include "simulator/cluster.h"
#include "simulator/history.h"

namespace once {

/// Violations are named after the rule: election-safety, log-matching, leader-append-only,
/// leader-completeness, state-machine-safety, configuration-overlap, term, commit. Who led since
/// when is written into the history.
class RaftWatch {
 public:
  /// Both outlive it.
  RaftWatch(Cluster& cluster, History& history) : cluster_(cluster), history_(history) {}

  /// The region did something. What is found, once.
  Violations Observe(const std::string& region, std::int64_t now_ms);
  /// The region's process started: of what it showed, only what was durable must come back.
  void Restarted(const std::string& region) { Forget(region); }
  /// The highest index that any member knew to be committed.
  std::uint64_t committed() const { return invariants_.committed(); }

 private:
  void Forget(const std::string& region);

  Cluster& cluster_;
  History& history_;
  RaftInvariants invariants_;
  std::map<std::string, std::string> watched_;  // the member that was seen, by region
  bool broken_ = false;
};

}  // namespace once
