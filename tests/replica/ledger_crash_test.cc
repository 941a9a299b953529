// Crashes, bad disks and bad clocks: what was acknowledged is there afterwards.
#include <gtest/gtest.h>

#include "tests/replica/node_story.h"

namespace once {
namespace {

// What a caller was told, and what must therefore be true after any crash.
struct Told {
  std::map<std::string, Answer> owned;
  std::map<std::string, std::string> completed;  // key -> stored body
  std::map<std::string, std::string> runs;       // key -> run id
};

void Tell(NodeStory& node, Told& told, const std::string& key) {
  node.replica->Submit(BeginKey(key), [&node, &told, key](const Answer& begun) {
    if (begun.kind != Kind::kExecute) return;
    told.owned[key] = begun;
    const Command settle = SettleAs(begun, COMPLETED, "made for " + key);
    node.replica->Submit(settle, [&told, key](const Answer& settled) {
      if (settled.kind == Kind::kDone) told.completed[key] = settled.outcome.body();
    });
  });
  node.replica->Submit(CreateRunUnder("run-" + key, "append"), [&told, key](const Answer& made) {
    if (made.kind == Kind::kDone) told.runs["run-" + key] = made.run_id;
  });
}

void CheckTold(NodeStory& node, const Told& told) {
  ASSERT_EQ(node.started, true);
  for (const auto& [key, body] : told.completed) {
    const Answer replay = node.Ask(BeginKey(key));
    ASSERT_EQ(replay.kind, Kind::kReplay) << key;
    ASSERT_EQ(replay.outcome.body(), body);
  }
  for (const auto& [key, owned] : told.owned) {
    const Answer again = node.Ask(BeginKey(key));
    ASSERT_NE(again.kind, Kind::kExecute) << key << ": two owners";
    ASSERT_EQ(again.claim.run_id(), owned.claim.run_id());
    ASSERT_EQ(again.claim.fence(), owned.claim.fence());
  }
  for (const auto& [key, run_id] : told.runs) {
    ASSERT_EQ(node.Ask(CreateRunUnder(key, "append")).kind, Kind::kReplay) << key;
    ASSERT_EQ(node.RunOf(run_id)->status(), RUN_COMPLETED);
    ASSERT_EQ(node.EventsOf(run_id),
              (std::vector<std::string>{"run.started", "channel.written", "channel.written",
                                        "run.completed"}));
  }
}

TEST(LedgerCrash, S18_AcknowledgedImpliesDurableWhereverTheCrashFalls) {
  std::size_t acknowledged = 0;
  for (int crash_after = 0; crash_after < 60; ++crash_after) {
    for (const std::uint64_t seed : {0u, 1u, 2u}) {
      NodeStory node;
      node.disk.SetSyncDelay(3);
      Told told;
      for (int i = 0; i < 4; ++i)
        node.scheduler->After(2 * i, [&node, &told, i] { Tell(node, told, std::to_string(i)); });
      for (int i = 0; i < crash_after; ++i) node.scheduler->RunOne();
      Random random(seed);
      seed == 0 ? node.Crash() : node.CrashKeepingSome(random);
      node.disk.SetSyncDelay(0);
      node.Boot();
      ASSERT_NO_FATAL_FAILURE(CheckTold(node, told)) << crash_after << " " << seed;
      acknowledged += told.completed.size() + told.runs.size();
    }
  }
  EXPECT_GT(acknowledged, 100u) << "the crashes must fall after some acknowledgements too";
}

TEST(LedgerCrash, S18_ADuplicateIsNotAnsweredBeforeTheFirstIsDurable) {
  Config config;
  config.hot_bytes_max = 0;
  NodeStory node(config);
  node.disk.SetSyncDelay(10);
  const auto first = node.Submit(CreateRunUnder("key", "noop"));
  node.scheduler->RunFor(1);  // written, not synced
  for (int i = 0; i < 20; ++i) node.Submit(BeginKey("other-" + std::to_string(i)));
  const auto duplicate = node.Submit(CreateRunUnder("key", "noop"));
  EXPECT_FALSE(duplicate->has_value());
  node.scheduler->RunFor(8);
  EXPECT_FALSE(duplicate->has_value());
  node.scheduler->RunFor(1);
  ASSERT_TRUE(first->has_value());
  ASSERT_TRUE(duplicate->has_value());
  EXPECT_EQ((*duplicate)->kind, Kind::kReplay);
}

TEST(LedgerCrash, S18_AnAnswerThatRestsOnAnotherChangeWaitsForItToo) {
  NodeStory node;
  const std::string run_id = node.Ask(CreateRunUnder("", "delay", kHourMs)).run_id;
  node.disk.SetSyncDelay(10);
  node.Submit(CancelRunUnder("", run_id));
  node.scheduler->RunFor(1);  // written, not synced
  const auto second = node.Submit(CancelRunUnder("", run_id));
  EXPECT_FALSE(second->has_value()) << "already cancelled, but a crash could take that back";
  node.scheduler->RunFor(10);
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ((*second)->outcome.status(), 200u);
}

TEST(LedgerCrash, S16_ACrashedOwnersKeyIsHeldForAFullLeaseThenTakenOnce) {
  NodeStory node;
  const Answer dead = node.Ask(BeginKey("key"));
  node.scheduler->RunFor(29 * kSecondMs);
  node.CrashAndBoot(10 * kSecondMs);
  EXPECT_EQ(node.Ask(BeginKey("key")).kind, Kind::kInFlight);
  node.scheduler->RunFor(30 * kSecondMs);
  const Answer taker = node.Ask(BeginKey("key"));
  EXPECT_TRUE(taker.reclaimed);
  EXPECT_GT(taker.claim.fence(), dead.claim.fence());
  EXPECT_EQ(node.Ask(BeginKey("key")).kind, Kind::kInFlight);
  EXPECT_EQ(node.Ask(SettleAs(dead, COMPLETED)).kind, Kind::kStaleFence);
}

TEST(LedgerCrash, OW_L1_07_OneSecondBeforeADayItStillReplaysAfterACrash) {
  NodeStory node;
  node.Ask(SettleAs(node.Ask(BeginKey("key")), COMPLETED, "made"));
  node.CrashAndBoot(kDayMs - kSecondMs);
  node.scheduler->RunFor(kSecondMs);
  EXPECT_EQ(node.Ask(BeginKey("key")).outcome.body(), "made");
}

TEST(LedgerCrash, S46_AfterAFailedSyncNothingIsPromisedButStoredAnswersAreServed) {
  NodeStory node;
  node.Ask(SettleAs(node.Ask(BeginKey("durable")), COMPLETED, "made"));
  const Answer owned = node.Ask(BeginKey("open"));
  node.disk.FailNextSync();
  EXPECT_EQ(node.Ask(SettleAs(owned, COMPLETED)).kind, Kind::kUnavailable);
  EXPECT_NE(node.replica->Unready(), "");
  EXPECT_EQ(node.Ask(BeginKey("new")).kind, Kind::kUnavailable);
  EXPECT_EQ(node.Ask(BeginKey("open")).kind, Kind::kUnavailable)
      << "settled in memory, on disk nobody knows";
  EXPECT_EQ(node.Ask(CreateRunUnder("", "noop")).kind, Kind::kUnavailable);
  EXPECT_EQ(node.Ask(BeginKey("durable")).outcome.body(), "made");
  EXPECT_EQ(node.Ask(BeginKey("durable", {.body = "other"})).kind, Kind::kMismatch);
  node.CrashAndBoot();
  EXPECT_EQ(node.Ask(BeginKey("durable")).outcome.body(), "made");
  EXPECT_EQ(node.Ask(BeginKey("open")).kind, Kind::kInFlight) << "its settle was not acknowledged";
}

TEST(LedgerCrash, S47_AFullDiskRefusesServesReplaysAndRecovers) {
  NodeStory node;
  node.Ask(SettleAs(node.Ask(BeginKey("durable")), COMPLETED, "made"));
  const Answer owned = node.Ask(BeginKey("open"));
  node.disk.SetFull(true);
  EXPECT_EQ(node.Ask(BeginKey("new")).kind, Kind::kFull);
  EXPECT_EQ(node.Ask(SettleAs(owned, COMPLETED)).kind, Kind::kFull);
  EXPECT_EQ(node.Ask(BeginKey("open")).kind, Kind::kInFlight) << "memory is rolled back";
  EXPECT_EQ(node.Ask(BeginKey("durable")).outcome.body(), "made");
  EXPECT_EQ(node.replica->Unready(), "the disk is full");
  node.disk.SetFull(false);
  const Answer settled = node.Ask(SettleAs(owned, COMPLETED));
  EXPECT_EQ(settled.kind, Kind::kDone);
  EXPECT_EQ(node.Ask(BeginKey("new")).kind, Kind::kExecute);
  EXPECT_EQ(node.replica->Unready(), "");
}

TEST(LedgerCrash, S47_ARunGoesOnWhenTheDiskHasSpaceAgain) {
  NodeStory node;
  const std::string run_id = node.Ask(CreateRunUnder("key", "delay", 5 * kSecondMs)).run_id;
  node.disk.SetFull(true);
  node.scheduler->RunFor(20 * kSecondMs);
  EXPECT_EQ(node.RunOf(run_id)->status(), RUNNING);
  node.disk.SetFull(false);
  node.scheduler->RunFor(5 * kSecondMs);
  EXPECT_EQ(node.RunOf(run_id)->status(), RUN_COMPLETED);
}

TEST(LedgerCrash, AnUnreadableSlotIsUnavailableNotNew) {
  Config config;
  config.hot_bytes_max = 0;
  NodeStory node(config);
  node.Ask(SettleAs(node.Ask(BeginKey("key")), COMPLETED, "made"));
  node.CrashAndBoot();
  node.disk.SetUnreadable(keys::Slot(HashOfKey("key")));
  EXPECT_EQ(node.Ask(BeginKey("key")).kind, Kind::kUnavailable);
  node.disk.SetReadable(keys::Slot(HashOfKey("key")));
  EXPECT_EQ(node.Ask(BeginKey("key")).kind, Kind::kReplay);
}

TEST(LedgerCrash, S20_AJumpOfTheWallClockExpiresNothingAndRefusesNewClaims) {
  for (const std::int64_t jump_ms : {kHourMs, -kHourMs, 25 * kHourMs}) {
    NodeStory node;
    node.Ask(SettleAs(node.Ask(BeginKey("settled")), COMPLETED, "made"));
    const Answer owned = node.Ask(BeginKey("open"));
    node.scheduler->JumpWall(jump_ms);
    node.scheduler->RunFor(5 * kSecondMs);
    EXPECT_NE(node.replica->Unready(), "");
    EXPECT_EQ(node.Ask(BeginKey("new")).kind, Kind::kUnavailable);
    EXPECT_EQ(node.Ask(BeginKey("open")).kind, Kind::kUnavailable);
    EXPECT_EQ(node.Ask(BeginKey("settled")).outcome.body(), "made") << "no early expiry";
    EXPECT_EQ(node.Ask(RenewFor(owned, kHourMs)).kind, Kind::kDone);
    node.scheduler->JumpWall(-jump_ms);
    EXPECT_EQ(node.replica->Unready(), "");
    EXPECT_EQ(node.Ask(BeginKey("open")).kind, Kind::kInFlight);
    const Answer fresh = node.Ask(BeginKey("new"));
    EXPECT_EQ(fresh.kind, Kind::kExecute);
    EXPECT_GT(fresh.claim.run_id(), owned.claim.run_id()) << "run ids stay in order";
  }
}

TEST(LedgerCrash, S20_AWallClockThatIsBehindAtBootIsIgnored) {
  NodeStory node;
  node.Ask(SettleAs(node.Ask(BeginKey("key")), COMPLETED, "made"));
  const std::int64_t before_ms = node.replica->NowMillis();
  node.CrashAndBoot(-kHourMs);
  EXPECT_GE(node.replica->NowMillis(), before_ms);
  EXPECT_NE(node.replica->Unready(), "");
  EXPECT_EQ(node.Ask(BeginKey("key")).outcome.body(), "made");
}

TEST(LedgerCrash, ANodeWhoseFirstWriteIsRefusedDoesNotStart) {
  NodeStory node;
  node.Crash();
  node.disk.SetFull(true);
  node.Boot();
  EXPECT_EQ(node.started, false);
  EXPECT_EQ(node.Ask(BeginKey("key")).kind, Kind::kUnavailable);
}

}  // namespace
}  // namespace once
