#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

bool IsFinal(const Operation& operation) {
  const bool said = IsReplay(operation) || IsAcceptedSettle(operation) || IsGrant(operation);
  return said && IsFinalStatus(operation.status);
}

// The earlier one's claim is kept when the later one is admitted: its answer, or at least its
// lease.
bool IsKept(const StoryOfKey& story, const Operation& earlier, const Operation& later) {
  bool ends = false;
  for (const Operation* other : story.operations) {
    if (other->run_id != earlier.run_id || other->invoked_ms > later.returned_ms) continue;
    if (IsFinal(*other) && other->returned_ms < later.invoked_ms)
      return later.returned_ms < story.runs.at(earlier.run_id).kept_until_ms - kSkewBoundMs;
    ends |= other->kind == Operation::Kind::kSettle;  // perhaps by a release
  }
  return !ends && later.returned_ms < earlier.invoked_ms +
                                          static_cast<std::int64_t>(earlier.lease_ms) -
                                          kSkewBoundMs;
}

}  // namespace

Violations CheckOneMode(const History& history) {
  Violations violations;
  for (const auto& [key, story] : StoriesOf(history))
    for (const Operation* earlier : story.operations) {
      if (!IsGrant(*earlier) || earlier->lost) continue;
      for (const Operation* later : story.operations)
        if (IsGrant(*later) && later->strict != earlier->strict &&
            later->invoked_ms > earlier->returned_ms && IsKept(story, *earlier, *later))
          violations.push_back({"one-mode",
                                Describe(*later) + " was admitted " +
                                    (later->strict ? "strict" : "best-effort") + " though #" +
                                    std::to_string(earlier->id) + " is kept in the other mode",
                                later->returned_ms});
    }
  return violations;
}

}  // namespace once
