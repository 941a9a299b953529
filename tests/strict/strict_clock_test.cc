// Clocks of members that differ by more than the bound: whoever leads has one that a majority
// shares.
#include "replica/strict/member_clocks.h"
#include "simulator/virtual_scheduler.h"
#include "tests/strict/strict_story.h"

namespace once {
namespace {

using Kind = Answer::Kind;

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kBoundMs = 1000;

/// A follower of the story is started with its wall clock ahead, and made to lead.
std::string LeadAhead(StrictStory& story, std::int64_t ahead_ms) {
  const std::string ahead = story.Followers()[0];
  story.cluster.Crash(ahead);
  story.cluster.JumpWall(ahead, ahead_ms);
  story.cluster.Restart(ahead);
  story.Run(3000);
  EXPECT_EQ(story.Group(story.Leader()).engine().Transfer(story.Status(ahead).name), "");
  EXPECT_TRUE(story.cluster.time().RunUntil([&] { return story.Leader() == ahead; }, 5000));
  return ahead;
}

TEST(StrictClock, S_20_ALeaderThatStartedADayAheadExpiresNothingAndDoesNotStay) {
  ClusterOptions options;
  options.retention_ms = 24 * kHourMs;
  StrictStory story(options);
  const std::string run = story.Claim(story.Leader(), "k");
  const std::string ahead = LeadAhead(story, 25 * kHourMs);
  const std::string other = story.Others(ahead)[0];
  EXPECT_EQ(story.BeginPatiently(other, "fresh").kind, Kind::kExecute);
  EXPECT_NE(story.Leader(), ahead);
  story.Run(3000);
  const Answer again = story.BeginPatiently(other, "k");
  EXPECT_EQ(again.kind, Kind::kReplay);
  EXPECT_EQ(again.claim.run_id(), run);
  EXPECT_EQ(story.BeginPatiently(ahead, "k").claim.run_id(), run);
  // No stamp of its became the ledger's time: leases end.
  const Answer leased = story.BeginPatiently(story.Leader(), "leased");
  ASSERT_EQ(leased.kind, Kind::kExecute);
  story.Run(static_cast<std::int64_t>(story.cluster.options().lease_ms) + 5000);
  EXPECT_EQ(story.BeginPatiently(story.Leader(), "leased").kind, Kind::kExecute);
}

class StrictClockJump : public testing::TestWithParam<int> {};

// While a claim is under its lease and another one is kept.
TEST_P(StrictClockJump, S_20_OfTheLeaderEndsNoLeaseAndExpiresNothing) {
  ClusterOptions options;
  options.retention_ms = kHourMs / 2;
  options.lease_ms = 60'000;
  StrictStory story(options);
  const std::string jumps = story.Leader();
  const std::string other = story.Followers()[0];
  const std::string kept = story.Claim(other, "kept");
  const Answer leased = story.BeginPatiently(other, "leased");
  ASSERT_EQ(leased.kind, Kind::kExecute);
  story.cluster.JumpWall(jumps, GetParam() * kHourMs);
  story.Run(5000);
  EXPECT_NE(story.AwaitLeader(), jumps);
  for (const std::string& region : story.Others(jumps)) {
    EXPECT_EQ(story.BeginPatiently(region, "kept").claim.run_id(), kept) << region;
    EXPECT_EQ(story.BeginPatiently(region, "leased").kind, Kind::kInFlight) << region;
  }
  const Answer later = story.BeginPatiently(other, "later");
  ASSERT_EQ(later.kind, Kind::kExecute);
  EXPECT_GT(later.claim.run_id(), leased.claim.run_id());
  EXPECT_GT(later.claim.fence(), leased.claim.fence());
  story.Run(60'000);
  EXPECT_EQ(story.BeginPatiently(other, "leased").kind, Kind::kExecute);
}

INSTANTIATE_TEST_SUITE_P(Hours, StrictClockJump, testing::Values(-1, 1, 25), [](const auto& info) {
  return info.param < 0 ? std::string("Back1") : "Ahead" + std::to_string(info.param);
});

TEST(StrictClock, S_22_AGroupThatWasSuspendedForHalfAnHourGivesItsKeysToNobodyTwice) {
  ClusterOptions options;
  options.lease_ms = 60'000;
  options.retention_ms = 24 * kHourMs;
  StrictStory story(options);
  const std::string leader = story.Leader();
  const std::string kept = story.Claim(leader, "kept");
  const Answer before = story.BeginPatiently(leader, "leased");
  ASSERT_EQ(before.kind, Kind::kExecute);
  for (const std::string& region : story.cluster.regions()) story.cluster.Pause(region);
  story.Run(kHourMs / 2);
  for (const std::string& region : story.cluster.regions()) story.cluster.Resume(region);
  // At once, of everybody at the same time: the lease is over, and one may take it up.
  int owners = 0;
  int answers = 0;
  for (const std::string& region : story.cluster.regions())
    story.cluster.Submit(region, BeginCommand("acme", "leased", 1, 60'000, kHourMs),
                         [&](const Answer& answer) {
                           ++answers;
                           owners += answer.kind == Kind::kExecute;
                         });
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return answers == 3; }, 20'000));
  EXPECT_LE(owners, 1);
  story.AwaitLeader();
  for (const std::string& region : story.cluster.regions()) {
    EXPECT_EQ(story.BeginPatiently(region, "kept").claim.run_id(), kept) << region;
    const Answer now = story.BeginPatiently(region, "leased");
    owners += now.kind == Kind::kExecute;
    EXPECT_GT(now.claim.fence(), before.claim.fence()) << region;
  }
  EXPECT_EQ(owners, 1);
  EXPECT_EQ(story.Complete(leader, before).kind, Kind::kStaleFence);
}

TEST(StrictClock, S_21_ANodeWhoseClockDiffersSaysSoUntilTheClocksAgree) {
  StrictStory story;
  const std::string ahead = LeadAhead(story, 5000);
  EXPECT_NE(story.AwaitLeader(ahead), ahead);
  story.Run(1000);
  EXPECT_NE(story.cluster.replica(ahead).Unready(), "");
  EXPECT_FALSE(story.cluster.replica(ahead).Gauges().clock_safe);
  for (const std::string& other : story.Others(ahead))
    EXPECT_EQ(story.cluster.replica(other).Unready(), "") << other;
  story.cluster.Crash(ahead);
  story.cluster.JumpWall(ahead, -5000);
  story.Run(6000);  // its stored stamp is past then
  story.cluster.Restart(ahead);
  story.Run(3000);
  EXPECT_EQ(story.cluster.replica(ahead).Unready(), "");
  story.Group(story.Leader()).engine().Transfer(story.Status(ahead).name);
  EXPECT_TRUE(story.cluster.time().RunUntil([&] { return story.Leader() == ahead; }, 5000));
  EXPECT_EQ(story.BeginPatiently(ahead, "k").kind, Kind::kExecute);
  EXPECT_EQ(story.Leader(), ahead);
}

// What it asks for is over by the leader's clock before it comes.
TEST(StrictClock, S_21_ANodeThatIsBehindByMoreThanThreeSecondsGetsNoAnswerAndSaysSo) {
  StrictStory story;
  const std::string behind = story.Followers()[0];
  const auto start_after = [&](std::int64_t jump_ms) {
    story.cluster.Crash(behind);
    story.cluster.JumpWall(behind, jump_ms);
    story.Run(6000);  // else its stored stamp would tell it
    story.cluster.Restart(behind);
    story.Run(3000);
  };
  start_after(-5000);
  const Answer unknown = story.Begin(behind, "k");
  EXPECT_EQ(unknown.kind, Kind::kUnavailable);
  EXPECT_FALSE(unknown.refused) << "a leader was asked";
  EXPECT_NE(story.cluster.replica(behind).Unready().find("clock"), std::string::npos);
  for (const std::string& region : story.cluster.regions())
    EXPECT_EQ(story.StrictSlot(region, "k"), nullptr) << region;
  EXPECT_EQ(story.BeginPatiently(story.Others(behind)[0], "k").kind, Kind::kExecute);
  start_after(5000);
  EXPECT_EQ(story.cluster.replica(behind).Unready(), "");
  EXPECT_EQ(story.BeginPatiently(behind, "other").kind, Kind::kExecute);
}

TEST(StrictClock, S_21_OfTwoThatAreLeftAndDifferNeitherDecidesAnything) {
  StrictStory story;
  const std::string ahead = LeadAhead(story, 5000);
  const std::string gone = story.Others(ahead)[0];
  const std::string left = story.Others(ahead)[1];
  story.cluster.Crash(gone);
  story.Run(15'000);
  for (const std::string& region : {ahead, left})
    EXPECT_EQ(story.Begin(region, "k").kind, Kind::kUnavailable) << region;
  story.cluster.Restart(gone);
  EXPECT_EQ(story.BeginPatiently(left, "k").kind, Kind::kExecute);
}

TEST(StrictClock, S_21_ALeaderWhoseClockIsUnsafeIsReplacedAlsoWhenOneOfTheOthersIsGone) {
  for (const int gone : {0, 1}) {
    StrictStory story;
    const std::string old = story.Leader();
    story.Run(1000);
    story.cluster.Crash(story.Followers()[gone]);  // it had as much of the log as the other
    story.Run(1000);
    story.cluster.JumpWall(old, 60'000);
    EXPECT_NE(story.AwaitLeader(old), old);
    EXPECT_EQ(story.BeginPatiently(story.Leader(), "k").kind, Kind::kExecute);
  }
}

// Its clock says that the answer has not expired, and it knows that its clock is wrong.
TEST(StrictClock, S_21_ANodeWhoseClockDiffersReplaysNothingStrictAlsoWhenItIsCutOff) {
  StrictStory story;
  const std::string run = story.Claim(story.Leader(), "k");
  ASSERT_TRUE(story.AllEqual());
  const std::string ahead = story.Followers()[0];
  story.cluster.Crash(ahead);
  story.cluster.JumpWall(ahead, 5000);
  story.cluster.Restart(ahead);
  story.Run(3000);
  ASSERT_FALSE(story.cluster.replica(ahead).ClockSafe());
  story.cluster.Partition({ahead}, story.Others(ahead));
  story.Run(5000);
  ASSERT_EQ(story.Status(ahead).leader, "");
  EXPECT_FALSE(story.cluster.replica(ahead).ClockSafe()) << "nor may what the front keeps ready";
  EXPECT_EQ(story.Begin(ahead, "k").kind, Kind::kUnavailable);
  story.cluster.Heal();
  EXPECT_EQ(story.BeginPatiently(ahead, "k").claim.run_id(), run);
}

// It hears one voter whose clock differs, which is too few to say what most voters' clocks show.
TEST(StrictClock, S_21_ANodeThatKnowsThatItsClockDiffersReplaysNothingWhenItBeginsToLead) {
  StrictStory story;
  const std::string behind = story.Followers()[0];
  const std::string unheard = story.Followers()[1];
  story.cluster.Crash(behind);
  story.cluster.JumpWall(behind, -5000);
  story.Run(6000);
  story.cluster.Restart(behind);
  story.Run(3000);
  ASSERT_FALSE(story.cluster.replica(behind).ClockSafe());
  story.cluster.Partition({behind}, {unheard});
  EXPECT_EQ(story.Group(story.Leader()).engine().Transfer(story.Status(behind).name), "");
  ASSERT_TRUE(
      story.cluster.time().RunUntil([&] { return story.Group(behind).engine().Leads(); }, 5000));
  EXPECT_FALSE(story.cluster.replica(behind).ClockSafe());
}

/// Two nodes that talk, with what each message takes.
class MemberClocksTest : public testing::Test {
 protected:
  struct Side {
    Side(VirtualScheduler& scheduler, std::int64_t ahead_ms)
        : clock(scheduler, scheduler.WallMillis() + ahead_ms, kBoundMs), clocks(clock, kBoundMs) {}
    NodeClock clock;
    MemberClocks clocks;
  };
  void Say(Side& from, Side& to, std::int64_t takes_ms) {
    const ClockWord word = from.clocks.WordFor("other");
    scheduler_.RunFor(takes_ms);
    to.clocks.Hear("other", word);
  }
  ClockStanding Standing(std::int64_t ahead_ms, std::int64_t there_ms, std::int64_t back_ms) {
    Side one(scheduler_, std::max<std::int64_t>(ahead_ms, 0));
    Side other(scheduler_, std::max<std::int64_t>(-ahead_ms, 0));
    EXPECT_EQ(one.clocks.Among({"self", "other"}), ClockStanding::kUnheard);
    Say(one, other, there_ms);
    Say(other, one, back_ms);
    return one.clocks.Among({"self", "other"});
  }
  VirtualScheduler scheduler_{1'700'000'000'000};
};

TEST_F(MemberClocksTest, S_21_WithinTheBoundTheyAgreeWhateverAMessageTakes) {
  for (const std::int64_t ahead_ms : {-1000, -900, 0, 900, 1000})
    for (const std::int64_t there_ms : {0, 1, 1000})
      for (const std::int64_t back_ms : {0, 1, 900})
        EXPECT_EQ(Standing(ahead_ms, there_ms, back_ms), ClockStanding::kAgrees)
            << ahead_ms << " " << there_ms << " " << back_ms;
}

TEST_F(MemberClocksTest, S_21_BeyondTheBoundAndTheRoundTripTheyNeverAgree) {
  for (const std::int64_t ahead_ms : {3001, 5000, 90'000'000, -3001, -5000, -90'000'000})
    for (const std::int64_t there_ms : {0, 1000, 2000, 4000, 100'000'000})
      for (const std::int64_t back_ms : {0, 1000, 2000, 4000, 100'000'000})
        EXPECT_NE(Standing(ahead_ms, there_ms, back_ms), ClockStanding::kAgrees)
            << ahead_ms << " " << there_ms << " " << back_ms;
  EXPECT_EQ(Standing(5000, 100, 100), ClockStanding::kDiffers);
  EXPECT_EQ(Standing(-5000, 100, 100), ClockStanding::kDiffers);
}

TEST_F(MemberClocksTest, WhatWasSaidOfAnEarlierStartDoesNotCount) {
  Side other(scheduler_, 0);
  Side before(scheduler_, 0);
  Say(before, other, 10);
  Side after(scheduler_, 1500);
  Say(other, after, 10);
  EXPECT_EQ(after.clocks.Among({"self", "other"}), ClockStanding::kUnheard);
  Say(after, other, 10);
  Say(other, after, 10);
  EXPECT_EQ(after.clocks.Among({"self", "other"}), ClockStanding::kDiffers);
}

TEST_F(MemberClocksTest, TheLatestWordCountsForAWhile) {
  Side one(scheduler_, 0);
  Side wrong(scheduler_, 5000);
  Say(wrong, one, 10);
  EXPECT_EQ(one.clocks.Among({"self", "other"}), ClockStanding::kDiffers);
  EXPECT_EQ(one.clocks.Among({"self", "other", "third"}), ClockStanding::kUnheard);
  Side right(scheduler_, 0);
  Say(one, right, 10);
  Say(right, one, 10);
  EXPECT_EQ(one.clocks.Among({"self", "other", "third"}), ClockStanding::kAgrees);
  scheduler_.RunFor(11'000);
  EXPECT_EQ(one.clocks.Among({"self", "other", "third"}), ClockStanding::kUnheard);
}

TEST_F(MemberClocksTest, AloneItAgreesAndAnOlderNodeIsBelieved) {
  Side one(scheduler_, 0);
  EXPECT_EQ(one.clocks.Among({"self"}), ClockStanding::kAgrees);
  one.clocks.Hear("other", ClockWord());
  EXPECT_EQ(one.clocks.Among({"self", "other"}), ClockStanding::kAgrees);
}

}  // namespace
}  // namespace once
