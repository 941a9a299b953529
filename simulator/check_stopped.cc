#include <algorithm>

#include "conflict/probe.h"
#include "replica/limits.h"
#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

constexpr std::int64_t kStopGiveUpMs = 1000;     // then who waits for the group is told so
constexpr std::int64_t kShortPatienceMs = 3000;  // of the least patient caller

/// What callers saw of one node that was told to stop.
class StoppedNode {
 public:
  StoppedNode(const History& history, const Stopped& stopped)
      : history_(history), stopped_(stopped) {}

  Violations Look() {
    if (stopped_.killed && !HadTrouble()) Say(stopped_.told_ms, "did not end in time");
    if (stopped_.led_on) Say(stopped_.ended_ms, "led to its end");
    for (const Operation& operation : history_.operations) {
      if (operation.region != stopped_.region) continue;
      if (IsUnanswered(operation)) Say(operation, "was not answered");
      if (IsEndRefused(operation)) Say(operation, "was refused");
      if (IsGivenUpEarly(operation)) Say(operation, "was given up");
    }
    return std::move(violations_);
  }

 private:
  void Say(std::int64_t at_ms, const std::string& what) {
    violations_.push_back(
        {"stopped",
         stopped_.region + ", told to stop at " + std::to_string(stopped_.told_ms) + ", " + what,
         at_ms});
  }
  void Say(const Operation& operation, const std::string& what) {
    violations_.push_back({"stopped",
                           Describe(operation) + " " + what +
                               " by a node that was told to stop at " +
                               std::to_string(stopped_.told_ms),
                           operation.invoked_ms});
  }

  bool HadTrouble() const {
    return std::ranges::any_of(history_.faults, [&](const Fault& fault) {
      const bool trouble =
          fault.kind == Fault::Kind::kSlowDisk || fault.kind == Fault::Kind::kSyncFailure ||
          fault.kind == Fault::Kind::kDiskFull || fault.kind == Fault::Kind::kPause;
      return trouble && fault.region == stopped_.region &&
             (fault.to_ms < 0 || fault.to_ms >= stopped_.told_ms);
    });
  }

  bool IsUnanswered(const Operation& operation) const {
    return stopped_.ended_ms >= 0 && operation.answer == Operation::Answer::kNone &&
           operation.invoked_ms > stopped_.started_ms &&
           operation.invoked_ms < stopped_.told_ms + Limits().stop_grace_ms &&
           operation.invoked_ms < stopped_.ended_ms &&
           operation.invoked_ms + kShortPatienceMs > stopped_.ended_ms;
  }

  // At once, not because nobody led. An owner that is turned away blocks its key for the rest of
  // its lease.
  bool IsEndRefused(const Operation& operation) const {
    return NamesItsRun(operation) && operation.refused &&
           operation.returned_ms == operation.invoked_ms &&
           operation.invoked_ms >= stopped_.told_ms && operation.invoked_ms < stopped_.ended_ms &&
           !HadTrouble();
  }

  // The next leader may still answer.
  bool IsGivenUpEarly(const Operation& operation) const {
    const bool asks = operation.kind != Operation::Kind::kLookUp &&
                      operation.kind != Operation::Kind::kGetRun &&
                      operation.kind != Operation::Kind::kGetEvents;
    return operation.strict && asks && operation.answer == Operation::Answer::kUnavailable &&
           !operation.refused && operation.returned_ms >= stopped_.told_ms &&
           operation.returned_ms < stopped_.told_ms + kStopGiveUpMs &&
           operation.returned_ms < operation.invoked_ms + kAnswerMs && !HadOtherRules(operation) &&
           !GotSnapshot(operation);
  }

  // The answer may be among what the snapshot stands for.
  bool GotSnapshot(const Operation& operation) const {
    return std::ranges::any_of(history_.snapshots, [&](const SnapshotTrip& trip) {
      return trip.region == operation.region && trip.there_ms >= operation.invoked_ms &&
             trip.there_ms <= operation.returned_ms;
    });
  }

  // Its own, or, where it begins to lead, those of others.
  bool HadOtherRules(const Operation& operation) const {
    const bool begins_to_lead =
        std::ranges::any_of(history_.leaders, [&](const Leadership& leadership) {
          return leadership.region == operation.region &&
                 leadership.at_ms >= operation.invoked_ms &&
                 leadership.at_ms <= operation.returned_ms;
        });
    const bool rules_change = std::ranges::any_of(
        history_.differences, [](const Difference& difference) { return !difference.of_clock; });
    if (begins_to_lead && rules_change) return true;
    return std::ranges::any_of(history_.differences, [&](const Difference& difference) {
      return !difference.of_clock && difference.region == operation.region &&
             difference.from_ms <= operation.returned_ms &&
             (difference.to_ms < 0 || difference.to_ms >= operation.invoked_ms);
    });
  }

  const History& history_;
  const Stopped& stopped_;
  Violations violations_;
};

}  // namespace

Violations CheckStopped(const History& history) {
  Violations violations;
  for (const Stopped& stopped : history.stops) {
    if (stopped.ended_ms >= 0) Reached("a node ended as it was told");
    for (Violation& found : StoppedNode(history, stopped).Look())
      violations.push_back(std::move(found));
  }
  return violations;
}

}  // namespace once
