#include "simulator/clock_watch.h"

#include <algorithm>

#include "conflict/probe.h"
#include "simulator/story_of_key.h"

namespace once {

void ClockWatch::Restarted(const std::string& region, std::int64_t now_ms) {
  Watched& watched = watched_[region];
  if (watched.knows) history_.differences[watched.difference].to_ms = now_ms;
  watched = {};
  watched.started_wall_ms = cluster_.WallMillis(region);
}

bool ClockWatch::Tells(const ClockWord& word, const std::string& to) const {
  const std::int64_t wall_ms = cluster_.WallMillis(to);
  const bool of_this_start = word.heard_ms() >= watched_.at(to).started_wall_ms + kSkewBoundMs &&
                             word.heard_ms() <= wall_ms;
  return word.now_ms() > wall_ms + 2 * kSkewBoundMs ||
         (of_this_start && word.heard_at_ms() < word.heard_ms() - 2 * kSkewBoundMs);
}

void ClockWatch::Delivered(const std::string& from, const std::string& to,
                           const std::string& message) {
  const auto at = watched_.find(to);
  StrictMessage parsed;
  if (at == watched_.end() || at->second.knows || message.empty() || message[0] != '\0') return;
  if (!cluster_.IsUp(to) || !parsed.ParseFromString(message.substr(1))) return;
  if (Tells(parsed.clock(), to)) at->second.told[from] = true;
}

void ClockWatch::Observe(const std::string& region, std::int64_t now_ms) {
  const auto at = watched_.find(region);
  if (at == watched_.end() || at->second.told.empty() || at->second.knows) return;
  const Raft* const raft = cluster_.raft(region);
  if (!raft || raft->leader().empty() || raft->role() == RaftRole::kLeader) return;
  if (!at->second.told.contains(RegionOfMember(raft->leader()))) return;
  at->second.knows = true;
  at->second.difference = history_.differences.size();
  history_.differences.push_back({region, true, now_ms, -1});
}

void ExcuseUntold(History& history) {
  const auto within = [](const auto& stretch, const Operation& operation) {
    return stretch.region == operation.region && stretch.from_ms <= operation.invoked_ms &&
           (stretch.to_ms < 0 || operation.invoked_ms <= stretch.to_ms);
  };
  for (Operation& operation : history.operations) {
    const bool by_itself =
        operation.strict && IsReplay(operation) && operation.returned_ms == operation.invoked_ms;
    const bool behind = by_itself && std::ranges::any_of(history.faults, [&](const Fault& fault) {
                          return fault.kind == Fault::Kind::kClockJump &&
                                 fault.amount < -2 * kSkewBoundMs && within(fault, operation);
                        });
    const bool told = std::ranges::any_of(history.differences, [&](const Difference& difference) {
      return difference.of_clock && within(difference, operation);
    });
    if (!behind || told) continue;
    Reached("a node whose clock was behind, and was not told, replayed by itself");
    operation.answer = Operation::Answer::kNone;
    operation.returned_ms = -1;
    operation.run_id.clear();
  }
}

}  // namespace once
