// Calls of well nodes and of others, and which of them are answered too late or not as promised.
#include "replica/ledger/run_id.h"
#include "simulator/checks.h"
#include "tests/simulator/calls.h"

namespace once {
namespace {

using Heard = Operation::Answer;

std::string FirstFound(const Calls& calls, bool rules_change = false) {
  const Violations found = CheckAnswered(calls.history, rules_change);
  return found.empty() ? "" : found[0].checker + ": " + found[0].what;
}

void Break(Calls& calls, Fault::Kind kind, const std::string& region = "eu") {
  calls.history.faults.push_back({kind, 4000, 4500, region, "us", 0});
}

TEST(Answered, AStrictCallMayTakeItsTimeAndBeRefused) {
  Calls calls;
  calls.Begin(5000, 7100, Heard::kUnavailable);
  calls.LookUp(5000, 7100, Heard::kUnavailable);
  calls.Begin(5000, 7400, Heard::kInFlight, "A", 1).wait_ms = 300;
  EXPECT_EQ(FirstFound(calls), "");
}

TEST(Answered, AStrictCallThatTookLongerIsFound) {
  Calls late;
  late.Settle(5000, 7101, Heard::kDone, "A", 1, "x");
  EXPECT_EQ(FirstFound(late),
            "answered: eu acme/k #1 run A had no answer for 2101 ms though its node was well");
  Calls unheard;
  unheard.Renew(5000, 0, Heard::kNone, "A", 1);
  EXPECT_NE(FirstFound(unheard), "");
  unheard.history.operations[0].wait_ms = 900;
  EXPECT_EQ(FirstFound(unheard), "") << "its caller gave up before";
}

TEST(Answered, ABestEffortCallWaitsForItsOwnDiskOnly) {
  Calls calls;
  calls.Begin(5000, 6000, Heard::kExecute, "A", 1).strict = false;
  EXPECT_EQ(FirstFound(calls), "");
  calls.history.operations[0].returned_ms = 6001;
  EXPECT_NE(FirstFound(calls), "");
}

TEST(Answered, ABestEffortCallThatIsRefusedIsFound) {
  Calls calls;
  calls.Begin(5000, 5001, Heard::kUnavailable).strict = false;
  EXPECT_EQ(FirstFound(calls), "answered: eu acme/k #1 run  was told 503 though its node was well");
  EXPECT_EQ(FirstFound(calls, true), "") << "its rules may have been others";
  calls.history.operations[0].invoked_ms = calls.history.operations[0].returned_ms = 900;
  EXPECT_EQ(FirstFound(calls), "") << "it was just started";
}

TEST(Answered, ABestEffortClaimIsSettledWhereItWasGiven) {
  Calls calls;
  const std::string here = MintRunId(1'700'000'000'000, "eu", 1);
  const std::string there = MintRunId(1'700'000'000'000, "us", 1);
  calls.Settle(5000, 5001, Heard::kUnavailable, there, 1, "x").strict = false;
  EXPECT_EQ(FirstFound(calls), "") << "wrong region";
  calls.Settle(5000, 5001, Heard::kUnavailable, here, 1, "x").strict = false;
  EXPECT_NE(FirstFound(calls), "");
}

TEST(Answered, WhatBefallsTheNodeExcusesAndWhatBefallsOthersDoesNot) {
  for (const auto kind : {Fault::Kind::kCrash, Fault::Kind::kPause, Fault::Kind::kSlowDisk,
                          Fault::Kind::kDiskFull, Fault::Kind::kClockJump}) {
    Calls calls;
    calls.Begin(5500, 5501, Heard::kUnavailable).strict = false;
    Break(calls, kind, "us");
    EXPECT_NE(FirstFound(calls), "");
    Break(calls, kind);
    EXPECT_EQ(FirstFound(calls), "");
    calls.history.operations[0].invoked_ms = calls.history.operations[0].returned_ms = 5501;
    EXPECT_NE(FirstFound(calls), "") << "it is over for long enough";
  }
}

TEST(Answered, WhatBefallsLinksOrLeadershipDoesNotExcuse) {
  for (const auto kind : {Fault::Kind::kCut, Fault::Kind::kClog, Fault::Kind::kTransfer,
                          Fault::Kind::kDismissed, Fault::Kind::kLossyLinks}) {
    Calls calls;
    calls.Begin(4100, 4101, Heard::kUnavailable).strict = false;
    Break(calls, kind);
    EXPECT_NE(FirstFound(calls), "");
  }
}

}  // namespace
}  // namespace once
