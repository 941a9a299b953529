#include <algorithm>
#include <map>
#include <set>

#include "conflict/survivor.h"
#include "conflict/tally.h"
#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

// A first try of the run, made by the node itself, failed.
bool TriedBefore(const StoryOfKey& story, const std::string& run_id, std::int64_t by_ms) {
  return std::any_of(story.operations.begin(), story.operations.end(),
                     [&](const Operation* operation) {
                       return IsGrant(*operation) && operation->run_id == run_id &&
                              operation->answer == Operation::Answer::kDone &&
                              !IsFinalStatus(operation->status) && operation->invoked_ms <= by_ms;
                     });
}

bool MayHaveSucceeded(const StoryOfKey& story, const std::string& run_id) {
  const RunFacts& facts = story.runs.at(run_id);
  return std::any_of(
      story.operations.begin(), story.operations.end(), [&](const Operation* operation) {
        // A begin that takes a run up may end it, and nobody hear of it.
        const bool unheard = operation->kind == Operation::Kind::kBegin &&
                             (operation->answer == Operation::Answer::kNone ||
                              operation->answer == Operation::Answer::kUnavailable) &&
                             operation->region == facts.home && operation->body == facts.body &&
                             TriedBefore(story, run_id, operation->invoked_ms);
        return unheard || (operation->run_id == run_id && IsSuccess(operation->status));
      });
}

class Conflicts {
 public:
  explicit Conflicts(const History& history) : history_(history), stories_(StoriesOf(history)) {
    for (const auto& [key, story] : stories_)
      for (const auto& [run_id, facts] : story.runs) runs_[run_id] = {&key, &story, &facts};
    for (const LostRun& lost : history.lost) losers_.insert(lost.loser);
    for (const Fault& fault : history.faults)
      if (IsReplacement(fault)) replaced_.insert(fault.region);
    for (const Operation& operation : history.operations)
      if (operation.life > 0) replaced_.insert(operation.region);
  }

  Violations Run() {
    std::set<std::string> recorded;
    for (const LostRun& lost : history_.lost) {
      if (!recorded.insert(lost.loser).second) Say(lost, "was recorded twice");
      CheckRecord(lost);
    }
    for (const auto& [key, story] : stories_)
      for (const Operation* end : story.operations)
        for (const Operation* later : story.operations) CheckLoss(story, *end, *later);
    return std::move(violations_);
  }

 private:
  struct Known {
    const std::pair<std::string, std::string>* key = nullptr;
    const StoryOfKey* story = nullptr;
    const RunFacts* facts = nullptr;
  };

  // Null: no caller was given it, so that all about it is hearsay.
  const Known* Find(const std::string& run_id) const {
    const auto at = runs_.find(run_id);
    return at == runs_.end() || at->second.facts->home.empty() ? nullptr : &at->second;
  }

  void CheckRecord(const LostRun& lost) {
    if (!IsLowerRunId(lost.winner, lost.loser))
      Say(lost, "lost to " + lost.winner + ", which is not lower");
    const Known* const loser = Find(lost.loser);
    const Known* const winner = Find(lost.winner);
    if (loser) {
      if (loser->facts->home != lost.region)
        Say(lost, "was recorded by " + lost.region + ", its home is " + loser->facts->home);
      CheckRun(lost, *loser, lost.loser);
      CheckSilent(lost, *loser->story, winner ? winner->facts->home : "");
    }
    if (!winner) return;
    CheckRun(lost, *winner, lost.winner);
    if (lost.region_pair != RegionPair(lost.region, winner->facts->home))
      Say(lost, "was counted under " + lost.region_pair + ", but the winner's home is " +
                    winner->facts->home);
    if (loser && (loser->key != winner->key))
      Say(lost, "lost to " + lost.winner + " of another key");
    if (loser && lost.payload_divergent != (loser->facts->body != winner->facts->body))
      Say(lost, std::string("was recorded with ") +
                    (lost.payload_divergent ? "another" : "the same") + " request as " +
                    lost.winner + ", which is not so");
  }

  // Whoever takes part in a conflict has succeeded, under the key of the record.
  void CheckRun(const LostRun& lost, const Known& known, const std::string& run_id) {
    const bool same_key =
        lost.tenant == known.key->first && (lost.key.empty() || lost.key == known.key->second);
    if (!same_key) Say(lost, "is of another key than the record of " + run_id);
    if (!MayHaveSucceeded(*known.story, run_id))
      Say(lost, "was recorded, but nobody completed " + run_id);
  }

  // Once its home knows that it lost, it answers with the survivor.
  void CheckSilent(const LostRun& lost, const StoryOfKey& story, const std::string& winner_home) {
    if (MayBeUndone(lost.region, winner_home)) return;
    for (const Operation* later : story.operations)
      if (IsReplay(*later) && later->run_id == lost.loser && later->region == lost.region &&
          later->invoked_ms > lost.detected_ms + 2 * kSkewBoundMs)
        Say(lost, "was answered with after it had lost, in #" + std::to_string(later->id));
  }

  // A success stands for its retention unless it loses. If its home says something else, it has
  // lost, and the home knows it.
  void CheckLoss(const StoryOfKey& story, const Operation& end, const Operation& later) {
    const bool ends =
        IsAcceptedSettle(end) || (IsGrant(end) && end.answer == Operation::Answer::kDone);
    if (!ends || end.strict || end.lost || !IsSuccess(end.status)) return;
    if (!IsReplay(later) || later.run_id == end.run_id || !IsSameMemory(end, later)) return;
    const RunFacts& facts = story.runs.at(end.run_id);
    if (later.invoked_ms <= end.returned_ms || facts.home != end.region) return;
    // A later generation may begin so much earlier by another region's clock.
    if (later.returned_ms + 2 * kSkewBoundMs >= facts.kept_until_ms) return;
    if (losers_.count(end.run_id) || MayBeUndone(end.region, story.runs.at(later.run_id).home))
      return;
    losers_.insert(end.run_id);  // said once
    violations_.push_back({"conflicts",
                           Describe(end) + " was answered with run " + later.run_id +
                               " by its home, and its loss is not recorded",
                           later.returned_ms});
  }

  bool MayBeUndone(const std::string& loser, const std::string& winner) const {
    if (winner.empty()) return !replaced_.empty();
    return replaced_.count(loser) > 0 || replaced_.count(winner) > 0;
  }

  void Say(const LostRun& lost, const std::string& what) {
    violations_.push_back(
        {"conflicts",
         lost.region + " " + lost.tenant + "/" + lost.key + " run " + lost.loser + " " + what,
         lost.detected_ms});
  }

  const History& history_;
  const std::map<std::pair<std::string, std::string>, StoryOfKey> stories_;
  std::map<std::string, Known> runs_;
  std::set<std::string> losers_;
  std::set<std::string> replaced_;  // regions whose directory was
  Violations violations_;
};

}  // namespace

Violations CheckConflicts(const History& history) {
  return Conflicts(history).Run();
}

}  // namespace once
