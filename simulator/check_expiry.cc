#include <algorithm>
#include <map>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {

Violations CheckExpiry(const History& history) {
  Violations violations;
  for (const auto& [key, story] : StoriesOf(history)) {
    for (const Operation* said : story.operations) {
      const bool tells = IsReplay(*said) || IsAcceptedSettle(*said) ||
                         (IsGrant(*said) && said->answer == Operation::Answer::kDone);
      if (!tells || !IsFinalStatus(said->status) || said->lost) continue;
      const std::int64_t kept_until_ms = story.runs.at(said->run_id).kept_until_ms;
      for (const Operation* grant : story.operations) {
        if (!IsGrant(*grant) || !IsSameMemory(*grant, *said)) continue;
        if (grant->invoked_ms <= said->returned_ms || grant->returned_ms >= kept_until_ms) continue;
        violations.push_back({"expiry",
                              Describe(*grant) + " may execute though run " + said->run_id +
                                  " must be answered until " + std::to_string(kept_until_ms),
                              grant->returned_ms});
      }
    }
  }
  return violations;
}

}  // namespace once
