#include "simulator/story_of_run.h"

#include <algorithm>

#include "simulator/run_callers.h"
#include "simulator/run_holdings.h"

namespace once {
namespace {

// A run, not a claim of a caller's own work, nor a webhook.
bool ShowsAdmission(const Operation& operation) {
  const bool creates =
      operation.kind == Operation::Kind::kBegin || operation.kind == Operation::Kind::kCreate;
  return creates && IsCarriedOut(operation) && operation.status == 201 &&
         operation.answer_body.find("{\"runId\":\"" + operation.run_id) == 0;
}

}  // namespace

std::map<std::string, StoryOfRun> StoriesOfRuns(const History& history) {
  std::map<std::string, StoryOfRun> stories;
  const auto story_of = [&](const std::string& run_id) -> StoryOfRun& {
    StoryOfRun& story = stories[run_id];
    if (story.home.empty()) story.home = HomeOfRun(run_id, history.regions);
    return story;
  };
  for (const Operation& operation : history.operations) {
    if (operation.kind >= Operation::Kind::kCancel) {
      story_of(operation.run_id).calls.push_back(&operation);
    } else if (ShowsAdmission(operation)) {
      StoryOfRun& story = story_of(operation.run_id);
      story.tenant = operation.tenant;
      if (operation.answer == Operation::Answer::kDone) story.admitted_ms = operation.invoked_ms;
      if (story.known_ms < 0 || operation.returned_ms < story.known_ms)
        story.known_ms = operation.returned_ms;
      story.lost |= operation.lost;
    }
  }
  return stories;
}

bool MayHaveForgotten(const History& history, const std::string& home, std::int64_t by_ms) {
  return std::any_of(history.faults.begin(), history.faults.end(), [&](const Fault& fault) {
    return IsReplacement(fault) && fault.region == home && fault.from_ms <= by_ms;
  });
}

bool IsCancelledByCaller(const History& history, const Run& run) {
  if (run.status() != RUN_CANCELLED) return false;
  return std::ranges::any_of(history.operations, [&](const Operation& operation) {
    return operation.kind == Operation::Kind::kCancel && operation.run_id == run.run_id() &&
           MarkOf(operation.body) == run.reason();
  });
}

std::string StatusShown(const Operation& operation) {
  if (!IsCarriedOut(operation)) return "";
  if (operation.kind == Operation::Kind::kGetRun) {
    const std::string& text = operation.answer_body;
    return text.ends_with(" ") ? text.substr(0, text.size() - 1) : text;
  }
  constexpr std::string_view kBefore = "\"status\":\"";
  const auto at = operation.answer_body.find(kBefore);
  if (!IsRunCommand(operation) || operation.status != 200 || at == std::string::npos) return "";
  const std::string rest = operation.answer_body.substr(at + kBefore.size());
  return rest.substr(0, rest.find('"'));
}

}  // namespace once
