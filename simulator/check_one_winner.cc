#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

// A lease runs on the node's clock, which may run faster than time by one part in twenty. In strict
// mode it is the leader's, and the next leader's may be ahead of it.
std::int64_t SurelyHeldMillis(const Operation& owner) {
  return static_cast<std::int64_t>(owner.lease_ms) * 19 / 20 - 5 -
         (owner.strict ? kSkewBoundMs : 0);
}

// The owner said that it was done, or its claim may have given way to an answer of another region,
// or of its own from before its directory was lost.
bool MayBeOver(const StoryOfKey& story, const Operation& owner, std::int64_t by_ms) {
  for (const Operation* other : story.operations) {
    if (other->kind != Operation::Kind::kSettle || other->invoked_ms > by_ms) continue;
    if (other->run_id == owner.run_id && other->fence == owner.fence) return true;
    if (!owner.strict && !IsSameMemory(*other, owner) && IsSuccess(other->status)) return true;
  }
  return false;
}

// A claim that came back with its directory may have met one that was admitted meanwhile: both have
// an owner then.
bool WasGrantedHere(const StoryOfKey& story, const Operation& renewal) {
  return std::any_of(story.operations.begin(), story.operations.end(), [&](const Operation* grant) {
    return IsGrant(*grant) && grant->run_id == renewal.run_id && grant->fence == renewal.fence &&
           IsSameMemory(*grant, renewal);
  });
}

void CheckPair(const StoryOfKey& story, const Operation& first, const Operation& second,
               Violations& violations) {
  if (IsGrant(first) && first.answer == Operation::Answer::kDone) return;  // CheckExpiry
  if (second.returned_ms >= first.invoked_ms + SurelyHeldMillis(first)) return;
  if (MayBeOver(story, first, second.returned_ms)) return;
  violations.push_back(
      {"one-winner",
       Describe(second) + " may execute while #" + std::to_string(first.id) + " holds the lease",
       second.returned_ms});
}

}  // namespace

Violations CheckOneWinner(const History& history) {
  Violations violations;
  for (const auto& [key, story] : StoriesOf(history)) {
    std::set<std::tuple<std::string, std::uint64_t, std::uint32_t>> given;
    for (const Operation* one : story.operations) {
      if (!IsGrant(*one)) continue;
      if (!given.emplace(one->run_id, one->fence, one->strict ? 0 : one->life).second)
        violations.push_back(
            {"one-winner", Describe(*one) + " was given a fence twice", one->returned_ms});
    }
    for (const Operation* owner : story.operations) {
      if (!IsGrant(*owner) && !(IsRenewal(*owner) && WasGrantedHere(story, *owner))) continue;
      for (const Operation* other : story.operations)
        if (IsGrant(*other) && IsSameMemory(*other, *owner) && owner->fence < other->fence)
          CheckPair(story, *owner, *other, violations);
    }
  }
  return violations;
}

}  // namespace once
