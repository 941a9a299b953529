// A leader that a majority can reach stays: pre-vote and check-quorum keep a member that was cut
// off, or hears only some of the others, from raising terms and deposing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "simulator/checks.h"
#include "simulator/cluster.h"
#include "simulator/faults.h"

namespace once {

/// To be looked at every quarter of a second. A change of leaders is excused when the old one, or
/// its links to a majority, were unwell within the last seconds, or the membership changed, or it
/// had been asked to hand over to one whom it has not heard for some seconds since: that one may
/// have raised its term and been cut off before anybody knew.
class LeaderWatch {
 public:
  /// All outlive it.
  LeaderWatch(Cluster& cluster, const Faults& faults, const History& history)
      : cluster_(cluster), faults_(faults), history_(history) {}

  Violations Look(std::int64_t now_ms);

 private:
  bool WasWell(const std::string& leader, std::int64_t now_ms) const;
  void NoteTransfers(std::int64_t now_ms);

  Cluster& cluster_;
  const Faults& faults_;
  const History& history_;
  std::string leader_;  // the region that led in the highest term; empty: none
  std::uint64_t term_ = 0;
  std::int64_t since_ms_ = 0;
  std::set<std::string> summoned_;  // to lead after leader_, and not heard by it since
  std::size_t noted_ = 0;           // faults of the history
};

}  // namespace once
