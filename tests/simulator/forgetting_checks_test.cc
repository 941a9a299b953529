// Ledgers that keep what is over, or count what they do not have, and evictions that excuse nothing
// else: the checks must find the first and not believe the second.
#include "replica/ledger/run_id.h"
#include "replica/ledger/workflows.h"
#include "simulator/strict_room_watch.h"
#include "tests/simulator/calls.h"
#include "tests/story/story.h"

namespace once {
namespace {

using Got = Answer::Kind;

std::string AllOf(const Violations& violations) {
  std::string all;
  for (const Violation& violation : violations)
    all += violation.checker + ": " + violation.what + "\n";
  return all;
}

ClusterOptions ShortRuns() {
  ClusterOptions options;
  options.run_retention_ms = 3000;
  options.forget_grace_ms = 0;
  options.strict_routes = {{"globex", "*"}};
  return options;
}

class ForgettingChecks : public testing::Test {
 protected:
  void Put(const std::string& region, const std::string& key, const std::string& value) {
    Tables& tables = story_.cluster.replica(region).tables();
    tables.PutRaw(key, value);
    ASSERT_EQ(tables.Flush(), KvStatus::kOk);
  }

  Story story_{ShortRuns()};
};

TEST_F(ForgettingChecks, ARunThatIsForgottenInTimeIsNotFound) {
  const Answer made = story_.CreateRun("eu", "r1");
  EXPECT_EQ(AllOf(CheckRunsForgotten(story_.cluster)), "");
  story_.Run(15'000);
  for (const std::string& region : story_.cluster.regions())
    EXPECT_FALSE(story_.cluster.replica(region).tables().FindRun(made.run_id)) << region;
  EXPECT_EQ(AllOf(CheckRunsForgotten(story_.cluster)), "");
}

TEST_F(ForgettingChecks, ARunThatStaysOrIsInNoIndexIsFound) {
  const Answer made = story_.CreateRun("eu", "r1");
  story_.Run(1000);
  once::Run run = story_.cluster.replica("eu").tables().FindRun(made.run_id).value();
  ASSERT_TRUE(IsTerminal(run.status()));
  const std::string other = "X" + made.run_id.substr(1);
  run.set_run_id(other);
  Put("ap", keys::Run(other), run.SerializeAsString());
  EXPECT_EQ(AllOf(CheckRunsForgotten(story_.cluster)),
            "run-forgetting: ap would not find run " + other + " when it is over\n");
  story_.Run(15'000);
  const std::string said = AllOf(CheckRunsForgotten(story_.cluster));
  EXPECT_TRUE(said.starts_with("run-forgetting: ap keeps run " + other + ", which might")) << said;
}

TEST_F(ForgettingChecks, WhatBelongsToNoRunIsFound) {
  const std::string run_id(26, 'Z');
  Put("eu", keys::Event(run_id, 0), RunEvent().SerializeAsString());
  Put("eu", keys::Interrupt("int_token"), run_id);
  Put("eu", keys::ActiveRun(run_id), "");
  EXPECT_EQ(AllOf(CheckRunsForgotten(story_.cluster)),
            "run-forgetting: eu has events of run " + run_id + " and not the run\n" +
                "run-forgetting: eu has a token of run " + run_id + " and not the run\n" +
                "run-forgetting: eu would carry on run " + run_id + " and does not have it\n");
}

TEST_F(ForgettingChecks, TheStrictLedgerIsAskedToo) {
  story_.Run(5000);
  Answer owned;
  story_.cluster.Submit("eu", BeginCommand("globex", "k1", 1, 1000, 2000),
                        [&owned](const Answer& answer) { owned = answer; });
  story_.Run(1000);
  ASSERT_EQ(owned.kind, Got::kExecute);
  EXPECT_EQ(AllOf(CheckForgotten(story_.cluster)), "");
  Tables& tables = story_.cluster.group("us")->tables();
  Slot slot = *tables.FindSlot(owned.hash);
  Slot& kept = tables.NewSlot("another hash");
  kept = slot;
  kept.set_key("k2");
  tables.Touch("another hash");
  tables.head().set_slot_bytes(7);
  story_.Run(15'000);
  const std::string said = AllOf(CheckForgotten(story_.cluster));
  const std::string us = "forgetting: the strict ledger in us ";
  EXPECT_TRUE(said.starts_with(us + "keeps globex/k2, which might have gone ")) << said;
  EXPECT_NE(said.find(us + "would not find globex/k2 when it is over\n"), said.npos) << said;
  EXPECT_NE(said.find(us + "indexes 0 slots and has 1\n"), said.npos) << said;
  EXPECT_NE(said.find(us + "counts 1 slots of "), said.npos) << said;
}

TEST_F(ForgettingChecks, TheStrictLedgerTakesNoSlotWithoutRoom) {
  StrictRoomWatch watch(story_.cluster);
  Head& head = story_.cluster.group("us")->tables().head();
  const auto apply = [&](std::uint64_t slots, std::uint64_t bytes) {
    head.set_applied(head.applied() + 1);
    head.set_slots(slots);
    head.set_slot_bytes(bytes);
    return AllOf(watch.Look("us", Answer()));
  };
  const std::uint64_t bound = story_.cluster.options().slot_bytes_max;
  EXPECT_EQ(apply(1, bound - 1), "");
  EXPECT_EQ(apply(2, bound), "") << "the last one";
  EXPECT_EQ(apply(2, bound + 5), "") << "one that grew";
  EXPECT_EQ(apply(3, bound + 9), "") << "there may be more of that entry";
  const std::string said = apply(3, bound + 9);
  EXPECT_TRUE(said.starts_with("sizes: the strict ledger in us let somebody add a slot to "))
      << said;
}

class Durability : public testing::Test {
 protected:
  Durability() { calls_.history.regions = {"ap", "eu", "us"}; }

  // A claim of eu, and in us a look-up that shows it.
  void GrantAndShow() {
    grant_ = Add(calls_.Begin(100, 110, Operation::Answer::kExecute, kRun, 7));
    shown_ = Add(calls_.LookUp(900, 910, Operation::Answer::kInFlight, kRun, 7));
    At(shown_).region = "us";
  }
  std::size_t Add(Operation& operation) {
    operation.strict = false;
    return operation.id - 1;
  }
  Operation& At(std::size_t place) { return calls_.history.operations[place]; }
  /// What is said when no region holds anything any more.
  std::string Said(std::int64_t now_ms, std::int64_t grace_ms = 50) {
    const Holdings nothing = {{"ap", {}}, {"eu", {}}, {"us", {}}};
    return AllOf(CheckDurability(calls_.history, nothing, now_ms, grace_ms));
  }

  const std::string kRun = MintRunId(100, "eu", 1);
  Calls calls_;
  std::size_t grant_ = 0;
  std::size_t shown_ = 0;
};

TEST_F(Durability, WhatALookUpShowedIsOverWhenItIsAtHome) {
  GrantAndShow();
  EXPECT_NE(Said(1149), "");
  EXPECT_EQ(Said(1150), "");
}

TEST_F(Durability, WhatALookUpShowedGaveWayAtHome) {
  GrantAndShow();
  At(grant_).retention_ms = At(shown_).retention_ms = 0;
  At(shown_).body = 2;
  EXPECT_NE(Said(5000), "");
  Operation& other = calls_.Begin(700, 710, Operation::Answer::kExecute, "another", 8);
  other.strict = false;
  other.body = 2;
  other.lost = true;
  other.mismatch = Operation::Mismatch::kObserve;
  EXPECT_NE(Said(1700), "") << "it may not be forgotten yet";
  EXPECT_EQ(Said(1750), "");
  other.region = "us";
  EXPECT_NE(Said(5000), "") << "only its home lets it make room";
}

TEST_F(Durability, OnlyASuccessThatWasInForceMayHaveMadeAClaimGiveWay) {
  Operation& success = calls_.Settle(10, 20, Operation::Answer::kDone, "another", 3, "x");
  success.strict = false;
  success.lost = true;
  success.retention_ms = 3000;
  grant_ = Add(calls_.Begin(2500, 2510, Operation::Answer::kExecute, kRun, 7));
  At(grant_).retention_ms = 60'000;
  EXPECT_EQ(Said(3100), "") << "it gave way, and both are over";
  At(grant_).invoked_ms = At(grant_).returned_ms = 9000;
  EXPECT_NE(Said(9100), "") << "an earlier generation excuses nothing";
}

TEST_F(Durability, ARefusedReleaseIsNoEnd) {
  grant_ = Add(calls_.Begin(100, 110, Operation::Answer::kExecute, kRun, 7));
  const std::size_t release =
      Add(calls_.Settle(3000, 3010, Operation::Answer::kStaleFence, kRun, 7, "", 0));
  EXPECT_NE(Said(1149), "");
  EXPECT_EQ(Said(1150), "") << "nobody came back in time";
  At(release).answer = Operation::Answer::kDone;
  EXPECT_NE(Said(3049), "") << "somebody did";
  EXPECT_EQ(Said(3050), "");
}

TEST(Evictions, ExcuseOnlyWhatWentWithThem) {
  Calls calls;
  calls.Begin(10, 20, Operation::Answer::kExecute).region = "us";
  calls.Begin(30, 40, Operation::Answer::kExecute).region = "us";
  calls.history.operations[0].run_id = "A";
  calls.history.operations[1].run_id = "B";
  for (Operation& operation : calls.history.operations) operation.strict = false;
  const auto& first = calls.history.operations[0];
  NoteEvicted({}, {}, calls.history);
  EXPECT_FALSE(first.lost) << "it is missing for another reason";
  NoteEvicted({{first.tenant, "another", 25}}, {}, calls.history);
  EXPECT_FALSE(first.lost);
  NoteEvicted({{first.tenant, first.key, 25}}, {}, calls.history);
  EXPECT_TRUE(first.lost);
  EXPECT_FALSE(calls.history.operations[1].lost) << "it came later";
  NoteEvicted({{"", "", 35}}, {}, calls.history);
  EXPECT_TRUE(calls.history.operations[1].lost) << "it may have come and gone by then";
}

}  // namespace
}  // namespace once
