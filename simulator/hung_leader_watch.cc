#include "simulator/hung_leader_watch.h"

namespace once {
namespace {

// An election timeout until it is noticed, one for handing over, and some for looking.
constexpr std::int64_t kGivesWayMs = 2000;

}  // namespace

Violations HungLeaderWatch::Look(std::int64_t now_ms) {
  Violations violations;
  for (const std::string& region : cluster_.regions()) {
    const Raft* const raft = cluster_.raft(region);
    Watched& was = watched_[region];
    const bool leads = raft && raft->role() == RaftRole::kLeader && !cluster_.IsPaused(region);
    if (!leads || raft->term() != was.term || raft->log().durable_index() >= was.decided)
      was = {leads ? raft->term() : 0, leads ? raft->commit() : 0, now_ms};
    else if (now_ms - was.since_ms > kGivesWayMs)
      violations.push_back({"hung-leader",
                            region + " leads in term " + std::to_string(was.term) +
                                " though its disk has not stored entry " +
                                std::to_string(was.decided) + ", decided before " +
                                std::to_string(was.since_ms) + " ms",
                            now_ms});
  }
  return violations;
}

}  // namespace once
