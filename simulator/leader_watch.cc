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
  for (const Fault& fault : history_.faults)
    if (fault.kind == Fault::Kind::kDismissed &&
        (fault.to_ms < 0 || fault.to_ms > now_ms - kWellMs))
      return false;
  return summoned_.empty();
}

// A transfer counts among the faults of its target, who is thus heard no sooner than after it.
void LeaderWatch::NoteTransfers(std::int64_t now_ms) {
  for (; noted_ < history_.faults.size(); ++noted_)
    if (const Fault& fault = history_.faults[noted_]; fault.kind == Fault::Kind::kTransfer)
      summoned_.insert(fault.region);
  std::erase_if(summoned_, [&](const std::string& target) {
    return target == leader_ || faults_.CleanSinceMillis(leader_, target) <= now_ms - kWellMs;
  });
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
  const std::size_t noted = noted_;
  NoteTransfers(now_ms);
  Violations violations;
  const bool stays = leader == leader_ && term == term_;
  if (!stays && !leader_.empty() && since_ms_ <= now_ms - kWellMs && WasWell(leader_, now_ms))
    violations.push_back({"stability",
                          leader_ + " led in term " + std::to_string(term_) +
                              " and was well, with a majority, and does not lead any more",
                          now_ms});
  if (!stays) {
    // Whoever was to follow the last leader has no higher term than this one; who was summoned
    // since the last look may have been by this one.
    since_ms_ = now_ms;
    summoned_.clear();
    noted_ = noted;
  }
  leader_ = leader;
  term_ = term;
  return violations;
}

}  // namespace once
