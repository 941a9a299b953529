#include <algorithm>
#include <map>
#include <set>

#include "simulator/checks.h"
#include "simulator/oracle.h"
#include "simulator/story_of_run.h"

namespace once {
namespace {

constexpr std::size_t kManyEvents = 1000;

std::size_t CountCancelled(Tables& tables, const std::string& run_id) {
  const auto events = tables.Events(run_id, 0, kManyEvents);
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [](const RunEvent& event) {
        return event.type() == "run.cancelled" &&
               event.payload().find(kLossReason) != std::string::npos;
      }));
}

}  // namespace

bool WinnerMayBeUndone(const Cluster& cluster, const Conflict& conflict) {
  const std::string& pair = conflict.region_pair();
  const auto bar = pair.find('|');
  const std::string first = pair.substr(0, bar);
  return cluster.life(first == conflict.region() ? pair.substr(bar + 1) : first) > 0;
}

Violations CheckLosers(Cluster& cluster, const Holdings& holdings, const History& history) {
  Violations violations;
  for (const auto& held : holdings) {
    const std::string& region = held.first;
    Tables& tables = cluster.replica(region).tables();
    std::map<std::string, int> recorded;
    std::set<std::string> undone;
    for (const Conflict& conflict : tables.Conflicts(0, 100'000)) {
      if (conflict.kind() != LOST) continue;
      ++recorded[conflict.loser()];
      if (WinnerMayBeUndone(cluster, conflict)) undone.insert(conflict.loser());
    }
    const auto say = [&](const std::string& run, const std::string& what) {
      violations.push_back({"losers", region + ": run " + run + " " + what, 0});
    };
    for (const auto& [key, slot] : held.second) {
      const Verdict verdict = Judge(slot);
      for (const Claim& claim : slot.claims()) {
        if (claim.region() != region) continue;
        const bool lost = verdict.losers.count(claim.run_id()) > 0;
        const int times = recorded[claim.run_id()];
        if (!lost && times == 1 && undone.count(claim.run_id())) continue;
        if (times != (lost ? 1 : 0))
          say(claim.run_id(), (lost ? "lost and was recorded " : "stands and was recorded ") +
                                  std::to_string(times) + " times");
        // A directory that is lost takes the events of its runs with it.
        const auto run = tables.FindRun(claim.run_id());
        if (cluster.life(region) > 0 || !run) continue;
        const std::size_t cancelled = CountCancelled(tables, claim.run_id());
        // A caller may have cancelled it before it lost.
        if (cancelled != (lost && !IsCancelledByCaller(history, *run) ? 1u : 0u))
          say(claim.run_id(), (lost ? "lost and was cancelled " : "stands and was cancelled ") +
                                  std::to_string(cancelled) + " times");
      }
    }
  }
  return violations;
}

}  // namespace once
