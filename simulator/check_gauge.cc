#include "simulator/checks.h"

namespace once {

Violations CheckGauge(const std::vector<Divergence>& divergences, std::int64_t slack_ms) {
  Violations violations;
  for (const Divergence& each : divergences)
    if (each.gauge_ms + slack_ms < each.age_ms)
      violations.push_back({"gauge",
                            each.from + " says " + std::to_string(each.gauge_ms) + " ms about " +
                                each.to + ", which has lacked something for " +
                                std::to_string(each.age_ms) + " ms",
                            each.at_ms});
  return violations;
}

}  // namespace once
