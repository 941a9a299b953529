#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

// What is settled and durable is told in the same turn of the node.
constexpr std::int64_t kAtOnceMs = 50;

}  // namespace

Violations CheckWaiting(const History& history) {
  Violations violations;
  for (const auto& [key, story] : StoriesOf(history))
    for (const Operation* waiter : story.operations) {
      if (waiter->wait_ms == 0 || waiter->answer != Operation::Answer::kInFlight) continue;
      for (const Operation* end : story.operations)
        if (IsAcceptedSettle(*end) && end->answer == Operation::Answer::kDone &&
            end->run_id == waiter->run_id && end->fence == waiter->fence &&
            end->region == waiter->region && !end->strict && end->life == waiter->life &&
            end->invoked_ms > waiter->invoked_ms &&
            end->returned_ms + kAtOnceMs < waiter->returned_ms)
          violations.push_back({"waiting",
                                Describe(*waiter) + " waited on though #" +
                                    std::to_string(end->id) + " had ended the claim",
                                waiter->returned_ms});
    }
  return violations;
}

}  // namespace once
