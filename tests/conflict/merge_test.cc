#include "conflict/merge.h"

#include <gtest/gtest.h>

#include "tests/conflict/story.h"

namespace once {
namespace {

TEST(Merge, ClaimsAreKeptInOrderOfRunId) {
  const Slot slot = SlotOf({Success("c", "ap", 0, 24), Success("a", "eu", 0, 24),
                            Success("b", "us", 0, 24), Success("a", "eu", 0, 24)});
  ASSERT_EQ(slot.claims_size(), 3);
  EXPECT_EQ(slot.claims(0).run_id(), "a");
  EXPECT_EQ(slot.claims(1).run_id(), "b");
  EXPECT_EQ(slot.claims(2).run_id(), "c");
}

TEST(Merge, TheHigherVersionOfAnOpenClaimStands) {
  Claim claim = Pending("a", "eu", 0, 10);
  Slot slot = EmptySlot();
  EXPECT_EQ(MergeClaim(slot, claim), Merged::kAdded);
  EXPECT_EQ(MergeClaim(slot, claim), Merged::kUnchanged);
  Claim later = claim;
  later.set_version(2);
  later.set_lease_until_ms(20);
  EXPECT_EQ(MergeClaim(slot, later), Merged::kAdvanced);
  EXPECT_EQ(MergeClaim(slot, claim), Merged::kUnchanged);
  EXPECT_EQ(slot.claims(0).lease_until_ms(), 20);
}

TEST(Merge, S_41_TheSuccessOfARetriedClaimReplacesItsRetryableState) {
  Slot slot = SlotOf({Retryable("a", "eu", 0, 24)});
  Claim done = Success("a", "eu", 10, 40);
  done.set_version(4);
  EXPECT_EQ(MergeClaim(slot, done), Merged::kAdvanced);
  EXPECT_EQ(MergeClaim(slot, Retryable("a", "eu", 0, 24)), Merged::kUnchanged);
  EXPECT_EQ(slot.claims(0).state(), COMPLETED);
}

/// Merges one after the other in both orders; both must collide and leave the first one standing.
void ExpectCollision(const Claim& stands, const Claim& falls) {
  Slot one = SlotOf({stands});
  EXPECT_EQ(MergeClaim(one, falls), Merged::kCollision);
  Slot other = SlotOf({falls});
  EXPECT_EQ(MergeClaim(other, stands), Merged::kCollision);
  ASSERT_EQ(one.claims_size(), 1);
  EXPECT_EQ(one.claims(0).SerializeAsString(), stands.SerializeAsString());
  EXPECT_EQ(one.SerializeAsString(), other.SerializeAsString());
}

TEST(Merge, S_39_EqualRunIdAndVersionWithOtherContentCollides) {
  Claim a = Success("a", "eu", 0, 24);
  a.mutable_outcome()->set_body("1");
  Claim b = a;
  b.mutable_outcome()->set_body("2");
  ExpectCollision(a, b);
}

TEST(Merge, S_39_ARunIdUsedForAnotherRequestCollidesWhateverItsVersion) {
  const Claim honest = Pending("a", "eu", 0, 10);
  Claim other_body = Success("a", "eu", 0, 24);
  other_body.set_fingerprint("other body");
  other_body.set_version(9);
  ExpectCollision(honest, other_body);
  Claim other_region = Success("a", "us", 0, 24);
  other_region.set_version(9);
  ExpectCollision(honest, other_region);
  Claim other_time = Success("a", "eu", 0, 24);
  other_time.set_created_ms(7);
  ExpectCollision(honest, other_time);
}

TEST(Merge, AFinalClaimDoesNotChange) {
  const Claim done = Success("a", "eu", 0, 24);
  Claim failed = Failure("a", "eu", 0, 24);
  failed.set_version(3);
  ExpectCollision(done, failed);
  Claim reopened = Pending("a", "eu", 30, 40);
  reopened.set_version(3);
  ExpectCollision(done, reopened);
  Claim prolonged = Success("a", "eu", 0, 48);
  prolonged.set_version(3);
  ExpectCollision(done, prolonged);
}

TEST(Merge, S_30_OfTwoEndsOfOneRunTheFirstStands) {
  Claim first = Success("a", "eu", 0, 24);
  first.set_version(4);
  first.set_finalised_ms(5);
  Claim second = Success("a", "eu", 0, 24);
  second.set_version(3);
  second.set_finalised_ms(9);
  ExpectCollision(first, second);
  Slot slot = SlotOf({second});
  EXPECT_EQ(MergeClaim(slot, first), Merged::kCollision);
  EXPECT_EQ(slot.claims(0).finalised_ms(), 5);
}

TEST(Merge, S_30_WhatAnOwnerHasEndedStaysEndedUntilTheNextOne) {
  Claim ended = Retryable("a", "eu", 0, 24);
  ended.set_fence(7);
  Claim restored = Pending("a", "eu", 0, 10);
  restored.set_created_ms(ended.created_ms());
  restored.set_fence(7);
  restored.set_version(ended.version() + 3);  // its lease was begun anew, more than once
  for (const auto& [first, second] : {std::pair(ended, restored), std::pair(restored, ended)}) {
    Slot slot = SlotOf({first});
    MergeClaim(slot, second);
    EXPECT_EQ(slot.claims(0).state(), RETRYABLE);
  }
  Claim retried = restored;
  retried.set_fence(8);
  Slot slot = SlotOf({ended});
  EXPECT_EQ(MergeClaim(slot, retried), Merged::kAdvanced);
  EXPECT_EQ(slot.claims(0).state(), PENDING);
}

TEST(Merge, AFinalStateRepeatedUnderAnotherVersionIsNoCollision) {
  const Claim done = Success("a", "eu", 0, 24);
  Claim again = done;
  again.set_version(3);
  Slot slot = SlotOf({done});
  EXPECT_EQ(MergeClaim(slot, again), Merged::kUnchanged);
  Slot other = SlotOf({again});
  EXPECT_EQ(MergeClaim(other, done), Merged::kAdvanced);
  EXPECT_EQ(slot.SerializeAsString(), other.SerializeAsString());
}

}  // namespace
}  // namespace once
