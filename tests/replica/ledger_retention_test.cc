// How long the ledger remembers, and what it gives up for space.
#include <gtest/gtest.h>

#include "conflict/forget.h"
#include "conflict/window.h"
#include "replica/ledger/run_id.h"
#include "replica/limits.h"
#include "tests/replica/ledger_story.h"

namespace once {
namespace {

void Complete(LedgerStory& story, const std::string& key, const BeginWith& with = {}) {
  story.Apply(SettleAs(story.Apply(BeginKey(key, with)), COMPLETED, "made"));
}

LedgerOptions AtMost(std::uint64_t slots, bool evict) {
  LedgerOptions options;
  options.slots_max = slots;
  options.evict_oldest = evict;
  return options;
}

TEST(LedgerRetention, OW_L1_07_OneSecondBeforeADayItStillReplaysAlsoAfterARestart) {
  for (const bool restart : {false, true}) {
    LedgerStory story;
    Complete(story, "key");
    story.now_ms += kDayMs - kSecondMs;
    if (restart) story.Restart();
    story.Apply(ExpireUpTo(100));
    EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kReplay);
  }
}

TEST(LedgerRetention, OW_L1_07_NeverExpiredEarlyByTheSkewBound) {
  LedgerStory story;
  Complete(story, "key");
  story.now_ms += kDayMs + kSkewMs - 1;
  story.Apply(ExpireUpTo(100));
  EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kReplay);
  story.now_ms += 1;
  const Answer fresh = story.Apply(BeginKey("key"));
  EXPECT_EQ(fresh.kind, Kind::kExecute);
  EXPECT_EQ(fresh.claim.tries(), 1u);
}

TEST(LedgerRetention, OW_L1_07_ALateCompletionHasItsFullRetention) {
  LedgerStory story;
  const Answer owned = story.Apply(BeginKey("key", {.lease_ms = kHourMs, .retention_ms = kDayMs}));
  story.now_ms += 20 * kHourMs;
  story.Apply(SettleAs(owned, COMPLETED));
  story.now_ms += kDayMs - kSecondMs;
  story.Apply(ExpireUpTo(100));  // the index entry was made for the begin and is due
  EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kReplay);
  story.now_ms += kHourMs;
  EXPECT_EQ(story.Apply(ExpireUpTo(100)).expired, 1u) << "it was put where the end is";
}

TEST(LedgerRetention, WhatAMemberMayLackIsNotForgotten) {
  LedgerStory story;
  Complete(story, "key", {.retention_ms = kHourMs});
  const std::string run = story.Apply(CreateRunUnder("", "noop")).run_id;
  story.ApplyAt(CancelRunUnder("", run), {story.now_ms, {}, 0});
  const std::int64_t changed_ms = story.now_ms;
  story.now_ms += 30 * kDayMs;
  const auto expire = [&](std::int64_t covered_ms) {
    return story.ApplyAt(ExpireUpTo(100), {story.now_ms, {}, covered_ms}).expired;
  };
  EXPECT_EQ(expire(changed_ms - 1), 0u);
  EXPECT_NE(story.tables().FindSlot(HashOfKey("key")), nullptr);
  EXPECT_TRUE(story.tables().FindRun(run).has_value());
  // A begin does not forget it either.
  story.ApplyAt(BeginKey("key"), {story.now_ms, {}, changed_ms - 1});
  EXPECT_EQ(story.tables().FindSlot(HashOfKey("key"))->claims_size(), 2);
  story.now_ms += 30 * kDayMs;
  EXPECT_EQ(expire(story.now_ms), 2u);
  EXPECT_FALSE(story.tables().FindRun(run).has_value());
}

TEST(LedgerRetention, WhatArrivesAfterItsEndIsKeptUntilOthersHaveItToo) {
  LedgerStory story;
  Command merge;
  Change& change = *merge.mutable_merge_frame()->mutable_frame()->add_changes();
  change.set_surface(CLAIM);
  change.set_tenant("acme");
  change.set_endpoint("pay");
  change.set_key("key");
  Claim& claim = *change.mutable_claim();
  claim.set_run_id(MintRunId(story.now_ms, "us", 1));
  claim.set_region("us");
  claim.set_version(2);
  claim.set_state(COMPLETED);
  claim.set_created_ms(story.now_ms);
  claim.set_taken_up_ms(story.now_ms);
  claim.set_finalised_ms(story.now_ms);
  claim.set_expires_ms(story.now_ms + kHourMs);
  story.now_ms += 30 * kDayMs;
  story.Apply(merge);
  const std::int64_t before_ms = story.now_ms - 1;
  story.now_ms += kDayMs;
  EXPECT_EQ(story.ApplyAt(ExpireUpTo(100), {story.now_ms, {}, before_ms}).expired, 0u);
  EXPECT_EQ(story.ApplyAt(ExpireUpTo(100), {story.now_ms, {}, story.now_ms}).expired, 1u);
}

TEST(LedgerRetention, S_31_AStateThatThisBuildDoesNotKnowIsKept) {
  Slot slot;
  slot.add_claims()->set_state(static_cast<ClaimState>(42));
  slot.mutable_claims(0)->set_expires_ms(5);
  EXPECT_EQ(LatestEnd(slot), kNeverMs);
  slot.mutable_claims(0)->set_state(RETRYABLE);
  EXPECT_EQ(LatestEnd(slot), 5);
}

TEST(LedgerRetention, TheExpirerForgetsAllThatIsOverAndNoMore) {
  LedgerStory story;
  Complete(story, "a", {.retention_ms = kHourMs});
  Complete(story, "b", {.retention_ms = 2 * kHourMs});
  const Answer abandoned = story.Apply(BeginKey("c", {.retention_ms = kHourMs}));
  story.now_ms += kHourMs + 40 * kSecondMs;
  EXPECT_EQ(story.Apply(ExpireUpTo(100)).expired, 2u);
  EXPECT_EQ(story.Apply(SettleAs(abandoned, COMPLETED)).kind, Kind::kNotFound);
  EXPECT_EQ(story.tables().head().slots(), 1u);
  story.now_ms += kHourMs;
  EXPECT_EQ(story.Apply(ExpireUpTo(100)).expired, 1u);
  EXPECT_EQ(story.tables().head().slots(), 0u);
  EXPECT_EQ(story.tables().head().slot_bytes(), 0u);
  EXPECT_TRUE(story.tables().expiry().Oldest(keys::Expiring::kSlot, INT64_MAX - 1, 10).empty());
}

TEST(LedgerRetention, TheExpirerSaysWhenMoreIsDue) {
  LedgerStory story;
  for (int i = 0; i < 5; ++i)
    Complete(story, "key-" + std::to_string(i), {.retention_ms = kHourMs});
  story.now_ms += 2 * kHourMs;
  EXPECT_TRUE(story.Apply(ExpireUpTo(3)).more);
  const Answer rest = story.Apply(ExpireUpTo(3));
  EXPECT_FALSE(rest.more);
  EXPECT_EQ(rest.expired, 2u);
}

TEST(LedgerRetention, CK_05_NeverExpiresMeansNever) {
  LedgerStory story;
  Complete(story, "key", {.retention_ms = 0});
  story.now_ms += 1000 * 366 * kDayMs;
  story.Restart();
  EXPECT_EQ(story.Apply(ExpireUpTo(100)).expired, 0u);
  EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kReplay);
}

TEST(LedgerRetention, CK_05_APendingClaimThatNeverExpiresIsReclaimedNotReplaced) {
  LedgerStory story;
  const Answer owned = story.Apply(BeginKey("key", {.retention_ms = 0}));
  story.now_ms += 366 * kDayMs;
  story.Apply(ExpireUpTo(100));
  const Answer taker = story.Apply(BeginKey("key", {.retention_ms = 0}));
  EXPECT_TRUE(taker.reclaimed);
  EXPECT_EQ(taker.claim.run_id(), owned.claim.run_id());
}

TEST(LedgerRetention, AReleasedClaimDoesNotStayForEver) {
  for (const std::int64_t retention_ms : {std::int64_t{0}, 100 * kDayMs}) {
    LedgerStory story;
    const BeginWith with{.retention_ms = retention_ms};
    story.Apply(SettleAs(story.Apply(BeginKey("key", with)), RELEASED));
    story.now_ms += 2 * kHourMs;
    EXPECT_EQ(story.Apply(ExpireUpTo(100)).expired, 1u);
    EXPECT_EQ(story.tables().head().slots(), 0u);
  }
}

TEST(LedgerRetention, AClaimTakenUpWithAShorterRetentionLeavesTheIndexOfNever) {
  LedgerStory story;
  story.Apply(SettleAs(story.Apply(BeginKey("key", {.retention_ms = 0})), RETRYABLE));
  Complete(story, "key", {.retention_ms = kHourMs});
  story.now_ms += 3 * kHourMs;
  EXPECT_EQ(story.Apply(ExpireUpTo(100)).expired, 1u);
  EXPECT_EQ(story.tables().head().slots(), 0u);
}

TEST(LedgerRetention, ARetryableClaimIsClosedAfterItsRetention) {
  LedgerStory story;
  const Answer first = story.Apply(BeginKey("key", {.retention_ms = kHourMs}));
  story.Apply(SettleAs(first, RETRYABLE));
  story.now_ms += kHourMs + kSkewMs;
  const Answer next = story.Apply(BeginKey("key", {.body = "other"}));
  EXPECT_EQ(next.kind, Kind::kExecute);
  EXPECT_NE(next.claim.run_id(), first.claim.run_id());
}

TEST(LedgerRetention, OW_L1_08_TheOldestGoesFirstAndTheNewestStays) {
  LedgerStory story(AtMost(3, true));
  for (const char* key : {"a", "b", "c", "d"}) {
    Complete(story, key);
    story.now_ms += kSecondMs;
  }
  EXPECT_EQ(story.tables().head().slots(), 3u);
  EXPECT_FALSE(story.ClaimOf("a"));
  for (const char* key : {"b", "c", "d"}) EXPECT_EQ(story.Apply(BeginKey(key)).kind, Kind::kReplay);
}

TEST(LedgerRetention, OW_L1_09_AfterEvictionTheDuplicateIsFresh) {
  LedgerStory story(AtMost(1, true));
  const Answer first = story.Apply(BeginKey("a"));
  story.Apply(SettleAs(first, COMPLETED));
  const Answer other = story.Apply(BeginKey("b"));
  EXPECT_EQ(other.evicted, 1u);
  story.Apply(SettleAs(other, COMPLETED));
  const Answer again = story.Apply(BeginKey("a"));
  EXPECT_EQ(again.kind, Kind::kExecute);
  EXPECT_NE(again.claim.run_id(), first.claim.run_id());
}

TEST(LedgerRetention, OW_L1_08_AClaimInWorkIsNeverEvicted) {
  LedgerStory story(AtMost(2, true));
  const Answer working = story.Apply(BeginKey("working"));
  story.now_ms += kHourMs;  // not even when its lease is over
  Complete(story, "settled");
  Complete(story, "next");
  EXPECT_TRUE(story.ClaimOf("working"));
  EXPECT_FALSE(story.ClaimOf("settled"));
  EXPECT_EQ(story.Apply(SettleAs(working, COMPLETED)).kind, Kind::kDone);
}

TEST(LedgerRetention, OW_L1_08_OfDifferentRetentionsTheOneThatEndsFirstGoes) {
  LedgerStory story(AtMost(2, true));
  Complete(story, "older", {.retention_ms = 10 * kDayMs});
  story.now_ms += kHourMs;
  Complete(story, "newer", {.retention_ms = kDayMs});
  Complete(story, "next", {.retention_ms = kDayMs});
  EXPECT_TRUE(story.ClaimOf("older"));
  EXPECT_FALSE(story.ClaimOf("newer"));
}

TEST(LedgerRetention, OW_L1_08_WhatIsSettledIsFoundBehindAnyNumberOfClaimsInWork) {
  constexpr int kWorking = 5000;
  LedgerStory story(AtMost(kWorking + 2, true));
  for (int i = 0; i < kWorking; ++i) story.Apply(BeginKey("working-" + std::to_string(i)));
  story.now_ms += kSecondMs;
  Complete(story, "settled-0");
  Complete(story, "settled-1");
  Answer answer = story.Apply(BeginKey("new-0"));
  for (int tries = 0; tries < kWorking / 1000 + 1 && answer.kind == Kind::kFull; ++tries) {
    EXPECT_TRUE(answer.more) << "it has not looked at everything";
    answer = story.Apply(BeginKey("new-0"));
  }
  EXPECT_EQ(answer.kind, Kind::kExecute);
  EXPECT_EQ(answer.evicted, 1u);
  EXPECT_EQ(story.Apply(BeginKey("new-1")).kind, Kind::kExecute) << "it goes on where it was";
}

TEST(LedgerRetention, OW_L1_08_FullIsSaidOnlyAfterEverySlotWasSeenInWork) {
  constexpr int kWorking = 3000;
  LedgerStory story(AtMost(kWorking, true));
  Answer first;
  for (int i = 0; i < kWorking; ++i) {
    const Answer owned = story.Apply(BeginKey("working-" + std::to_string(i)));
    if (i == 500) first = owned;
    ++story.now_ms;
  }
  int unfinished = 0;
  while (story.Apply(BeginKey("new")).more) ++unfinished;
  EXPECT_GE(unfinished, 1);
  EXPECT_LE(unfinished, 4);
  EXPECT_TRUE(story.Apply(BeginKey("new")).more);
  story.Apply(SettleAs(first, COMPLETED));  // behind where the scan has got to
  Answer answer;
  for (int tries = 0; tries < 8 && answer.kind != Kind::kExecute; ++tries) {
    answer = story.Apply(BeginKey("new"));
    EXPECT_TRUE(answer.kind == Kind::kExecute || answer.more) << "a wrong 507";
  }
  EXPECT_EQ(answer.evicted, 1u);
}

TEST(LedgerRetention, OW_L1_08_ClaimsThatNeverExpireGoInOrderOfAge) {
  LedgerStory story(AtMost(2, true));
  for (const char* key : {"a", "b", "c"}) {
    Complete(story, key, {.retention_ms = 0});
    story.now_ms += kSecondMs;
  }
  EXPECT_FALSE(story.ClaimOf("a"));
  EXPECT_TRUE(story.ClaimOf("b"));
}

TEST(LedgerRetention, RunsThatWillExpireDoNotHideTheSlotsToEvict) {
  LedgerStory story(AtMost(1, true));
  Complete(story, "old", {.retention_ms = 0});
  for (int i = 0; i < 1100; ++i) {
    const Answer made = story.Apply(CreateRunUnder("", "delay", kHourMs));
    story.Apply(CancelRunUnder("", made.run_id));
  }
  EXPECT_EQ(story.Apply(BeginKey("new")).kind, Kind::kExecute);
}

TEST(LedgerRetention, AtTheBoundWithoutEvictionANewKeyIsRefusedAndNothingIsLost) {
  LedgerStory story(AtMost(2, false));
  Complete(story, "a", {.retention_ms = kHourMs});
  const Answer owned = story.Apply(BeginKey("b"));
  EXPECT_EQ(story.Apply(BeginKey("c")).kind, Kind::kFull);
  EXPECT_EQ(story.tables().head().slots(), 2u);
  EXPECT_EQ(story.Apply(BeginKey("a")).kind, Kind::kReplay);
  EXPECT_EQ(story.Apply(SettleAs(owned, COMPLETED)).kind, Kind::kDone);
  story.now_ms += 2 * kHourMs;
  const Answer room = story.Apply(BeginKey("c"));
  EXPECT_EQ(room.kind, Kind::kExecute) << "what has expired makes room";
  EXPECT_EQ(room.expired, 1u);
}

TEST(LedgerRetention, TheBoundOfBytesHoldsToo) {
  LedgerOptions options;
  options.slot_bytes_max = 2000;
  LedgerStory story(options);
  int admitted = 0;
  while (admitted < 100 &&
         story.Apply(BeginKey("key-" + std::to_string(admitted))).kind == Kind::kExecute)
    ++admitted;
  EXPECT_GT(admitted, 1);
  EXPECT_LT(admitted, 30);
  EXPECT_LT(story.tables().head().slot_bytes(), 2500u);
}

TEST(LedgerRetention, TheBoundOfBytesHoldsForASlotThatGrows) {
  LedgerOptions options;
  options.slot_bytes_max = 2000;
  LedgerStory story(options);
  Answer answer = story.Apply(BeginKey("key"));
  for (int round = 0; round < 100 && answer.kind == Kind::kExecute; ++round) {
    story.Apply(SettleAs(answer, RELEASED));
    answer = story.Apply(BeginKey("key"));
  }
  EXPECT_EQ(answer.kind, Kind::kFull);
  EXPECT_LT(story.tables().head().slot_bytes(), 2500u);
  story.now_ms += kHourMs;
  EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kExecute) << "what has expired makes room";
}

TEST(LedgerRetention, ASlotThatGrowsMayItselfBeWhatIsEvicted) {
  LedgerOptions options;
  options.slot_bytes_max = 2000;
  options.evict_oldest = true;
  LedgerStory story(options);
  for (int round = 0; round < 100; ++round) {
    const Answer owned = story.Apply(BeginKey("key"));
    ASSERT_EQ(owned.kind, Kind::kExecute);
    story.Apply(SettleAs(owned, RELEASED));
    ASSERT_LT(story.tables().head().slot_bytes(), 2500u);
  }
}

TEST(LedgerRetention, AKeyThatIsGivenBackAgainAndAgainHoldsABoundedNumberOfClaims) {
  LedgerStory story;
  std::size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const Answer answer = story.Apply(BeginKey("key"));
    if (answer.kind == Kind::kExecute) story.Apply(SettleAs(answer, RELEASED));
    if (answer.kind == Kind::kCrowded) ++refused;
  }
  EXPECT_EQ(refused, 3000 - kSlotClaimsMax);
  const Slot& slot = *story.tables().FindSlot(HashOfKey("key"));
  EXPECT_EQ(static_cast<std::size_t>(slot.claims_size()), kSlotClaimsMax);
}

TEST(LedgerRetention, ARefusedBeginChangesNothingAndSaysWhenToComeBack) {
  LedgerStory story;
  for (std::size_t round = 0; round < kSlotClaimsMax; ++round)
    story.Apply(SettleAs(story.Apply(BeginKey("key")), RELEASED));
  const std::string before = story.tables().FindSlot(HashOfKey("key"))->SerializeAsString();
  const Answer refused = story.Apply(BeginKey("key"));
  EXPECT_EQ(refused.kind, Kind::kCrowded);
  EXPECT_EQ(refused.retry_after_ms, 30 * kSecondMs + kSkewMs);
  EXPECT_EQ(story.tables().FindSlot(HashOfKey("key"))->SerializeAsString(), before);
  story.now_ms += refused.retry_after_ms;
  EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kExecute);
}

TEST(LedgerRetention, ACrowdedKeyStillReplaysAndIsStillTakenUp) {
  LedgerStory story;
  for (std::size_t round = 0; round + 1 < kSlotClaimsMax; ++round)
    story.Apply(SettleAs(story.Apply(BeginKey("key")), RELEASED));
  story.Apply(SettleAs(story.Apply(BeginKey("key")), RETRYABLE));
  EXPECT_EQ(story.Apply(BeginKey("key", {.body = "other", .mismatch = OFF})).kind, Kind::kCrowded);
  const Answer taken_up = story.Apply(BeginKey("key"));
  EXPECT_EQ(taken_up.kind, Kind::kExecute);
  EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kInFlight);
  story.Apply(SettleAs(taken_up, COMPLETED, "made"));
  EXPECT_EQ(story.Apply(BeginKey("key")).outcome.body(), "made");
}

TEST(LedgerRetention, WhatOtherRegionsTellOfIsKeptBeyondTheBoundOfASlot) {
  LedgerStory story;
  Command command;
  Frame& frame = *command.mutable_merge_frame()->mutable_frame();
  const SlotRef slot = SlotOfKey("key");
  for (std::size_t i = 0; i <= kSlotClaimsMax; ++i) {
    Change& change = *frame.add_changes();
    change.set_surface(slot.surface());
    change.set_tenant(slot.tenant());
    change.set_endpoint(slot.endpoint());
    change.set_key(slot.key());
    Claim& claim = *change.mutable_claim();
    claim.set_run_id(MintRunId(story.now_ms, "us", i));
    claim.set_region("us");
    claim.set_version(2);
    claim.set_state(RELEASED);
    claim.set_finalised_ms(story.now_ms);
  }
  story.Apply(command);
  EXPECT_EQ(story.tables().FindSlot(slot.hash())->claims_size(),
            static_cast<int>(kSlotClaimsMax) + 1);
  EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kExecute) << "they are not this region's";
}

TEST(LedgerRetention, S20_ALeaseRestartsInFullAtBoot) {
  LedgerStory story;
  const Answer owned = story.Apply(BeginKey("key"));
  story.now_ms += kHourMs;
  story.Restart();
  const Answer waiting = story.Apply(BeginKey("key"));
  EXPECT_EQ(waiting.kind, Kind::kInFlight);
  EXPECT_EQ(waiting.retry_after_ms, 30 * kSecondMs);
  EXPECT_EQ(story.Apply(SettleAs(owned, COMPLETED)).kind, Kind::kDone);
}

TEST(LedgerRetention, ALeaseRestartsInFullAlsoAfterADowntimeBeyondItsRetention) {
  for (const bool expire_first : {false, true}) {
    LedgerStory story;
    const Answer owned = story.Apply(BeginKey("key", {.retention_ms = 60 * kSecondMs}));
    story.now_ms += kHourMs;
    story.Restart();
    if (expire_first) {
      EXPECT_EQ(story.Apply(ExpireUpTo(100)).expired, 0u);
    }
    EXPECT_EQ(story.Apply(BeginKey("key")).kind, Kind::kInFlight);
    story.now_ms += 30 * kSecondMs;
    const Answer taker = story.Apply(BeginKey("key"));
    EXPECT_TRUE(taker.reclaimed);
    EXPECT_EQ(taker.claim.run_id(), owned.claim.run_id());
  }
}

}  // namespace
}  // namespace once
