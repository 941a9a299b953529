#include "simulator/leader_watch.h"

namespace once {
namespace {

constexpr std::int64_t kWellMs = 5000;

}  // namespace

bool LeaderWatch::WasWell(const std::string& leader, std::int64_t now_ms) const {
  std::size_t well = 1;
  for (const std::string& other : cluster_.regions())
    if (other != leader && faults_.CleanSinceMillis(leader, other) <= now_ms - kWellMs) ++well;
  if (2 * well <= cluster_.regions().size()) return false;
  for (const Fault& fault : history_.faults) {
    const bool changes =
        fault.kind == Fault::Kind::kTransfer || fault.kind == Fault::Kind::kDismissed;
    if (changes && (fault.to_ms < 0 || fault.to_ms > now_ms - kWellMs)) return false;
  }
  return true;
}

Violations LeaderWatch::Look(std::int64_t now_ms) {
  std::string leader;
  std::uint64_t term = 0;
  for (const std::string& region : cluster_.regions()) {
    const Raft* const raft = cluster_.raft(region);
    if (!raft || raft->role() != RaftRole::kLeader || raft->term() <= term) continue;
    leader = region;
    term = raft->term();
  }
  Violations violations;
  const bool stays = leader == leader_ && term == term_;
  if (!stays && !leader_.empty() && since_ms_ <= now_ms - kWellMs && WasWell(leader_, now_ms))
    violations.push_back({"stability",
                          leader_ + " led in term " + std::to_string(term_) +
                              " and was well, with a majority, and does not lead any more",
                          now_ms});
  if (!stays) since_ms_ = now_ms;
  leader_ = leader;
  term_ = term;
  return violations;
}

}  // namespace once
