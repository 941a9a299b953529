// What is watched of strict worlds, shown a small history or world that is right, and one that is
// not.
#include "simulator/clock_watch.h"
#include "simulator/rules_watch.h"
#include "simulator/take_up_watch.h"
#include "tests/simulator/calls.h"
#include "tests/strict/strict_story.h"

namespace once {
namespace {

using Heard = Operation::Answer;

constexpr std::int64_t kStartMs = 1'700'000'000'000;

Claim TakenUp(const Operation& by, const std::string& run_id, std::uint64_t fence,
              std::int64_t at_ms) {
  Claim claim;
  claim.set_run_id(run_id);
  claim.set_fence(fence);
  claim.set_actor(ActorOf(by));
  claim.set_taken_up_ms(kStartMs + at_ms);
  return claim;
}

TEST(TakeUps, OfOneInvocationAreOneHoweverOftenItIsSeen) {
  Calls calls;
  const Operation& begin = calls.Begin(100, 200, Heard::kExecute, "A", 1);
  TakeUpWatch watch(calls.history, kStartMs);
  EXPECT_TRUE(watch.Look(TakenUp(begin, "A", 1, 150), 200).empty());
  EXPECT_TRUE(watch.Look(TakenUp(begin, "A", 1, 150), 300).empty());
  EXPECT_TRUE(watch.Look({}, 300).empty()) << "nobody's";
}

TEST(TakeUps, OfOneInvocationUnderTwoFencesAreFound) {
  Calls calls;
  const Operation& begin = calls.Begin(100, 200, Heard::kNone);
  TakeUpWatch watch(calls.history, kStartMs);
  EXPECT_TRUE(watch.Look(TakenUp(begin, "A", 1, 150), 200).empty());
  const Violations found = watch.Look(TakenUp(begin, "A", 5, 900), 1000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].checker, "take-up");
  EXPECT_EQ(watch.Look(TakenUp(begin, "B", 7, 950), 1000).size(), 1u);
}

TEST(TakeUps, OfWhatSomebodyWasToldIsNotDoneAreFound) {
  Calls calls;
  const Operation& begin = calls.Begin(100, 200, Heard::kUnavailable);
  TakeUpWatch watch(calls.history, kStartMs);
  EXPECT_TRUE(watch.Look(TakenUp(begin, "A", 1, 150), 200).empty());
  calls.history.operations[0].refused = true;
  EXPECT_EQ(watch.Refused().size(), 1u);
}

TEST(TakeUps, LaterThanTheClockBoundAfterThe503AreFound) {
  Calls calls;
  calls.Begin(100, 2100, Heard::kUnavailable);
  calls.Begin(100, 2100, Heard::kUnavailable);
  calls.Begin(100, 2100, Heard::kUnavailable).strict = false;
  TakeUpWatch watch(calls.history, kStartMs);
  const auto look = [&](std::size_t call, std::int64_t at_ms) {
    return watch.Look(TakenUp(calls.history.operations[call], "A", 1 + call, at_ms), at_ms).size();
  };
  EXPECT_EQ(look(0, 4100), 0u) << "two clocks may be off by the bound between them";
  EXPECT_EQ(look(1, 4101), 1u);
  EXPECT_EQ(look(2, 9000), 0u) << "nobody else gets a 503 for that";
}

TEST(TakeUps, OfWhoWasToldThatNothingWasDoneAreFound) {
  Calls calls;
  calls.Begin(100, 2100, Heard::kUnavailable);
  TakeUpWatch watch(calls.history, kStartMs);
  Operation& begin = calls.history.operations[0];
  EXPECT_TRUE(watch.Look(TakenUp(begin, "A", 1, 150), 200).empty());
  EXPECT_TRUE(watch.Refused().empty()) << "the outcome was unknown";
  begin.refused = true;
  ASSERT_EQ(watch.Refused().size(), 1u);
  EXPECT_EQ(watch.Refused()[0].checker, "take-up");
}

TEST(TakeUps, AreOnTimeByTheClockOfWhoAsked) {
  Calls calls;
  const Operation& begin = calls.Begin(100, 2100, Heard::kUnavailable);
  calls.history.faults.push_back({Fault::Kind::kClockJump, 50, 500, "eu", "", 5000});
  TakeUpWatch watch(calls.history, kStartMs);
  EXPECT_TRUE(watch.Look(TakenUp(begin, "A", 1, 7000), 7000).empty());
}

// It stood still when it was asked, and again when the wait was over.
TEST(TakeUps, AreOnTimeByWhenANodeThatStoodStillAskedForTheLastTime) {
  Calls calls;
  calls.Begin(100, 0, Heard::kNone).wait_ms = 700;
  const Operation& begin = calls.history.operations[0];
  calls.history.faults.push_back({Fault::Kind::kPause, 50, 4000, "eu", "", 0});
  calls.history.faults.push_back({Fault::Kind::kPause, 4600, 9000, "eu", "", 0});
  EXPECT_TRUE(TakeUpWatch(calls.history, kStartMs).Look(TakenUp(begin, "A", 1, 12'900), 0).empty());
  EXPECT_FALSE(
      TakeUpWatch(calls.history, kStartMs).Look(TakenUp(begin, "A", 1, 13'100), 0).empty());
}

TEST(OneMode, AKeyThatMovesWhenNothingIsKeptIsRight) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Settle(2, 3, Heard::kDone, "A", 1, "x");
  calls.Begin(2500, 2501, Heard::kExecute, "B", 2).strict = false;
  EXPECT_TRUE(CheckOneMode(calls.history).empty());
}

TEST(OneMode, AKeyThatIsAdmittedWhileItsAnswerIsKeptInTheOtherModeIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1).retention_ms = 9000;
  calls.Settle(2, 3, Heard::kDone, "A", 1, "x").retention_ms = 9000;
  calls.Begin(2500, 2501, Heard::kExecute, "B", 2).strict = false;
  EXPECT_EQ(CheckOneMode(calls.history).size(), 1u);
  calls.history.operations[2].strict = true;
  EXPECT_TRUE(CheckOneMode(calls.history).empty()) << "others look at that";
}

TEST(OneMode, AKeyThatIsAdmittedWhileItIsLeasedInTheOtherModeIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1).lease_ms = 5000;
  calls.Begin(2500, 2501, Heard::kExecute, "B", 2).strict = false;
  EXPECT_EQ(CheckOneMode(calls.history).size(), 1u);
  calls.Settle(2, 0, Heard::kNone, "A", 1, "", 0);
  EXPECT_TRUE(CheckOneMode(calls.history).empty()) << "it may have been released";
}

TEST(OtherRulesChecked, WhatIsAdmittedBeforeAndAfterIsRight) {
  Calls calls;
  calls.Begin(0, 10, Heard::kExecute, "A", 1);
  calls.Begin(60, 90, Heard::kExecute, "B", 2);
  calls.Begin(20, 30, Heard::kInFlight, "A", 1);
  calls.history.differences.push_back({"eu", false, 5, 70});
  EXPECT_TRUE(CheckOtherRules(calls.history).empty());
  calls.Begin(6, 69, Heard::kExecute, "C", 3);
  calls.Begin(6, 69, Heard::kExecute, "D", 4).region = "us";
  EXPECT_EQ(CheckOtherRules(calls.history).size(), 1u);
}

TEST(OtherClockChecked, AReplayThatTookNoTimeIsFound) {
  Calls calls;
  calls.Replay(20, 25, "A", 1, "x");
  calls.history.differences.push_back({"eu", true, 5, 70});
  EXPECT_TRUE(CheckOtherClock(calls.history).empty()) << "the leader said so";
  calls.Replay(30, 30, "A", 1, "x");
  EXPECT_EQ(CheckOtherClock(calls.history).size(), 1u);
  calls.history.differences[0].of_clock = false;
  EXPECT_TRUE(CheckOtherClock(calls.history).empty());
}

TEST(OtherClockChecked, WhoStartedBehindIsExcusedUntilItHearsALeader) {
  Calls calls;
  calls.Replay(20, 20, "A", 1, "x");
  calls.Replay(40, 40, "A", 1, "x");
  ExcuseUntold(calls.history);
  EXPECT_EQ(calls.history.operations[0].answer, Heard::kReplay);
  calls.history.untold.push_back({"eu", 10, 30});
  ExcuseUntold(calls.history);
  EXPECT_EQ(calls.history.operations[0].answer, Heard::kNone);
  EXPECT_EQ(calls.history.operations[1].answer, Heard::kReplay);
}

/// Watched while regions are started with other rules.
class RulesWatched : public testing::Test {
 protected:
  RulesWatched() {
    story_.cluster.on_step = [this](const std::string& region) { watch_.Observe(region, Now()); };
    story_.cluster.on_restart = [this](const std::string& region) {
      watch_.Restarted(region, Now());
    };
    story_.Run(500);
  }
  std::int64_t Now() { return story_.cluster.time().MonotonicMicros() / 1000; }
  void GiveOtherRules(const std::string& region) {
    story_.cluster.Crash(region);
    story_.cluster.SetStrictRoutes(region, {{{"acme", "*"}, {"dev", "*"}, {"new", "*"}}});
    story_.cluster.Restart(region);
  }

  StrictStory story_;
  History history_;
  RulesWatch watch_{story_.cluster, history_};
};

TEST_F(RulesWatched, ARegionKnowsFromItsStartUntilAllHaveThem) {
  const std::string odd = story_.Followers()[0];
  GiveOtherRules(odd);
  story_.Run(2000);
  ASSERT_EQ(history_.differences.size(), 1u);
  EXPECT_EQ(history_.differences[0].region, odd);
  EXPECT_EQ(history_.differences[0].to_ms, -1);
  for (const std::string& other : story_.Others(odd)) GiveOtherRules(other);
  story_.Run(5000);
  for (const Difference& difference : history_.differences)
    EXPECT_GT(difference.to_ms, 0) << difference.region;
  EXPECT_TRUE(watch_.Look(Now()).empty());
}

}  // namespace
}  // namespace once
