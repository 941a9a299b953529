// Histories of renewals, waiting callers, policies and full stores, right and wrong.
#include <set>
#include <sstream>

#include "replica/limits.h"
#include "simulator/checks.h"
#include "simulator/history_reader.h"
#include "simulator/report_json.h"
#include "tests/simulator/calls.h"

namespace once {
namespace {

using Heard = Operation::Answer;
using Mismatch = Operation::Mismatch;
using Names = std::set<std::string>;

/// A history of best-effort mode.
class CallerHistory : public testing::Test {
 protected:
  Names Found() {
    for (Operation& operation : calls_.history.operations) operation.strict = false;
    Names names;
    for (const Violation& violation : CheckHistory(calls_.history)) names.insert(violation.checker);
    return names;
  }
  Operation& Last() { return calls_.history.operations.back(); }

  Calls calls_;
};

TEST_F(CallerHistory, OW_N_05_ALeaseRunsFromItsLastRenewal) {
  calls_.Begin(0, 1, Heard::kExecute, "A", 1);
  calls_.Renew(90, 91, Heard::kDone, "A", 1);
  calls_.Begin(250, 251, Heard::kExecute, "A", 2);
  EXPECT_EQ(Found(), Names{});
  Last().invoked_ms = Last().returned_ms = 150;  // the lease of the begin is over, not the renewed
  EXPECT_EQ(Found(), Names{"one-winner"});
}

TEST_F(CallerHistory, ARenewalOfAClaimFromALostDirectoryHoldsNobodyBack) {
  calls_.Begin(0, 1, Heard::kExecute, "A", 1);
  calls_.Begin(20, 21, Heard::kExecute, "B", 2).life = 1;
  calls_.Renew(30, 31, Heard::kDone, "A", 1).life = 1;
  EXPECT_EQ(Found(), Names{});
}

TEST_F(CallerHistory, NobodyIsToldThatSomebodyIsOnItAfterTheAnswer) {
  calls_.Begin(0, 1, Heard::kExecute, "A", 1);
  calls_.Settle(2, 3, Heard::kDone, "A", 1, "x").retention_ms = 60'000;
  calls_.Begin(10, 11, Heard::kReplay, "A", 1).status = 200;
  Last().answer_body = "x";
  EXPECT_EQ(Found(), Names{});
  Last().answer = Heard::kInFlight;
  EXPECT_EQ(Found(), Names{"answers"});
}

TEST_F(CallerHistory, NobodyIsToldThatSomebodyIsOnItWhenTheLeaseCannotBeHeldAnyMore) {
  const auto blocked = [this] {
    for (Operation& operation : calls_.history.operations) operation.strict = false;
    return CheckBlocked(calls_.history).size();
  };
  calls_.Begin(0, 1, Heard::kExecute, "A", 1).lease_ms = 2000;
  calls_.Begin(4000, 4001, Heard::kInFlight, "A", 1);
  EXPECT_EQ(blocked(), 0u) << "clocks differ";
  Last().invoked_ms = Last().returned_ms = 9000;
  EXPECT_EQ(blocked(), 1u);
  calls_.history.starts.push_back({"eu", 0, 5000});
  EXPECT_EQ(blocked(), 0u) << "the lease began anew";
  calls_.history.starts.clear();
  calls_.Renew(6000, 6001, Heard::kDone, "A", 1).lease_ms = 2000;
  EXPECT_EQ(blocked(), 0u);
  Last().answer = Heard::kStaleFence;
  EXPECT_EQ(blocked(), 1u);
  calls_.Begin(7000, -1, Heard::kNone).lease_ms = 2000;
  EXPECT_EQ(blocked(), 0u) << "somebody else may have taken it up";
}

class Waiter : public CallerHistory {
 protected:
  Waiter() {
    calls_.Begin(0, 1, Heard::kExecute, "A", 1);
    Operation& waiter = calls_.Replay(5, 41, "A", 1, "x");
    waiter.wait_ms = 2000;
    calls_.Settle(30, 40, Heard::kDone, "A", 1, "x");
  }
  Operation& waiter() { return calls_.history.operations[1]; }
};

TEST_F(Waiter, IsAnsweredWithTheEnd) {
  EXPECT_EQ(Found(), Names{});
}

TEST_F(Waiter, ThatWaitsOnIsFound) {
  waiter().returned_ms = 900;
  EXPECT_EQ(Found(), Names{"waiting"});
  calls_.history.faults.push_back({Fault::Kind::kSlowDisk, 0, 1000, "eu", "", 500});
  EXPECT_EQ(Found(), Names{});
}

TEST_F(Waiter, MayWaitForAnotherOneAfterAnEndThatInvitesARetry) {
  waiter().returned_ms = 900;
  calls_.history.operations[2].status = 503;
  calls_.history.operations[2].answer_body = "busy";
  EXPECT_FALSE(Found().contains("waiting"));
}

class Policy : public CallerHistory {
 protected:
  /// What another request with the key meets, at that time.
  Operation& Other(std::int64_t at_ms, Heard answer, Mismatch mismatch) {
    Operation& begin = calls_.Begin(at_ms, at_ms + 1, answer, "A", 1);
    begin.body = 7;
    begin.mismatch = mismatch;
    return begin;
  }
};

TEST_F(Policy, HoldsFromWhenItWasAcknowledged) {
  calls_.Begin(0, 1, Heard::kExecute, "A", 1);
  Other(2, Heard::kMismatch, Mismatch::kReject);
  calls_.SetPolicy(5, 9, Heard::kDone, Mismatch::kObserve);
  Other(7, Heard::kInFlight, Mismatch::kReject);  // either way
  Other(8, Heard::kInFlight, Mismatch::kObserve);
  Other(20, Heard::kInFlight, Mismatch::kObserve);
  EXPECT_EQ(Found(), Names{});
  Other(21, Heard::kMismatch, Mismatch::kReject);
  EXPECT_EQ(Found(), Names{"policies"});
  Last().region = "us";  // which was told nothing
  EXPECT_EQ(Found(), Names{});
}

TEST_F(Policy, ThatNobodyHeardOfMayHoldOrNot) {
  calls_.Begin(0, 1, Heard::kExecute, "A", 1);
  calls_.SetPolicy(2, 0, Heard::kNone, Mismatch::kOff);
  Other(20, Heard::kInFlight, Mismatch::kOff);
  Other(21, Heard::kMismatch, Mismatch::kReject);
  EXPECT_EQ(Found(), Names{});
}

TEST_F(Policy, GoesWithItsDirectory) {
  calls_.SetPolicy(2, 3, Heard::kDone, Mismatch::kOff);
  calls_.Begin(10, 11, Heard::kExecute, "A", 1).life = 1;
  EXPECT_EQ(Found(), Names{});
}

TEST_F(Policy, ThatLetsThroughRefusesNobody) {
  calls_.Begin(0, 1, Heard::kExecute, "A", 1);
  calls_.SetPolicy(2, 3, Heard::kDone, Mismatch::kObserve);
  Other(20, Heard::kMismatch, Mismatch::kObserve);
  EXPECT_EQ(Found(), Names{"answers"});
}

TEST_F(Policy, AReplayToAnotherRequestNeedsOne) {
  calls_.Begin(0, 1, Heard::kExecute, "A", 1);
  calls_.Settle(2, 3, Heard::kDone, "A", 1, "x");
  calls_.SetPolicy(4, 5, Heard::kDone, Mismatch::kObserve);
  Operation& replay = calls_.Replay(20, 21, "A", 1, "x");
  replay.body = 7;
  replay.mismatch = Mismatch::kObserve;
  EXPECT_EQ(Found(), Names{});
  Last().mismatch = Mismatch::kReject;
  EXPECT_EQ(Found(), (Names{"answers", "policies"}));
}

TEST_F(CallerHistory, TheNewMembersAreWrittenDownAndReadAgain) {
  calls_.Begin(0, 1, Heard::kInFlight, "A", 1).wait_ms = 1500;
  calls_.Renew(2, 3, Heard::kDone, "A", 1);
  calls_.SetPolicy(4, 5, Heard::kDone, Mismatch::kOff);
  std::stringstream lines;
  WriteHistoryLines(calls_.history, lines);
  const auto read = ReadHistory(lines);
  ASSERT_TRUE(std::holds_alternative<History>(read));
  const auto& operations = std::get<History>(read).operations;
  ASSERT_EQ(operations.size(), 3u);
  EXPECT_EQ(operations[0].wait_ms, 1500);
  EXPECT_EQ(operations[1].kind, Operation::Kind::kRenew);
  EXPECT_EQ(operations[2].kind, Operation::Kind::kPolicy);
  EXPECT_EQ(operations[2].mismatch, Mismatch::kOff);
}

TEST(Shown, WhatIsNotOnTheDiskIsFound) {
  Slot slot;
  slot.add_claims()->set_run_id("A");
  const MemoryDisk disk(MemoryDisk::Contents{{keys::Slot("hash"), slot.SerializeAsString()}});
  EXPECT_TRUE(CheckShown(disk, "hash", slot).empty());
  slot.mutable_claims(0)->set_state(COMPLETED);
  EXPECT_EQ(CheckShown(disk, "hash", slot).size(), 1u);
  EXPECT_EQ(CheckShown(disk, "other", slot).size(), 1u);
}

class FullStore : public testing::Test {
 protected:
  FullStore() : cluster_(Options()) {}
  static ClusterOptions Options() {
    ClusterOptions options;
    options.regions = {"us"};
    options.slots_max = 2;
    return options;
  }
  std::string Said() {
    std::string all;
    for (const Violation& violation : CheckRoom(cluster_, holdings_, history_))
      all += violation.what + "\n";
    for (const Violation& violation : CheckSizes(cluster_)) all += violation.what + "\n";
    return all;
  }

  Cluster cluster_;
  Holdings holdings_;
  History history_;
};

TEST_F(FullStore, RefusesNobodyWhileThereIsRoom) {
  Calls calls;
  calls.Begin(10, 11, Heard::kFull).region = "us";
  history_ = calls.history;
  EXPECT_EQ(Said(), "");
  history_.operations[0].room = true;
  EXPECT_EQ(Said(), "us acme/k #1 was refused for want of room, and there was some\n");
  history_.faults.push_back({Fault::Kind::kDiskFull, 5, 20, "us", "", 0});
  EXPECT_EQ(Said(), "");
}

TEST_F(FullStore, KeepsToItsBound) {
  cluster_.time().RunFor(100);
  for (const char* key : {"k1", "k2", "k3"})
    cluster_.Submit("us", BeginCommand("acme", key, 1, 1000, 1000), [](const Answer&) {});
  cluster_.time().RunFor(100);
  EXPECT_EQ(cluster_.replica("us").tables().head().slots(), 2u);
  EXPECT_EQ(Said(), "");
  cluster_.replica("us").tables().head().set_slots(3);
  EXPECT_EQ(Said(), "us keeps 3 slots where 2 are allowed\n");
}

TEST_F(FullStore, OneSlotHoldsSoManyClaimsOfARegion) {
  Slot& slot = holdings_["us"][{"acme", "k"}];
  for (std::size_t i = 0; i < kSlotClaimsMax; ++i) slot.add_claims()->set_region("us");
  EXPECT_EQ(Said(), "");
  slot.add_claims()->set_region("us");
  EXPECT_EQ(Said(), "us has 257 claims of its own to acme/k\n");
}

}  // namespace
}  // namespace once
