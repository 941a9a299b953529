#include <cstdlib>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {

Violations CheckClock(const History& history) {
  Violations violations;
  for (const Fault& fault : history.faults) {
    // Node and wall may differ by the bound before the jump.
    if (fault.kind != Fault::Kind::kClockJump || std::abs(fault.amount) <= 2 * kSkewBoundMs)
      continue;
    for (const Operation& operation : history.operations)
      if (IsGrant(operation) && !operation.strict && operation.region == fault.region &&
          operation.invoked_ms > fault.from_ms && operation.returned_ms < fault.to_ms)
        violations.push_back({"clock",
                              Describe(operation) + " was admitted with the clock off by " +
                                  std::to_string(fault.amount) + " ms",
                              operation.returned_ms});
  }
  return violations;
}

}  // namespace once
