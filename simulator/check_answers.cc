#include <map>
#include <set>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

class AnswersOfKey {
 public:
  explicit AnswersOfKey(const StoryOfKey& story) : story_(story) {}

  Violations Run() {
    for (const Operation* operation : story_.operations) {
      if (IsReplay(*operation) && !IsFinalStatus(operation->status))
        Say(*operation, "replayed an outcome that is not final");
      CheckBytes(*operation);
      CheckBody(*operation);
    }
    for (const Operation* earlier : story_.operations)
      for (const Operation* later : story_.operations)
        if (IsSameMemory(*later, *earlier) && later->invoked_ms > earlier->returned_ms &&
            earlier->returned_ms >= 0 && later->returned_ms >= 0)
          CheckOrder(*earlier, *later);
    return std::move(violations_);
  }

 private:
  static bool Tells(const Operation& operation) {
    const bool ends = IsAcceptedSettle(operation) ||
                      (IsGrant(operation) && operation.answer == Operation::Answer::kDone);
    return IsReplay(operation) || (ends && IsFinalStatus(operation.status));
  }

  // With another directory the home has forgotten its answer and may accept a second one, until it
  // is told of the first.
  bool WasSettledInTwoLives(const std::string& run_id) const {
    std::set<std::uint32_t> lives;
    for (const Operation* operation : story_.operations)
      if (operation->run_id == run_id && IsAcceptedSettle(*operation) &&
          IsFinalStatus(operation->status))
        lives.insert(operation->life);
    return lives.size() > 1;
  }

  void CheckBytes(const Operation& operation) {
    if (!Tells(operation) || operation.lost) return;
    const auto [at, fresh] = bytes_.emplace(operation.run_id, operation.answer_body);
    if (!fresh && at->second != operation.answer_body && !WasSettledInTwoLives(operation.run_id))
      Say(operation,
          "was answered in two ways: '" + at->second + "' and '" + operation.answer_body + "'");
  }

  void CheckBody(const Operation& operation) {
    const auto facts = story_.runs.find(operation.run_id);
    if (operation.kind != Operation::Kind::kBegin || facts == story_.runs.end() ||
        facts->second.home.empty())
      return;
    const bool same = facts->second.body == operation.body;
    const bool lets_through = operation.mismatch != Operation::Mismatch::kReject;
    if (!same && ((IsReplay(operation) && !lets_through) || IsGrant(operation)))
      Say(operation, "gave a caller what belongs to another request");
    if (lets_through && operation.answer == Operation::Answer::kMismatch)
      Say(operation, "refused another request, which the policy lets through");
    if (same && operation.answer == Operation::Answer::kMismatch)
      Say(operation, "refused the very request that the key belongs to");
  }

  void CheckOrder(const Operation& earlier, const Operation& later) {
    if (!Tells(earlier) || earlier.lost) return;
    if (earlier.run_id == later.run_id && later.answer != Operation::Answer::kInFlight) return;
    if (WasSettledInTwoLives(earlier.run_id)) return;  // as the first says, once it is known
    const RunFacts& was = story_.runs.at(earlier.run_id);
    // Windows of two generations are told apart to within the skew bound.
    if (was.kept_until_ms < 0 || later.returned_ms >= was.kept_until_ms - kSkewBoundMs) return;
    if (IsReplay(later)) {
      const bool yields = !later.strict && !IsSuccess(earlier.status) && IsSuccess(later.status);
      const bool lower = !later.strict && later.run_id < earlier.run_id &&
                         IsSuccess(later.status) == IsSuccess(earlier.status);
      if (!yields && !lower)
        Say(later, "answered with another run than " + earlier.run_id + ", which had not lost");
    }
    if (later.kind == Operation::Kind::kBegin && later.answer == Operation::Answer::kInFlight)
      Say(later, "was told that somebody is on it after the answer of " + earlier.run_id);
    const bool completes = later.kind == Operation::Kind::kSettle &&
                           later.answer == Operation::Answer::kDone && IsSuccess(later.status);
    if (completes && IsSuccess(earlier.status))
      Say(later, "was completed after the region had answered with run " + earlier.run_id);
  }

  void Say(const Operation& operation, const std::string& what) {
    violations_.push_back({"answers", Describe(operation) + " " + what, operation.returned_ms});
  }

  const StoryOfKey& story_;
  std::map<std::string, std::string> bytes_;
  Violations violations_;
};

}  // namespace

Violations CheckAnswers(const History& history) {
  Violations violations;
  for (const auto& [key, story] : StoriesOf(history))
    for (Violation& violation : AnswersOfKey(story).Run())
      violations.push_back(std::move(violation));
  return violations;
}

}  // namespace once
