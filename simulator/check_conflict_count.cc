#include <set>
#include <string>

#include "replica/ledger/run_id.h"
#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

constexpr std::size_t kConflictsMax = 100'000;

}  // namespace

Violations CheckConflictCount(Cluster& cluster, const Holdings& holdings, std::int64_t grace_ms) {
  const std::int64_t now_ms = cluster.time().WallMillis() + 2 * kSkewBoundMs;
  std::size_t losers = 0;
  std::set<std::string> held;
  for (const auto& [key, slot] : holdings.begin()->second) {
    losers += Judge(slot).losers.size();
    for (const Claim& claim : slot.claims()) held.insert(claim.run_id());
  }
  std::uint64_t counted = 0;
  for (const std::string& region : cluster.regions()) {
    Tables& tables = cluster.replica(region).tables();
    counted += tables.head().conflicts();
    for (const Conflict& conflict : tables.Conflicts(0, kConflictsMax))
      if (conflict.kind() == LOST && conflict.region() == region && !held.count(conflict.loser()) &&
          RunIdMillis(conflict.loser()) + grace_ms <= now_ms)
        ++losers;  // forgotten since
  }
  if (counted == losers) return {};
  return {{"conflict-count",
           std::to_string(counted) + " conflicts were counted, " + std::to_string(losers) +
               " runs lost",
           0}};
}

}  // namespace once
