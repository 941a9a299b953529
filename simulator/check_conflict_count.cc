#include <set>
#include <string>

#include "replica/ledger/run_id.h"
#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
Violations CheckConflictCount(Cluster& cluster, const Holdings& holdings, std::int64_t grace_ms) {
  const std::int64_t now_ms = cluster.time().WallMillis() + 2 * kSkewBoundMs;
  std::size_t losers = 0;
  std::set<std::string> held;
  std::set<std::string> lost;
  for (const auto& [key, slot] : holdings.begin()->second) {
    const Verdict verdict = Judge(slot);
    losers += verdict.losers.size();
    lost.insert(verdict.losers.begin(), verdict.losers.end());
    for (const Claim& claim : slot.claims()) held.insert(claim.run_id());
  }
  std::uint64_t counted = 0;
  std::uint64_t undone = 0;
  for (const std::string& region : cluster.regions()) {
    Tables& tables = cluster.replica(region).tables();
    counted += tables.head().conflicts();
    for (const Conflict& conflict : tables.Conflicts(0, kConflictsMax)) {
      if (conflict.kind() != LOST || conflict.region() != region) continue;
      const bool kept = held.count(conflict.loser()) > 0;
      const bool forgotten = !kept && RunIdMillis(conflict.loser()) + grace_ms <= now_ms;
      if (forgotten) ++losers;
      // Counted again, or not, by a home that lost its directory too.
      if (kept && !lost.count(conflict.loser()) && WinnerMayBeUndone(cluster, conflict)) ++undone;
    }
  }
  if (counted >= losers && counted <= losers + undone) return {};
  return {{"conflict-count",
           std::to_string(counted) + " conflicts were counted, " + std::to_string(losers) +
               " runs lost",
           0}};
}

}  // namespace once
