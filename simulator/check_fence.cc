#include <algorithm>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

// A claim that came back after its directory was lost may have met another one already: then the
// region has two owners, and each ends its own.
bool CameBack(const StoryOfKey& story, const Operation& grant) {
  return grant.life > 0 && std::any_of(story.operations.begin(), story.operations.end(),
                                       [&grant](const Operation* other) {
                                         return other->life < grant.life && IsGrant(*other) &&
                                                other->run_id == grant.run_id &&
                                                other->region == grant.region;
                                       });
}
bool WasBegunHere(const StoryOfKey& story, const Operation& settle) {
  for (const Operation* grant : story.operations)
    if (grant->fence == settle.fence && IsGrant(*grant) && IsSameMemory(*grant, settle) &&
        grant->run_id == settle.run_id)
      return true;
  return false;
}

}  // namespace

Violations CheckFence(const History& history) {
  Violations violations;
  const auto say = [&violations](const Operation& settle, const std::string& what) {
    violations.push_back({"fence", Describe(settle) + " " + what, settle.returned_ms});
  };
  for (const auto& [key, story] : StoriesOf(history)) {
    for (const Operation* settle : story.operations) {
      if (!NamesItsRun(*settle) || settle->answer != Operation::Answer::kDone) continue;
      const RunFacts& facts = story.runs.at(settle->run_id);
      if (!settle->strict && !facts.home.empty() && facts.home != settle->region)
        say(*settle, "was settled away from " + facts.home);
      const bool begun_here = WasBegunHere(story, *settle);
      // Whoever may execute next has taken over, under the same run or, when that was abandoned,
      // under another.
      for (const Operation* grant : story.operations)
        if (IsGrant(*grant) && IsSameMemory(*grant, *settle) && grant->fence > settle->fence &&
            grant->returned_ms < settle->invoked_ms &&
            (grant->run_id == settle->run_id || (begun_here && !CameBack(story, *grant))))
          say(*settle, "was settled under fence " + std::to_string(settle->fence) + " after #" +
                           std::to_string(grant->id) + " had taken over");
    }
  }
  return violations;
}

}  // namespace once
