#include "simulator/checks.h"

namespace once {

Violations CheckClone(const Cluster& cluster, const std::string& region) {
  Violations violations;
  for (const std::string& as : cluster.regions())
    if (cluster.WhyCopyDoesNotStart(region, as).empty())
      violations.push_back({"clone",
                            "a copy of the directory of " + region + " starts as " + as +
                                " while the original is there",
                            0});
  return violations;
}

}  // namespace once
