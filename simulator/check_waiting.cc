#include <algorithm>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

constexpr std::int64_t kAtOnceMs = 50;

// What is settled and durable is told in the same turn of the node; if its slot changed once more
// meanwhile, after that is durable too.
std::int64_t SoonAfter(const Operation& end) {
  return end.returned_ms + kAtOnceMs + 2 * (end.returned_ms - end.invoked_ms);
}

bool HasSlowDisk(const History& history, const Operation& waiter) {
  return std::any_of(history.faults.begin(), history.faults.end(), [&](const Fault& fault) {
    return fault.kind == Fault::Kind::kSlowDisk && fault.region == waiter.region &&
           fault.from_ms <= waiter.returned_ms &&
           (fault.to_ms < 0 || fault.to_ms >= waiter.invoked_ms);
  });
}

}  // namespace

Violations CheckWaiting(const History& history) {
  Violations violations;
  for (const auto& [key, story] : StoriesOf(history))
    for (const Operation* waiter : story.operations) {
      if (waiter->wait_ms == 0 || waiter->strict) continue;
      for (const Operation* end : story.operations)
        if (IsAcceptedSettle(*end) && IsFinalStatus(end->status) &&
            end->answer == Operation::Answer::kDone && end->run_id == waiter->run_id &&
            IsSameMemory(*end, *waiter) && waiter->invoked_ms < end->invoked_ms &&
            waiter->returned_ms > SoonAfter(*end) && !HasSlowDisk(history, *waiter))
          violations.push_back({"waiting",
                                Describe(*waiter) + " waited on when #" + std::to_string(end->id) +
                                    " had ended the claim at " + std::to_string(end->returned_ms),
                                waiter->returned_ms});
    }
  return violations;
}

}  // namespace once
