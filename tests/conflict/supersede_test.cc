#include "conflict/supersede.h"

#include <gtest/gtest.h>

#include "conflict/merge.h"
#include "conflict/survivor.h"
#include "tests/conflict/story.h"

namespace once {
namespace {

TEST(Supersede, S_41_OwnOpenClaimsGiveWayToAForeignSuccess) {
  for (const Claim& own : {Pending("a", "eu", 0, 10), Retryable("a", "eu", 0, 24)}) {
    Slot slot = SlotOf({own, Success("b", "us", 1, 25)});
    EXPECT_EQ(Supersede(slot, "eu", 5, 2), 1);
    EXPECT_EQ(slot.claims(0).state(), SUPERSEDED);
    EXPECT_EQ(slot.claims(0).version(), own.version() + 1);
    EXPECT_EQ(slot.claims(0).finalised_ms(), 5);
    EXPECT_EQ(RunIdOf(RedirectOf(slot, "a")), "b");
    EXPECT_EQ(RunIdOf(SurvivorAt(slot, 5, 2)), "b");
    EXPECT_EQ(Supersede(slot, "eu", 6, 2), 0);
    EXPECT_EQ(MergeClaim(slot, own), Merged::kUnchanged);
  }
}

TEST(Supersede, OnlyTheHomeRegionMovesAClaim) {
  Slot slot = SlotOf({Pending("a", "eu", 0, 10), Success("b", "us", 1, 25)});
  EXPECT_EQ(Supersede(slot, "us", 5, 2), 0);
  EXPECT_EQ(Supersede(slot, "ap", 5, 2), 0);
  EXPECT_EQ(slot.claims(0).state(), PENDING);
}

TEST(Supersede, OnlyASuccessThatStillAnswersDoesIt) {
  Slot failed = SlotOf({Pending("a", "eu", 0, 10), Failure("b", "us", 1, 25)});
  EXPECT_EQ(Supersede(failed, "eu", 5, 2), 0);
  Slot pending = SlotOf({Pending("a", "eu", 0, 10), Pending("b", "us", 1, 25)});
  EXPECT_EQ(Supersede(pending, "eu", 5, 2), 0);
  Slot expired = SlotOf({Pending("a", "eu", 27, 40), Success("b", "us", 1, 25)});
  EXPECT_EQ(Supersede(expired, "eu", 27, 2), 0);
  EXPECT_EQ(Supersede(expired, "eu", 26, 2), 1);
}

TEST(Supersede, S_49_AnOwnSuccessThatWasGivenBackDoesItToo) {
  Slot own = SlotOf({Pending("a", "eu", 10, 40), Success("b", "eu", 1, 25)});
  EXPECT_EQ(Supersede(own, "eu", 27, 2), 0);
  EXPECT_EQ(Supersede(own, "eu", 26, 2), 1);
  EXPECT_EQ(RunIdOf(RedirectOf(own, "a")), "b");
}

TEST(Supersede, FinalClaimsMarkersAndClosedRetryablesStay) {
  Slot slot = SlotOf({Success("a", "eu", 30, 54), Failure("b", "eu", 30, 54),
                      MakeClaim("c", "eu", RELEASED, 30, 54), Retryable("d", "eu", 0, 24),
                      Success("e", "us", 30, 54)});
  EXPECT_EQ(Supersede(slot, "eu", 31, 2), 0);
  EXPECT_EQ(slot.claims(3).state(), RETRYABLE);
}

TEST(Supersede, TheRedirectFollowsTheComponentAndNoOtherGeneration) {
  Slot slot =
      SlotOf({Success("0", "us", 0, 24), Pending("d", "eu", 30, 40), Success("c", "us", 31, 55)});
  ASSERT_EQ(Supersede(slot, "eu", 35, 2), 1);
  MergeClaim(slot, Success("a", "us", 80, 104));
  EXPECT_EQ(RunIdOf(RedirectOf(slot, "d")), "c");
  MergeClaim(slot, Success("b", "ap", 40, 64));
  EXPECT_EQ(RunIdOf(RedirectOf(slot, "d")), "b");
  EXPECT_EQ(RedirectOf(slot, "b"), nullptr);
}

TEST(Supersede, AForeignSuccessCountsThroughItsComponentEvenIfAnOwnOneSurvives) {
  Slot slot =
      SlotOf({Success("a", "eu", 0, 24), Success("b", "us", 20, 44), Pending("c", "eu", 30, 50)});
  EXPECT_EQ(Supersede(slot, "eu", 31, 2), 1);
  EXPECT_EQ(RunIdOf(RedirectOf(slot, "c")), "a");
}

}  // namespace
}  // namespace once
