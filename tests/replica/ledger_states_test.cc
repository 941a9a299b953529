// The states of a claim, and who may move it from one to the next.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/replica/ledger_story.h"

namespace once {
namespace {

TEST(LedgerStates, OW_N_04_TheFourStatesAnswerAsTheyShould) {
  LedgerStory story;
  const Answer pending = story.Apply(BeginKey("pending"));
  EXPECT_EQ(pending.kind, Kind::kExecute);
  EXPECT_EQ(pending.claim.state(), PENDING);
  EXPECT_EQ(story.Apply(BeginKey("pending")).kind, Kind::kInFlight);

  story.Apply(SettleAs(story.Apply(BeginKey("completed")), COMPLETED, "made"));
  const Answer replay = story.Apply(BeginKey("completed"));
  EXPECT_EQ(replay.kind, Kind::kReplay);
  EXPECT_EQ(replay.outcome.body(), "made");

  story.Apply(SettleAs(story.Apply(BeginKey("terminal")), TERMINAL_FAILURE, "gone"));
  const Answer failure = story.Apply(BeginKey("terminal"));
  EXPECT_EQ(failure.kind, Kind::kReplay);
  EXPECT_EQ(failure.outcome.status(), 404u);

  story.Apply(SettleAs(story.Apply(BeginKey("retryable")), RETRYABLE));
  EXPECT_EQ(story.Apply(BeginKey("retryable")).kind, Kind::kExecute);
}

TEST(LedgerStates, OW_N_04_AFinalClaimIsImmutable) {
  for (const ClaimState final_state : {COMPLETED, TERMINAL_FAILURE}) {
    LedgerStory story;
    const Answer owned = story.Apply(BeginKey("key"));
    story.Apply(SettleAs(owned, final_state, "first"));
    for (const ClaimState later : {COMPLETED, TERMINAL_FAILURE, RETRYABLE, RELEASED})
      EXPECT_EQ(story.Apply(SettleAs(owned, later, "second")).kind, Kind::kStaleFence);
    EXPECT_EQ(story.Apply(RenewFor(owned, 1000)).kind, Kind::kStaleFence);
    EXPECT_EQ(story.Apply(BeginKey("key")).outcome.body(), "first");
  }
}

TEST(LedgerStates, ASettleSaidTwiceIsNoConflict) {
  LedgerStory story;
  const Answer owned = story.Apply(BeginKey("key"));
  EXPECT_EQ(story.Apply(SettleAs(owned, COMPLETED, "made")).kind, Kind::kDone);
  const Answer again = story.Apply(SettleAs(owned, COMPLETED, "made"));
  EXPECT_EQ(again.kind, Kind::kReplay);
  EXPECT_EQ(again.outcome.body(), "made");
}

TEST(LedgerStates, OW_N_05_S16_AReclaimIsOneStepWithOneTaker) {
  LedgerStory story;
  const Answer dead = story.Apply(BeginKey("key"));
  story.now_ms += 30 * kSecondMs - 1;
  const Answer early = story.Apply(BeginKey("key"));
  EXPECT_EQ(early.kind, Kind::kInFlight);
  EXPECT_EQ(early.retry_after_ms, 1);
  story.now_ms += 1;
  const Answer taker = story.Apply(BeginKey("key"));
  EXPECT_EQ(taker.kind, Kind::kExecute);
  EXPECT_TRUE(taker.reclaimed);
  EXPECT_EQ(taker.claim.run_id(), dead.claim.run_id());
  EXPECT_GT(taker.claim.fence(), dead.claim.fence());
  EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kInFlight);
}

TEST(LedgerStates, OW_N_05_S17_TheLateOwnerIsFenced) {
  LedgerStory story;
  const Answer late = story.Apply(BeginKey("key"));
  story.now_ms += kHourMs;
  const Answer taker = story.Apply(BeginKey("key"));
  const Answer refused = story.Apply(SettleAs(late, COMPLETED, "late"));
  EXPECT_EQ(refused.kind, Kind::kStaleFence);
  EXPECT_EQ(refused.claim.fence(), taker.claim.fence());
  EXPECT_EQ(story.Apply(RenewFor(late, kHourMs)).kind, Kind::kStaleFence);
  EXPECT_EQ(story.Apply(SettleAs(taker, COMPLETED, "taker")).kind, Kind::kDone);
  EXPECT_EQ(story.Apply(SettleAs(late, COMPLETED, "late")).kind, Kind::kStaleFence);
  EXPECT_EQ(story.Apply(BeginKey("key")).outcome.body(), "taker");
}

TEST(LedgerStates, ASlowOwnerWhoseLeaseNobodyTookStillCompletes) {
  LedgerStory story;
  const Answer owned = story.Apply(BeginKey("key"));
  story.now_ms += kHourMs;
  EXPECT_EQ(story.Apply(SettleAs(owned, COMPLETED)).kind, Kind::kDone);
  EXPECT_EQ(story.ClaimOf("key")->expires_ms(), story.now_ms + kDayMs) << "its full retention";
}

TEST(LedgerStates, ARenewedLeaseRunsFromTheRenewal) {
  LedgerStory story;
  const Answer owned = story.Apply(BeginKey("key"));
  story.now_ms += 20 * kSecondMs;
  EXPECT_EQ(story.Apply(RenewFor(owned, 60 * kSecondMs)).kind, Kind::kDone);
  story.now_ms += 59 * kSecondMs;
  EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kInFlight);
  story.now_ms += 1 * kSecondMs;
  EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kExecute);
}

TEST(LedgerStates, OW_N_07_InFlightWhileItRunsMismatchOnceItIsSettled) {
  LedgerStory story;
  const Answer owned = story.Apply(BeginKey("key"));
  EXPECT_EQ(story.Apply(BeginKey("key", {.body = "other"})).kind, Kind::kInFlight);
  story.Apply(SettleAs(owned, COMPLETED, "made"));
  const Answer mismatch = story.Apply(BeginKey("key", {.body = "other"}));
  EXPECT_EQ(mismatch.kind, Kind::kMismatch);
  EXPECT_TRUE(mismatch.mismatched);
  EXPECT_EQ(mismatch.outcome.body(), "") << "never the stored answer";
}

TEST(LedgerStates, CM_03_ObserveAndOffReplayButCount) {
  LedgerStory story;
  story.Apply(SettleAs(story.Apply(BeginKey("key")), COMPLETED, "made"));
  for (const MismatchPolicy policy : {OBSERVE, OFF}) {
    const Answer answer = story.Apply(BeginKey("key", {.body = "other", .mismatch = policy}));
    EXPECT_EQ(answer.kind, Kind::kReplay);
    EXPECT_TRUE(answer.mismatched);
    EXPECT_EQ(answer.outcome.body(), "made");
  }
}

TEST(LedgerStates, ARetryableClaimBelongsToItsRequest) {
  LedgerStory story;
  story.Apply(SettleAs(story.Apply(BeginKey("key")), RETRYABLE));
  EXPECT_EQ(story.Apply(BeginKey("key", {.body = "other"})).kind, Kind::kMismatch);
  EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kExecute);
}

TEST(LedgerStates, CM_03_ARequestThatThePolicyLetsThroughGetsAClaimOfItsOwn) {
  for (const MismatchPolicy policy : {OBSERVE, OFF}) {
    for (const bool lease_over : {false, true}) {
      LedgerStory story;
      const Answer first = story.Apply(BeginKey("key"));
      if (lease_over)
        story.now_ms += 30 * kSecondMs;
      else
        story.Apply(SettleAs(first, RETRYABLE));
      const Answer other = story.Apply(BeginKey("key", {.body = "other", .mismatch = policy}));
      EXPECT_EQ(other.kind, Kind::kExecute);
      EXPECT_TRUE(other.mismatched);
      EXPECT_EQ(other.reclaimed, lease_over);
      EXPECT_NE(other.claim.run_id(), first.claim.run_id());
      EXPECT_EQ(story.Apply(SettleAs(first, COMPLETED, "late")).kind, Kind::kStaleFence);
      story.Apply(SettleAs(other, COMPLETED, "made"));
      const Answer again = story.Apply(BeginKey("key", {.body = "other"}));
      EXPECT_EQ(again.kind, Kind::kReplay) << "what ran belongs to the request that ran";
      EXPECT_EQ(again.outcome.body(), "made");
      EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kMismatch);
    }
  }
}

TEST(LedgerStates, AClaimThatLostItsKeyToAnotherRequestIsReleasedOneStepOn) {
  LedgerStory story;
  const Answer first = story.Apply(BeginKey("key"));
  story.Apply(SettleAs(first, RETRYABLE));
  std::set<std::string> told;
  story.tables().SetShipper(
      [&](const Tables::Shipment& shipment) {
        for (const auto& [hash, run_id] : shipment) told.insert(run_id);
      },
      [] {});
  const Answer other = story.Apply(BeginKey("key", {.body = "other", .mismatch = OFF}));
  story.Flush();
  EXPECT_EQ(told, (std::set{first.claim.run_id(), other.claim.run_id()})) << "to other regions";
  const Slot& slot = *story.tables().FindSlot(HashOfKey("key"));
  ASSERT_EQ(slot.claims_size(), 2);
  const Claim& closed = slot.claims(slot.claims(0).run_id() == first.claim.run_id() ? 0 : 1);
  EXPECT_EQ(closed.state(), RELEASED);
  EXPECT_EQ(closed.version(), first.claim.version() + 2);
  EXPECT_EQ(closed.fingerprint(), "body");
  EXPECT_FALSE(closed.has_outcome());
}

TEST(LedgerStates, AnotherTenantsClaimLooksLikeNone) {
  LedgerStory story;
  const Answer owned = story.Apply(BeginKey("key"));
  Command settle = SettleAs(owned, COMPLETED);
  settle.mutable_settle()->set_tenant("mallory");
  EXPECT_EQ(story.Apply(settle).kind, Kind::kNotFound);
  Command renew = RenewFor(owned, 1000);
  renew.mutable_renew()->set_tenant("mallory");
  EXPECT_EQ(story.Apply(renew).kind, Kind::kNotFound);
}

TEST(LedgerStates, FencesRiseOverAllKeysAndRestarts) {
  LedgerStory story;
  std::uint64_t last = 0;
  for (int i = 0; i < 50; ++i) {
    const Answer owned = story.Apply(BeginKey("key-" + std::to_string(i % 7)));
    ASSERT_EQ(owned.kind, Kind::kExecute);
    ASSERT_GT(owned.claim.fence(), last);
    last = owned.claim.fence();
    if (i % 10 == 9) story.Restart();
    story.now_ms += kHourMs;  // every lease is over: every begin takes up
  }
}

TEST(LedgerStates, TimeNeverFallsInTheLedger) {
  LedgerStory story;
  const Answer first = story.Apply(BeginKey("a"));
  story.now_ms -= kHourMs;
  const Answer second = story.Apply(BeginKey("b"));
  EXPECT_EQ(second.claim.created_ms(), first.claim.created_ms());
  EXPECT_EQ(story.Apply(BeginKey("a")).kind, Kind::kInFlight);
}

}  // namespace
}  // namespace once
