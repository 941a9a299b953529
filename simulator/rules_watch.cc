#include "simulator/rules_watch.h"

#include <algorithm>

#include "conflict/probe.h"

namespace once {
namespace {

constexpr std::int64_t kGivesWayMs = 4000;  // two election timeouts, and some to hear and look

}  // namespace

void RulesWatch::Restarted(const std::string& region, std::int64_t now_ms) {
  Watched& watched = watched_[region];
  const bool other_directory = watched.life != cluster_.life(region);
  watched.life = cluster_.life(region);
  const bool counts = watched.up || !watched.earlier.empty();
  if (watched.up || other_directory) watched.earlier.clear();
  if (counts && !other_directory) watched.earlier.push_back(watched.rules);
  watched.rules = StrictRoutes(cluster_.StrictRoutesOf(region)).Digest();
  watched.up = false;
  // What a start that came to nothing wrote may be on its disk, or not.
  const bool changed =
      !watched.earlier.empty() && std::ranges::count(watched.earlier, watched.rules) == 0;
  if (changed) Reached("a node was started with other rules than last time");
  Note(region, watched, changed, now_ms);
}

void RulesWatch::Note(const std::string& region, Watched& watched, bool differs,
                      std::int64_t now_ms) {
  if (differs == watched.differs) return;
  watched.differs = differs;
  if (!differs) {
    history_.differences[watched.difference].to_ms = now_ms;
    return;
  }
  watched.difference = history_.differences.size();
  history_.differences.push_back({region, false, now_ms, -1});
}

void RulesWatch::Observe(const std::string& region, std::int64_t now_ms) {
  const Raft* const raft = cluster_.raft(region);
  if (!raft) return;
  Watched& watched = watched_[region];
  if (watched.rules == 0) Restarted(region, now_ms);
  if (!watched.up && raft->membership().voters_size() > 0)
    watched.up = cluster_.replica(region).Unready() != "starting";
  if (raft->role() == RaftRole::kLeader) {
    in_force_[raft->term()] = watched.rules;
    return Note(region, watched, false, now_ms);
  }
  const auto theirs = in_force_.find(raft->term());
  if (raft->leader().empty()) return;
  // One that led for no longer than a step, and died, may have had the region's rules.
  const bool differs = theirs != in_force_.end() && theirs->second != watched.rules;
  Note(region, watched, differs, now_ms);
}

bool RulesWatch::IsOutvoted(const std::string& leader, const Raft& raft) const {
  std::map<std::uint64_t, int> voters;  // by rules
  for (const std::string& voter : raft.membership().voters()) {
    const std::string region = RegionOfMember(voter);
    const Raft* const follower = cluster_.raft(region);
    const auto watched = watched_.find(region);
    if (region == leader || !follower || cluster_.IsPaused(region)) continue;
    if (follower->leader() == raft.name() && watched != watched_.end())
      ++voters[watched->second.rules];
  }
  return std::ranges::any_of(voters, [&](const auto& each) {
    return each.first != watched_.at(leader).rules &&
           2 * each.second > raft.membership().voters_size();
  });
}

Violations RulesWatch::Look(std::int64_t now_ms) {
  Violations violations;
  for (const std::string& region : cluster_.regions()) {
    const Raft* const raft = cluster_.raft(region);
    const bool leads = raft && raft->role() == RaftRole::kLeader && !cluster_.IsPaused(region);
    if (!leads || !IsOutvoted(region, *raft)) {
      outvoted_ms_.erase(region);
      continue;
    }
    Reached("a leader's rules were not those of most voters");
    const std::int64_t since_ms = outvoted_ms_.try_emplace(region, now_ms).first->second;
    if (now_ms - since_ms > kGivesWayMs)
      violations.push_back({"other-rules",
                            region + " leads since " + std::to_string(since_ms) +
                                " though most of those who follow it have other rules",
                            now_ms});
  }
  return violations;
}

}  // namespace once
