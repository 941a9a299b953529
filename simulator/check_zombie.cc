#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

constexpr std::int64_t kNeverMs = std::numeric_limits<std::int64_t>::max();

/// A run's window, as wide as it can have been.
struct Span {
  std::int64_t from_ms = kNeverMs;
  std::int64_t until_ms = -1;  // -1: nobody asked for it to be final
};

void Widen(const Operation& operation, Span& span) {
  span.from_ms = std::min(span.from_ms, operation.invoked_ms);
  const bool may_end = operation.kind == Operation::Kind::kSettle || IsGrant(operation);
  if (!may_end || !IsFinalStatus(operation.status)) return;
  const bool known = operation.returned_ms >= 0 && operation.retention_ms > 0;
  span.until_ms =
      known ? std::max(span.until_ms,
                       operation.returned_ms + static_cast<std::int64_t>(operation.retention_ms))
            : kNeverMs;
}

/// Until when the run may be answered with: runs whose windows touch are kept together.
std::int64_t KeptUntil(const std::map<std::string, Span>& spans, const std::string& run_id) {
  std::int64_t until_ms = spans.at(run_id).until_ms;
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [other, span] : spans)
      if (span.until_ms > until_ms && span.from_ms <= until_ms + 2 * kSkewBoundMs) {
        until_ms = span.until_ms;
        grew = true;
      }
  }
  return until_ms;
}

void CheckKey(const StoryOfKey& story, Violations& violations) {
  std::map<std::string, Span> spans;
  for (const Operation* operation : story.operations)
    if (!operation->run_id.empty()) Widen(*operation, spans[operation->run_id]);
  // What nobody heard of may have become a run, with a window of its own.
  for (const Operation* operation : story.operations)
    if (operation->kind == Operation::Kind::kBegin &&
        (operation->answer == Operation::Answer::kNone ||
         operation->answer == Operation::Answer::kUnavailable))
      spans["unheard " + std::to_string(operation->id)] = {operation->invoked_ms, kNeverMs};
  // A run that the node did for a caller who never heard: its window is not known.
  for (const Operation* operation : story.operations)
    if (IsReplay(*operation) && spans.at(operation->run_id).until_ms < 0) return;
  for (const Operation* replay : story.operations) {
    if (!IsReplay(*replay)) continue;
    const std::int64_t until_ms = KeptUntil(spans, replay->run_id);
    if (until_ms == kNeverMs || replay->invoked_ms <= until_ms + 2 * kSkewBoundMs) continue;
    violations.push_back(
        {"zombie",
         Describe(*replay) + " was answered though it was over at " + std::to_string(until_ms),
         replay->returned_ms});
  }
}

}  // namespace

Violations CheckZombie(const History& history) {
  Violations violations;
  for (const auto& [key, story] : StoriesOf(history)) CheckKey(story, violations);
  return violations;
}

}  // namespace once
