#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {

Violations CheckOtherRules(const History& history) {
  Violations violations;
  for (const Difference& difference : history.differences) {
    if (difference.of_clock) continue;
    for (const Operation& operation : history.operations)
      if (IsGrant(operation) && operation.region == difference.region &&
          operation.invoked_ms > difference.from_ms &&
          (difference.to_ms < 0 || operation.returned_ms < difference.to_ms))
        violations.push_back({"other-rules",
                              Describe(operation) +
                                  " was admitted though its rules were known to differ since " +
                                  std::to_string(difference.from_ms),
                              operation.returned_ms});
  }
  return violations;
}

}  // namespace once
