// Which outcomes of the routes are kept, and which let the same key try again.
#include <gtest/gtest.h>

#include "replica/ledger/effects.h"
#include "replica/ledger/run_id.h"
#include "tests/replica/ledger_story.h"

namespace once {
namespace {

TEST(LedgerOutcomes, ARunIsNotOlderThanItsIdAlsoAfterALostDirectory) {
  LedgerStory before;
  before.now_ms += 300;
  const Answer first = before.Apply(RefusedRunUnder("key", 503, 1));
  LedgerStory story;  // with a clock that is behind
  Command back;
  Change& change = *back.mutable_merge_frame()->mutable_frame()->add_changes();
  const Slot& slot = *before.tables().FindSlot(first.hash);
  *change.mutable_claim() = slot.claims(0);
  change.set_surface(slot.surface());
  change.set_tenant(slot.tenant());
  change.set_endpoint(slot.endpoint());
  change.set_key(slot.key());
  story.Apply(back);
  const Answer second = story.Apply(RefusedRunUnder("key", 503, 1));
  ASSERT_EQ(second.outcome.status(), 201u);
  ASSERT_EQ(second.run_id, first.claim.run_id());
  EXPECT_GE(story.tables().FindRun(second.run_id)->created_ms(), RunIdMillis(second.run_id));
}

TEST(LedgerOutcomes, OW_L1_12_RetryableStatusesAreNeverReplayed) {
  for (const std::uint32_t status : {408u, 425u, 429u, 500u, 502u, 503u, 504u}) {
    LedgerStory story;
    const Answer first = story.Apply(RefusedRunUnder("key", status, 2));
    EXPECT_EQ(first.kind, Kind::kDone);
    EXPECT_EQ(first.outcome.status(), status);
    const Answer second = story.Apply(RefusedRunUnder("key", status, 2));
    EXPECT_EQ(second.kind, Kind::kDone) << "OW-L1-06, OW-L1-13: executed again";
    EXPECT_EQ(second.claim.tries(), 2u);
  }
}

TEST(LedgerOutcomes, OW_L1_14_ALaterSuccessReplacesTheRetryableOutcome) {
  LedgerStory story;
  EXPECT_EQ(story.Apply(RefusedRunUnder("key", 503, 1)).outcome.status(), 503u);
  const Answer made = story.Apply(RefusedRunUnder("key", 503, 1));
  EXPECT_EQ(made.outcome.status(), 201u);
  const Answer replay = story.Apply(RefusedRunUnder("key", 503, 1));
  EXPECT_EQ(replay.kind, Kind::kReplay);
  EXPECT_EQ(replay.outcome.SerializeAsString(), made.outcome.SerializeAsString());
  EXPECT_EQ(replay.claim.run_id(), made.run_id);
}

TEST(LedgerOutcomes, OW_L1_11_ANonRetryableFailureIsFinal) {
  LedgerStory story;
  const Answer missing = story.Apply(CancelRunUnder("cancel", "no-such-run"));
  EXPECT_EQ(missing.outcome.status(), 404u);
  const Answer again = story.Apply(CancelRunUnder("cancel", "no-such-run"));
  EXPECT_EQ(again.kind, Kind::kReplay);
  EXPECT_EQ(again.outcome.status(), 404u);
}

TEST(LedgerOutcomes, OW_L1_10_ValidationAndAuthFailuresAreNotStored) {
  for (const std::uint32_t status : {400u, 401u, 403u}) {
    LedgerStory story;
    EXPECT_EQ(story.Apply(RefusedRunUnder("key", status, 1)).outcome.status(), status);
    Command valid = CreateRunUnder("key", "noop");
    valid.mutable_mutation()->mutable_begin()->set_fingerprint("the corrected body");
    const Answer fresh = story.Apply(valid);
    EXPECT_EQ(fresh.kind, Kind::kDone);
    EXPECT_EQ(fresh.outcome.status(), 201u);
  }
}

TEST(LedgerOutcomes, CK_03_AReservationThatFailedAdmissionPoisonsNoKey) {
  LedgerStory story;
  const Answer owned = story.Apply(BeginKey("key"));
  const Answer released = story.Apply(SettleAs(owned, RELEASED));
  EXPECT_EQ(released.kind, Kind::kDone);
  EXPECT_EQ(released.woken, std::vector<std::string>{HashOfKey("key")});
  const Answer next = story.Apply(BeginKey("key", {.body = "another request"}));
  EXPECT_EQ(next.kind, Kind::kExecute);
  EXPECT_NE(next.claim.run_id(), owned.claim.run_id());
  EXPECT_EQ(story.Apply(SettleAs(owned, COMPLETED)).kind, Kind::kStaleFence);
}

TEST(LedgerOutcomes, OW_L1_01_AMutationIsAdmittedExecutedAndStoredInOneStep) {
  LedgerStory story;
  const Answer made = story.Apply(CreateRunUnder("key", "noop"));
  EXPECT_EQ(made.kind, Kind::kDone);
  EXPECT_EQ(made.run_id, made.claim.run_id());
  EXPECT_EQ(made.claim.state(), COMPLETED);
  ASSERT_TRUE(story.tables().FindRun(made.run_id));
  const Answer replay = story.Apply(CreateRunUnder("key", "noop"));
  EXPECT_EQ(replay.kind, Kind::kReplay);
  EXPECT_EQ(replay.outcome.SerializeAsString(), made.outcome.SerializeAsString());
  EXPECT_EQ(story.tables().ActiveRuns().size(), 1u);
}

TEST(LedgerOutcomes, WithoutAKeyEveryRequestExecutes) {
  LedgerStory story;
  const Answer first = story.Apply(CreateRunUnder("", "noop"));
  const Answer second = story.Apply(CreateRunUnder("", "noop"));
  EXPECT_NE(first.run_id, second.run_id);
  EXPECT_EQ(story.tables().head().slots(), 0u);
}

TEST(LedgerOutcomes, AReservedMutationExecutesOnlyUnderItsFence) {
  LedgerStory story;
  Command reserve = CreateRunUnder("key", "noop");
  reserve.mutable_mutation()->set_reserve_only(true);
  const Answer reserved = story.Apply(reserve);
  EXPECT_EQ(reserved.kind, Kind::kExecute);
  EXPECT_EQ(story.Apply(CreateRunUnder("key", "noop")).kind, Kind::kInFlight);
  story.now_ms += kHourMs;
  const Answer taker = story.Apply(reserve);
  Command admitted = CreateRunUnder("key", "noop");
  admitted.mutable_mutation()->set_admitted_fence(reserved.claim.fence());
  EXPECT_EQ(story.Apply(admitted).kind, Kind::kStaleFence);
  EXPECT_TRUE(story.tables().ActiveRuns().empty());
  admitted.mutable_mutation()->set_admitted_fence(taker.claim.fence());
  EXPECT_EQ(story.Apply(admitted).kind, Kind::kDone);
  EXPECT_EQ(story.Apply(admitted).kind, Kind::kStaleFence) << "the effect happens once";
  EXPECT_EQ(story.tables().ActiveRuns().size(), 1u);
}

TEST(LedgerOutcomes, EveryStatusHasItsState) {
  EXPECT_EQ(StateFor(200), COMPLETED);
  EXPECT_EQ(StateFor(204), COMPLETED);
  EXPECT_EQ(StateFor(303), COMPLETED);
  for (const std::uint32_t status : {404u, 409u, 410u, 422u})
    EXPECT_EQ(StateFor(status), TERMINAL_FAILURE);
  for (const std::uint32_t status : {400u, 401u, 403u}) EXPECT_EQ(StateFor(status), RELEASED);
  for (const std::uint32_t status : {408u, 425u, 429u, 500u, 501u, 599u})
    EXPECT_EQ(StateFor(status), RETRYABLE);
}

}  // namespace
}  // namespace once
