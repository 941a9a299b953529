#include "simulator/story_of_key.h"

#include <algorithm>
#include <limits>

namespace once {
namespace {

void LearnFromGrant(const Operation& grant, RunFacts& facts) {
  if (facts.home.empty() || grant.fence < facts.first_fence) {
    facts.home = grant.region;
    facts.body = grant.body;
    facts.first_fence = grant.fence;
  }
}

void LearnFinal(const Operation& operation, RunFacts& facts) {
  if (!IsFinalStatus(operation.status)) return;
  if (facts.finalised_ms < 0 || operation.invoked_ms < facts.finalised_ms)
    facts.finalised_ms = operation.invoked_ms;
  facts.status = operation.status;
  facts.kept_until_ms =
      operation.retention_ms == 0
          ? std::numeric_limits<std::int64_t>::max()
          : facts.finalised_ms + static_cast<std::int64_t>(operation.retention_ms);
}

}  // namespace

std::map<std::pair<std::string, std::string>, StoryOfKey> StoriesOf(const History& history) {
  std::map<std::pair<std::string, std::string>, StoryOfKey> stories;
  for (const Operation& operation : history.operations)
    if (IsAboutKey(operation))
      stories[{operation.tenant, operation.key}].operations.push_back(&operation);
  for (auto& [key, story] : stories) {
    for (const Operation* operation : story.operations) {
      if (operation->run_id.empty()) continue;
      RunFacts& facts = story.runs[operation->run_id];
      if (IsGrant(*operation)) LearnFromGrant(*operation, facts);
      // Whether or not its caller heard: it cannot have become final before it was asked for.
      if (operation->kind == Operation::Kind::kSettle || (IsGrant(*operation) && operation->status))
        LearnFinal(*operation, facts);
    }
    for (const Operation* operation : story.operations) {
      // The answer that is replayed is the one that was accepted; other attempts were not.
      if (IsReplay(*operation) || IsAcceptedSettle(*operation))
        if (IsFinalStatus(operation->status))
          story.runs[operation->run_id].status = operation->status;
    }
  }
  return stories;
}

std::map<std::pair<std::string, std::string>, std::vector<const Operation*>> StrictOperationsOf(
    const History& history) {
  std::map<std::pair<std::string, std::string>, std::vector<const Operation*>> slots;
  for (const Operation& operation : history.operations)
    if (operation.strict && IsAboutKey(operation))
      slots[{operation.tenant, operation.key}].push_back(&operation);
  return slots;
}

std::int64_t AwakeMillis(const History& history, const std::string& region, std::int64_t at_ms) {
  for (const Fault& fault : history.faults)
    if (fault.kind == Fault::Kind::kPause && fault.region == region && fault.from_ms <= at_ms &&
        (fault.to_ms < 0 || fault.to_ms >= at_ms))
      at_ms = fault.to_ms < 0 ? std::numeric_limits<std::int32_t>::max() : fault.to_ms;
  return at_ms;
}

std::int64_t AskedMillis(const History& history, const Operation& operation) {
  const std::int64_t heard_ms = AwakeMillis(history, operation.region, operation.invoked_ms);
  return AwakeMillis(history, operation.region, heard_ms + operation.wait_ms);
}

std::string Describe(const Operation& operation) {
  return operation.region + " " + operation.tenant + "/" + operation.key + " #" +
         std::to_string(operation.id) + " run " + operation.run_id;
}

}  // namespace once
