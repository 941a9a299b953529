#include <algorithm>

#include "simulator/checks.h"

namespace once {

Violations CheckLag(const std::vector<Divergence>& divergences, std::int64_t bound_ms,
                    const RunOptions& options) {
  Violations violations;
  for (const Divergence& each : divergences)
    if (std::min(each.age_ms, each.clean_for_ms) > bound_ms + PileMillis(options, each.piled_bytes))
      violations.push_back({"lag",
                            each.to + " lacks what " + each.from + " said " +
                                std::to_string(each.age_ms) + " ms ago, though all is well since " +
                                std::to_string(each.clean_for_ms) + " ms",
                            each.at_ms});
  return violations;
}

}  // namespace once
