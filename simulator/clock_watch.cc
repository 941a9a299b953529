#include "simulator/clock_watch.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "conflict/probe.h"
#include "simulator/story_of_key.h"

namespace once {

std::int64_t ClockWatch::OffsetMillis(const std::string& region) {
  return cluster_.WallMillis(region) - cluster_.time().WallMillis();
}

void ClockWatch::Restarted(const std::string& region, std::int64_t now_ms) {
  Watched& watched = watched_[region];
  for (const auto& known : {watched.knows, watched.jumped})
    if (known) history_.differences[*known].to_ms = now_ms;
  if (watched.untold) history_.untold[*watched.untold].to_ms = now_ms;
  watched = {};
  watched.started_wall_ms = cluster_.WallMillis(region);
  watched.started_offset_ms = OffsetMillis(region);
  if (watched.started_offset_ms >= -2 * kSkewBoundMs) return;
  watched.untold = history_.untold.size();
  history_.untold.push_back({region, now_ms, -1});
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
  at->second.heard.insert(from);
  if (Tells(parsed.clock(), to)) at->second.told.insert(from);
}

std::size_t ClockWatch::NoteDifference(const std::string& region, std::int64_t now_ms) {
  history_.differences.push_back({region, true, now_ms, -1});
  return history_.differences.size() - 1;
}

void ClockWatch::ObserveJump(const std::string& region, Watched& watched, std::int64_t now_ms) {
  const bool off = std::abs(OffsetMillis(region) - watched.started_offset_ms) > 2 * kSkewBoundMs;
  if (off == watched.jumped.has_value()) return;
  if (off) {
    watched.jumped = NoteDifference(region, now_ms);
  } else {
    history_.differences[*watched.jumped].to_ms = now_ms;
    watched.jumped.reset();
  }
}

void ClockWatch::Observe(const std::string& region, std::int64_t now_ms) {
  const auto at = watched_.find(region);
  if (at == watched_.end() || !cluster_.IsUp(region)) return;
  Watched& watched = at->second;
  ObserveJump(region, watched, now_ms);
  if (watched.heard.empty() || watched.knows) return;
  const Raft* const raft = cluster_.raft(region);
  if (!raft || raft->leader().empty() || raft->role() == RaftRole::kLeader) return;
  const std::string leader = RegionOfMember(raft->leader());
  if (watched.untold && watched.heard.contains(leader))
    history_.untold[*std::exchange(watched.untold, {})].to_ms = now_ms;
  if (!watched.told.contains(leader)) return;
  watched.knows = NoteDifference(region, now_ms);
}

void ExcuseUntold(History& history) {
  for (Operation& operation : history.operations) {
    // At once, or when it went on after it had stood still.
    const std::int64_t heard_ms = AwakeMillis(history, operation.region, operation.invoked_ms);
    const bool by_itself =
        operation.strict && IsReplay(operation) && operation.returned_ms == heard_ms;
    const bool untold =
        by_itself && std::ranges::any_of(history.untold, [&](const Untold& stretch) {
          return stretch.region == operation.region && stretch.from_ms <= heard_ms &&
                 (stretch.to_ms < 0 || heard_ms <= stretch.to_ms);
        });
    if (!untold) continue;
    Reached("a node whose clock was behind, and was not told, replayed by itself");
    operation.answer = Operation::Answer::kNone;
    operation.returned_ms = -1;
    operation.run_id.clear();
  }
}

}  // namespace once
