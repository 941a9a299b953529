#include <map>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"
#include "simulator/story_of_run.h"

namespace once {
namespace {

bool IsNone(const Operation& answer) {
  return answer.answer == Operation::Answer::kNotFound ||
         (IsCarriedOut(answer) && answer.status == 404);
}

// Whether it could say so of a run that is there: another node may be asked for.
bool SaysThereIsNone(const Operation& answer, const std::string& home) {
  if (answer.answer == Operation::Answer::kNotFound)
    return answer.kind == Operation::Kind::kGetEvents ||
           (answer.kind == Operation::Kind::kGetRun && (answer.region == home || answer.strict));
  return IsCarriedOut(answer) && answer.status == 404 &&
         answer.answer_body.find("node_not_found") == std::string::npos;
}

class RunAnswers {
 public:
  RunAnswers(const History& history, std::int64_t kept_ms) : history_(history), kept_ms_(kept_ms) {}

  Violations Look() {
    for (const auto& [run_id, story] : StoriesOfRuns(history_)) {
      std::string events;
      for (const Operation* answer : story.calls) {
        LookAtOne(story, *answer);
        if (answer->kind == Operation::Kind::kGetEvents) LookAtEvents(story, *answer, events);
      }
      LookAtKeys(story);
    }
    return std::move(violations_);
  }

 private:
  void Say(const Operation& operation, const std::string& what) {
    violations_.push_back({"run-answers", Describe(operation) + " " + what, operation.returned_ms});
  }

  void LookAtOne(const StoryOfRun& story, const Operation& answer) {
    if (answer.returned_ms < 0) return;
    if (IsRunCommand(answer) && IsCarriedOut(answer) && answer.status == 200 &&
        answer.answer_body.find(answer.run_id) == std::string::npos)
      Say(answer, "was answered for another run: " + answer.answer_body);
    if (story.tenant.empty()) return;
    const bool answered = IsCarriedOut(answer);
    if (story.tenant != answer.tenant) {
      if (answered && !IsNone(answer)) Say(answer, "was answered about another tenant's run");
      return;
    }
    // It was there before anybody asked, and is kept for so long.
    const bool there = story.known_ms <= answer.invoked_ms && story.admitted_ms >= 0 &&
                       answer.returned_ms < story.admitted_ms + kept_ms_ && !story.lost &&
                       !MayHaveForgotten(history_, story.home, answer.returned_ms);
    if (there && SaysThereIsNone(answer, story.home))
      Say(answer,
          "was told that there is none, but it was admitted by " + std::to_string(story.known_ms));
  }

  // What its home has said of a run is said again, and perhaps more.
  void LookAtEvents(const StoryOfRun& story, const Operation& answer, std::string& before) {
    if (!IsCarriedOut(answer) || answer.tenant != story.tenant ||
        MayHaveForgotten(history_, story.home, answer.returned_ms))
      return;
    const std::string& now = answer.answer_body;
    const bool longer = now.size() > before.size();
    if (!(longer ? now : before).starts_with(longer ? before : now))
      Say(answer, "shows other events than before: " + now);
    if (longer) before = now;
  }

  // One key, one answer: the command was carried out once, and everybody hears what came of it.
  void LookAtKeys(const StoryOfRun& story) {
    std::map<std::pair<std::string, std::string>, const Operation*> first, done;
    for (const Operation* answer : story.calls) {
      // Of another tenant nobody knows the run, nor where it belongs to.
      if (answer->key.empty() || answer->lost || !IsCarriedOut(*answer) ||
          answer->tenant != story.tenant ||
          MayHaveForgotten(history_, story.home, answer->returned_ms))
        continue;
      const auto [at, is_new] = first.emplace(std::pair(answer->tenant, answer->key), answer);
      if (!is_new &&
          (at->second->status != answer->status || at->second->answer_body != answer->answer_body))
        Say(*answer, "was answered otherwise than #" + std::to_string(at->second->id));
      if (answer->answer == Operation::Answer::kDone && !done.emplace(at->first, answer).second)
        Say(*answer, "was carried out again, after #" + std::to_string(done[at->first]->id));
    }
  }

  const History& history_;
  const std::int64_t kept_ms_;
  Violations violations_;
};

}  // namespace

Violations CheckRunAnswers(const History& history, std::int64_t kept_ms) {
  return RunAnswers(history, kept_ms).Look();
}

}  // namespace once
