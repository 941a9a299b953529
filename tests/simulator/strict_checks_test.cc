// Histories of strict mode by hand: right ones that no check may refuse, and one for every kind of
// wrong, with the checks that find it.
#include <set>
#include <sstream>

#include "simulator/checks.h"
#include "simulator/history_reader.h"
#include "simulator/report_figures.h"
#include "simulator/report_json.h"
#include "tests/simulator/calls.h"

namespace once {
namespace {

using Heard = Operation::Answer;
using Names = std::set<std::string>;

/// The names of all checks of a history that find something.
Names Found(const Calls& calls) {
  Names names;
  for (const Violation& violation : CheckHistory(calls.history)) names.insert(violation.checker);
  return names;
}

std::string FirstSaid(const Violations& violations) {
  return violations.empty() ? "" : violations.front().what;
}

TEST(StrictHistory, AClaimItsCompletionAndReplaysAreRight) {
  Calls calls;
  calls.LookUp(0, 1, Heard::kNotFound);
  calls.Begin(2, 4, Heard::kExecute, "A", 1);
  calls.Begin(3, 5, Heard::kInFlight, "A", 1);
  calls.Settle(6, 8, Heard::kDone, "A", 1, "x");
  calls.Replay(7, 9, "A", 1, "x").region = "us";
  calls.Settle(10, 11, Heard::kReplay, "A", 1, "x");
  EXPECT_EQ(Found(calls), Names{});
}

TEST(StrictHistory, ARunIsTakenUpUnderAHigherFenceInAnyRegion) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Begin(200, 201, Heard::kExecute, "A", 4).region = "us";
  calls.Settle(202, 203, Heard::kStaleFence, "A", 1, "x");
  calls.Settle(204, 205, Heard::kDone, "A", 4, "busy", 503).region = "us";
  calls.Begin(206, 207, Heard::kExecute, "A", 6).region = "ap";
  calls.Settle(208, 209, Heard::kDone, "A", 6, "y").region = "ap";
  calls.Replay(210, 211, "A", 6, "y");
  EXPECT_EQ(Found(calls), Names{});
}

TEST(StrictHistory, AnOwnerRenewsUntilAnotherHasTakenOver) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Renew(50, 51, Heard::kDone, "A", 1).region = "us";
  calls.Begin(1400, 1401, Heard::kExecute, "A", 4).region = "us";
  calls.Renew(1402, 1403, Heard::kStaleFence, "A", 1);
  calls.Settle(1404, 1405, Heard::kDone, "A", 4, "x").region = "us";
  calls.Renew(1406, 1407, Heard::kStaleFence, "A", 4);
  EXPECT_EQ(Found(calls), Names{});
}

TEST(StrictHistory, ARenewalByALateOwnerIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Begin(200, 201, Heard::kExecute, "A", 2);
  calls.Renew(202, 203, Heard::kDone, "A", 1);
  EXPECT_EQ(Found(calls), (Names{"acknowledged", "fence", "fences", "linearizable"}));
}

TEST(StrictHistory, AReleaseForAnotherRequestIsRight) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.SetPolicy(2, 3, Heard::kDone, Operation::Mismatch::kObserve);
  Operation& other = calls.Begin(2000, 2001, Heard::kExecute, "B", 2);
  other.body = 7;
  other.mismatch = Operation::Mismatch::kObserve;
  calls.Settle(2002, 2003, Heard::kReplay, "A", 1, "", 0);  // it is, though nobody had asked
  EXPECT_EQ(Found(calls), Names{});
  calls.history.operations[2].mismatch = Operation::Mismatch::kReject;
  EXPECT_TRUE(Found(calls).contains("linearizable"));
}

TEST(StrictHistory, AReleasedKeyIsFreeForAnotherRun) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Settle(2, 3, Heard::kDone, "A", 1, "", 0);
  calls.LookUp(4, 5, Heard::kNotFound);
  calls.Begin(6, 7, Heard::kExecute, "B", 3);
  EXPECT_EQ(Found(calls), Names{});
}

TEST(StrictHistory, AnExpiredRunMakesWayForAnother) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Settle(2, 3, Heard::kDone, "A", 1, "x");
  calls.Begin(2500, 2501, Heard::kExecute, "B", 2);
  calls.Settle(2502, 2503, Heard::kReplay, "A", 1, "x");  // its record is still there
  calls.Begin(2504, 2505, Heard::kInFlight, "B", 2);
  EXPECT_EQ(Found(calls), Names{});
}

TEST(StrictHistory, WhatNobodyHeardOfMayHaveHappenedOrNot) {
  Calls calls;
  calls.Begin(0, 0, Heard::kNone);
  calls.Begin(1, 2, Heard::kUnavailable);
  calls.Begin(3, 4, Heard::kInFlight, "A", 1);
  calls.Begin(200, 201, Heard::kExecute, "A", 2);
  calls.Settle(202, 0, Heard::kNone, "A", 2, "x");
  calls.Replay(204, 205, "A", 2, "x");
  EXPECT_EQ(Found(calls), Names{});
}

TEST(StrictHistory, WhatWasRefusedAndHappenedAllTheSameIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Settle(2, 3, Heard::kUnavailable, "A", 1, "x");
  calls.Replay(4, 5, "A", 1, "x");
  EXPECT_EQ(Found(calls), Names{});
  calls.history.operations[1].refused = true;
  EXPECT_EQ(Found(calls), Names{"linearizable"});
}

TEST(StrictHistory, AnAnswerFromBeforeItsRequestIsFound) {
  Calls calls;
  calls.Begin(3, 4, Heard::kInFlight, "A", 1);
  calls.Begin(5, 0, Heard::kNone);
  EXPECT_EQ(Found(calls), Names{"linearizable"});
  calls.history.operations.pop_back();
  EXPECT_EQ(FirstSaid(CheckLinearizable(calls.history)),
            "eu acme/k #1 run A knew of fence 1, which nobody had asked for");
}

TEST(StrictHistory, AnUnheardTakeUpCannotHaveComeBeforeItWasAskedFor) {
  Calls calls;
  calls.Begin(10, 10, Heard::kExecute, "A", 2);
  calls.LookUp(11, 11, Heard::kNotFound);
  calls.LookUp(11, 13, Heard::kInFlight, "A", 4);
  calls.Begin(13, 0, Heard::kNone);  // so run A was there until then
  EXPECT_FALSE(CheckLinearizable(calls.history).empty());
}

TEST(StrictHistory, AnOutcomeThatNobodySettledIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Settle(2, 0, Heard::kNone, "A", 1, "y");
  calls.Replay(3, 4, "A", 1, "x");
  EXPECT_EQ(Found(calls), Names{"linearizable"});
}

TEST(StrictHistory, AStaleReadAfterADeposalIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Begin(200, 201, Heard::kExecute, "A", 2);
  calls.Begin(202, 203, Heard::kInFlight, "A", 1).region = "us";  // the old leader's word
  EXPECT_EQ(Found(calls), (Names{"acknowledged", "linearizable"}));
  EXPECT_EQ(FirstSaid(CheckLinearizable(calls.history)),
            "us acme/k #3 run A cannot have come after the end of the claim under fence 1, but was "
            "invoked at 202, and #2 had returned at 201, not before the claim under fence 2");
  calls.history.operations[2].invoked_ms = 201;  // at the same time it may have come first
  EXPECT_EQ(Found(calls), Names{});
}

TEST(StrictHistory, AnOutcomeThatIsNotThereForTheNextReaderIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Settle(2, 3, Heard::kDone, "A", 1, "x");
  calls.Begin(4, 5, Heard::kInFlight, "A", 1).region = "us";
  EXPECT_EQ(Found(calls), (Names{"acknowledged", "linearizable"}));
}

TEST(StrictHistory, TwoWinnersAreFound) {
  Calls apart;  // two leaders, each with its own log
  apart.Begin(0, 1, Heard::kExecute, "A", 1);
  apart.Begin(2, 3, Heard::kExecute, "B", 2).region = "us";
  EXPECT_EQ(Found(apart), Names{"acknowledged"});
  apart.Settle(4, 5, Heard::kDone, "A", 1, "x");
  EXPECT_EQ(Found(apart), (Names{"acknowledged", "fence", "fences", "linearizable"}));

  Calls together;
  together.Begin(0, 5, Heard::kExecute, "A", 1);
  together.Begin(0, 5, Heard::kExecute, "B", 1).region = "us";
  EXPECT_EQ(Found(together), (Names{"fences", "linearizable"}));

  Calls back;  // A, then B, then A
  back.Begin(0, 1, Heard::kExecute, "A", 1);
  back.Begin(1500, 1501, Heard::kExecute, "B", 2);
  back.Begin(3000, 3001, Heard::kExecute, "A", 3);
  EXPECT_EQ(Found(back), Names{"linearizable"});
}

TEST(StrictHistory, AnAcknowledgedClaimThatIsLostIsFound) {
  Calls read;
  read.Begin(0, 1, Heard::kExecute, "A", 1);
  read.LookUp(2, 3, Heard::kNotFound).region = "us";
  EXPECT_EQ(Found(read), Names{"acknowledged"});
  read.Begin(4, 5, Heard::kInFlight, "A", 1);  // nor can it have been over in between
  EXPECT_EQ(Found(read), (Names{"acknowledged", "linearizable"}));
  EXPECT_EQ(FirstSaid(CheckLinearizable(read.history)),
            "us acme/k #2 run  found nothing, between #1 and #3, which saw run A");

  Calls settled;
  settled.Begin(0, 1, Heard::kExecute, "A", 1);
  settled.Settle(2, 3, Heard::kNotFound, "A", 1, "x");
  EXPECT_EQ(Found(settled), Names{"acknowledged"});
}

TEST(StrictHistory, AFenceThatFallsIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 5);
  calls.Begin(1500, 1501, Heard::kExecute, "B", 3);
  EXPECT_EQ(Found(calls), (Names{"fences", "linearizable", "one-winner"}));
  EXPECT_EQ(FirstSaid(CheckFences(calls.history)),
            "eu acme/k #2 run B was given fence 3 after #1 had shown 5");
}

TEST(StrictHistory, ACompletionByAStaleOwnerIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Begin(200, 201, Heard::kExecute, "A", 2);
  calls.Settle(202, 203, Heard::kDone, "A", 1, "x");
  EXPECT_EQ(Found(calls), (Names{"fence", "fences", "linearizable"}));
}

TEST(StrictHistory, ACompletionAfterARefusalOfTheSameFenceIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Settle(2, 3, Heard::kStaleFence, "A", 1, "x");
  calls.Settle(4, 5, Heard::kDone, "A", 1, "x");
  EXPECT_EQ(Found(calls), Names{"linearizable"});
}

TEST(StrictHistory, AnExpiredClaimThatComesBackIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Settle(2, 3, Heard::kDone, "A", 1, "x");
  calls.Begin(1500, 1501, Heard::kExecute, "B", 2);
  calls.Replay(1502, 1503, "A", 1, "x").region = "us";  // before the zombie check is sure of it
  EXPECT_EQ(Found(calls), (Names{"acknowledged", "linearizable"}));
}

TEST(StrictHistory, AFinalRunThatIsTakenUpIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Settle(2, 3, Heard::kDone, "A", 1, "x");
  calls.Begin(5, 6, Heard::kExecute, "A", 2).region = "us";
  EXPECT_EQ(Found(calls), (Names{"acknowledged", "expiry", "linearizable"}));
}

TEST(StrictHistory, AnAnswerThatChangesIsFound) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Settle(2, 3, Heard::kDone, "A", 1, "x");
  calls.Replay(4, 5, "A", 1, "y");
  EXPECT_EQ(Found(calls), (Names{"answers", "linearizable"}));
}

TEST(StrictHistory, AnAnswerOfALowerRunIsNoExcuse) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "B", 1);
  calls.Settle(2, 3, Heard::kDone, "B", 1, "x");
  calls.Begin(0, 0, Heard::kNone);
  calls.Replay(4, 5, "A", 2, "y").region = "us";
  calls.history.operations[1].retention_ms = 5000;  // windows are told apart to within the skew
  EXPECT_EQ(Found(calls), (Names{"acknowledged", "answers"}));
}

TEST(StrictHistory, BestEffortIsNotJudgedByIt) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 5);
  calls.Begin(1500, 1501, Heard::kExecute, "B", 3).region = "us";
  for (Operation& operation : calls.history.operations) operation.strict = false;
  EXPECT_EQ(Found(calls), Names{});
}

TEST(StrictHistory, TheModeIsWrittenDownAndReadAgain) {
  Calls calls;
  calls.Begin(0, 1, Heard::kExecute, "A", 1);
  calls.Begin(2, 3, Heard::kInFlight, "A", 1).strict = false;
  std::stringstream lines;
  WriteHistoryLines(calls.history, lines);
  const auto read = ReadHistory(lines);
  ASSERT_TRUE(std::holds_alternative<History>(read));
  const std::vector<Operation>& operations = std::get<History>(read).operations;
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_TRUE(operations[0].strict);
  EXPECT_FALSE(operations[1].strict);
}

}  // namespace
}  // namespace once
