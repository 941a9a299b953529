#include "conflict/probe.h"
#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {

Violations CheckOtherClock(const History& history) {
  Violations violations;
  for (const Difference& difference : history.differences) {
    if (!difference.of_clock) continue;
    for (const Operation& operation : history.operations) {
      const bool then = operation.strict && operation.kind == Operation::Kind::kBegin &&
                        operation.region == difference.region &&
                        operation.invoked_ms > difference.from_ms &&
                        (difference.to_ms < 0 || operation.returned_ms < difference.to_ms);
      if (!then) continue;
      if (operation.answer == Operation::Answer::kUnavailable)
        Reached("a node that knew that its clock differs had no answer");
      if (IsReplay(operation) && operation.returned_ms == operation.invoked_ms)
        violations.push_back({"other-clock",
                              Describe(operation) +
                                  " was replayed though its clock was known to differ since " +
                                  std::to_string(difference.from_ms),
                              operation.returned_ms});
    }
  }
  return violations;
}

}  // namespace once
