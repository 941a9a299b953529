#include "simulator/checks.h"
#include "simulator/oracle.h"

namespace once {

Violations CheckConflictCount(Cluster& cluster, const Holdings& holdings) {
  std::size_t losers = 0;
  for (const auto& [key, slot] : holdings.begin()->second) losers += Judge(slot).losers.size();
  std::uint64_t counted = 0;
  for (const std::string& region : cluster.regions())
    counted += cluster.replica(region).tables().head().conflicts();
  if (counted == losers) return {};
  return {{"conflict-count",
           std::to_string(counted) + " conflicts were counted, " + std::to_string(losers) +
               " runs lost",
           0}};
}

}  // namespace once
