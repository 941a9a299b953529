#include "conflict/forget.h"

#include <gtest/gtest.h>

#include "conflict/merge.h"
#include "conflict/supersede.h"
#include "conflict/survivor.h"
#include "conflict/tally.h"
#include "conflict/window.h"
#include "tests/conflict/story.h"

namespace once {
namespace {

constexpr std::int64_t kSkewMs = 5;
constexpr std::int64_t kGraceMs = 100;

/// The only claim of a slot goes at `end_ms` plus skew plus grace, and not before.
void ExpectGoesAt(const Claim& claim, std::int64_t end_ms) {
  Slot slot = SlotOf({claim});
  const std::int64_t at_ms = end_ms + kSkewMs + kGraceMs;
  EXPECT_EQ(Forget(slot, at_ms - 1, kSkewMs, kGraceMs, true), 0);
  EXPECT_EQ(Forget(slot, at_ms, kSkewMs, kGraceMs, true), 1);
  EXPECT_EQ(slot.claims_size(), 0);
}

TEST(Forget, EachStateGoesAtItsEndPlusSkewPlusGrace) {
  ExpectGoesAt(Success("a", "eu", 0, 24), 24);
  ExpectGoesAt(Failure("a", "eu", 0, 24), 24);
  ExpectGoesAt(Retryable("a", "eu", 0, 24), 24);
  ExpectGoesAt(MakeClaim("a", "eu", SUPERSEDED, 0, 24), 24);
  ExpectGoesAt(Pending("a", "eu", 0, 10), 10 + 24);
  Claim released = Pending("a", "eu", 0, 10);
  released.set_state(RELEASED);
  ExpectGoesAt(released, 10);
  released.set_finalised_ms(15);
  ExpectGoesAt(released, 15);
}

TEST(Forget, NothingGoesThatAMemberMayBeMissing) {
  Slot slot = SlotOf({Success("a", "eu", 0, 24), Pending("b", "us", 0, 10)});
  EXPECT_EQ(Forget(slot, 10'000, kSkewMs, kGraceMs, false), 0);
  EXPECT_EQ(slot.claims_size(), 2);
}

TEST(Forget, AComponentGoesAsAWholeAtItsLatestExpiry) {
  Slot slot = SlotOf({Success("a", "eu", 0, 24), Success("b", "us", 20, 44)});
  RecordLosses(slot, NewLosses(slot, "us"));
  EXPECT_EQ(Forget(slot, 44 + 104, kSkewMs, kGraceMs, true), 0);
  EXPECT_EQ(slot.losses_size(), 1);
  EXPECT_EQ(Forget(slot, 44 + 105, kSkewMs, kGraceMs, true), 2);
  EXPECT_EQ(slot.losses_size(), 0);
}

TEST(Forget, AnOldGenerationGoesAndALaterOneStaysWithItsLosses) {
  Slot slot = SlotOf({Success("c", "eu", 0, 24), Success("d", "us", 0, 24),
                      Success("a", "eu", 100, 124), Success("b", "us", 100, 124)});
  RecordLosses(slot, NewLosses(slot, "us"));
  ASSERT_EQ(slot.losses_size(), 2);
  EXPECT_EQ(Forget(slot, 130, kSkewMs, kGraceMs, true), 2);
  ASSERT_EQ(slot.claims_size(), 2);
  EXPECT_EQ(slot.claims(0).run_id(), "a");
  EXPECT_EQ(slot.claims(1).run_id(), "b");
  ASSERT_EQ(slot.losses_size(), 1);
  EXPECT_EQ(slot.losses(0).run_id(), "b");
}

TEST(Forget, WhatNeverExpiresStays) {
  Claim forever = Success("a", "eu", 0, kNeverMs);
  Claim pending = Pending("b", "eu", 0, 10);
  pending.set_retention_ms(0);
  Slot slot = SlotOf({forever, pending, MakeClaim("c", "eu", static_cast<ClaimState>(99), 0, 1)});
  EXPECT_EQ(Forget(slot, kNeverMs - 1, 0, 0, true), 0);
  EXPECT_EQ(slot.claims_size(), 3);
  Slot endless_grace = SlotOf({Success("a", "eu", 0, 24)});
  EXPECT_EQ(Forget(endless_grace, kNeverMs - 1, kSkewMs, kNeverMs, true), 0);
}

TEST(Forget, ASupersededMarkerGoesWithItsWinner) {
  Slot slot = SlotOf({Pending("b", "eu", 20, 30), Success("a", "us", 0, 24)});
  ASSERT_EQ(Supersede(slot, "eu", 26, kSkewMs), 1);
  EXPECT_EQ(Forget(slot, 24 + 104, kSkewMs, kGraceMs, true), 0);
  EXPECT_EQ(Forget(slot, 24 + 105, kSkewMs, kGraceMs, true), 2);
}

}  // namespace
}  // namespace once
