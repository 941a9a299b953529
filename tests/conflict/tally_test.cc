#include "conflict/tally.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conflict/merge.h"
#include "conflict/survivor.h"
#include "tests/conflict/story.h"

namespace once {
namespace {

TEST(Tally, OW_MR_05_OnlyTheLosersHomeCounts) {
  const Slot slot = SlotOf({Success("a", "us", 0, 24), Success("b", "eu", 1, 25)});
  EXPECT_TRUE(NewLosses(slot, "us").empty());
  EXPECT_TRUE(NewLosses(slot, "ap").empty());
  const auto losses = NewLosses(slot, "eu");
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].run_id(), "b");
  EXPECT_EQ(losses[0].first_winner(), "a");
  EXPECT_EQ(losses[0].region_pair(), "eu|us");
}

TEST(Tally, OW_MR_05_RemergingCountsNothingAgain) {
  Slot slot = SlotOf({Success("a", "us", 0, 24), Success("b", "eu", 1, 25)});
  EXPECT_EQ(RecordLosses(slot, NewLosses(slot, "eu")), 1);
  EXPECT_TRUE(NewLosses(slot, "eu").empty());
  MergeClaim(slot, Success("a", "us", 0, 24));
  Slot restored;
  ASSERT_TRUE(restored.ParseFromString(slot.SerializeAsString()));
  EXPECT_TRUE(NewLosses(restored, "eu").empty());
}

TEST(Tally, OW_MR_05_ALaterLowerSurvivorChangesOnlyTheRedirect) {
  Slot slot = SlotOf({Success("b", "us", 0, 24), Success("c", "eu", 1, 25)});
  const auto first = NewLosses(slot, "eu");
  RecordLosses(slot, first);
  MergeClaim(slot, Success("a", "ap", 2, 26));
  EXPECT_TRUE(NewLosses(slot, "eu").empty());
  EXPECT_EQ(NewLosses(slot, "us").size(), 1u);
  EXPECT_EQ(RunIdOf(RedirectOf(slot, "c")), "a");
  ASSERT_EQ(slot.losses_size(), 1);
  EXPECT_EQ(slot.losses(0).first_winner(), "b");
  EXPECT_EQ(slot.losses(0).region_pair(), "eu|us");
}

TEST(Tally, S_04_ThreeWaySplitHasTwoLosersInEveryOrder) {
  const std::vector<Claim> claims = {Success("a", "ap", 0, 24), Success("b", "eu", 1, 25),
                                     Success("c", "us", 2, 26)};
  for (const auto& order : Orders(3)) {
    int counted = 0;
    for (const std::string region : {"ap", "eu", "us"}) {
      Slot slot = EmptySlot();
      for (int at : order) {
        MergeClaim(slot, claims[at]);
        counted += RecordLosses(slot, NewLosses(slot, region));
      }
    }
    EXPECT_EQ(counted, 2);
  }
}

TEST(Tally, YieldedAndSupersededClaimsAreNotCounted) {
  const Slot slot = SlotOf({Success("a", "us", 0, 24), Failure("b", "eu", 1, 25),
                            MakeClaim("c", "eu", SUPERSEDED, 1, 25), Retryable("d", "eu", 1, 25)});
  EXPECT_TRUE(NewLosses(slot, "eu").empty());
}

TEST(Tally, ARegionMayLoseAgainstItselfThroughABridge) {
  const Slot slot =
      SlotOf({Success("a", "eu", 0, 24), Success("b", "us", 23, 47), Success("c", "eu", 25, 49)});
  const auto losses = NewLosses(slot, "eu");
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].run_id(), "c");
  EXPECT_EQ(losses[0].region_pair(), "eu|eu");
}

TEST(Tally, MarksAreOrderedAndKeepWhatWasFirstSeen) {
  // Two generations: components come in order of time, marks in order of run_id.
  Slot slot = SlotOf({Success("c", "us", 0, 24), Success("d", "eu", 0, 24),
                      Success("a", "us", 30, 54), Success("b", "eu", 30, 54)});
  const auto losses = NewLosses(slot, "eu");
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[0].run_id(), "b");
  EXPECT_EQ(losses[1].run_id(), "d");
  EXPECT_EQ(RecordLosses(slot, {losses[1]}), 1);
  EXPECT_EQ(RecordLosses(slot, losses), 1);
  Loss rewritten = losses[0];
  rewritten.set_first_winner("other");
  EXPECT_EQ(RecordLosses(slot, {rewritten}), 0);
  ASSERT_EQ(slot.losses_size(), 2);
  EXPECT_EQ(slot.losses(0).run_id(), "b");
  EXPECT_EQ(slot.losses(0).first_winner(), "a");
  EXPECT_EQ(slot.losses(1).run_id(), "d");
}

}  // namespace
}  // namespace once
