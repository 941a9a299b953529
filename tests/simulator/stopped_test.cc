// What is asked of a node that is told to stop, over histories that are right and wrong.
#include <gtest/gtest.h>

#include "simulator/checks.h"
#include "tests/simulator/calls.h"

namespace once {
namespace {

using Heard = Operation::Answer;

/// A node that was told to stop at 1000 and ended at 1400.
class StoppedHistory : public testing::Test {
 protected:
  StoppedHistory() { calls_.history.stops.push_back({"eu", 100, 1000, 1400}); }
  Stopped& stopped() { return calls_.history.stops[0]; }
  std::size_t Found() { return CheckStopped(calls_.history).size(); }

  Calls calls_;
};

TEST_F(StoppedHistory, WhoWaitedIsAnswered) {
  calls_.Begin(50, 0, Heard::kNone).lease_ms = 0;
  calls_.Begin(1450, 0, Heard::kNone);
  calls_.Begin(1100, 1300, Heard::kExecute, "A", 1);
  EXPECT_EQ(Found(), 0u) << "an earlier process died, and this one had ended";
  calls_.Begin(900, 0, Heard::kNone);
  EXPECT_EQ(Found(), 1u);
  stopped().ended_ms = -1;
  EXPECT_EQ(Found(), 0u) << "it died";
}

TEST_F(StoppedHistory, WhoEndsWhatWasBegunIsNotTurnedAway) {
  calls_.Begin(1100, 1100, Heard::kUnavailable).refused = true;
  EXPECT_EQ(Found(), 0u) << "it takes nothing new";
  calls_.Settle(1100, 1100, Heard::kUnavailable, "A", 1, "x").refused = true;
  EXPECT_EQ(Found(), 1u);
  calls_.history.faults.push_back({Fault::Kind::kSyncFailure, 900, 1200, "eu", "", 0});
  EXPECT_EQ(Found(), 0u);
}

TEST_F(StoppedHistory, WhoWaitsForTheGroupIsNotGivenUpWithinASecond) {
  calls_.Begin(900, 1200, Heard::kUnavailable);
  EXPECT_EQ(Found(), 1u);
  calls_.history.operations[0].returned_ms = 2000;
  EXPECT_EQ(Found(), 0u);
  calls_.history.operations[0].returned_ms = 1200;
  calls_.history.differences.push_back({"eu", false, 1100, -1});
  EXPECT_EQ(Found(), 0u) << "its rules turned out to differ";
}

TEST_F(StoppedHistory, ItEndsInTimeAndDoesNotLeadToItsEnd) {
  stopped().led_on = true;
  EXPECT_EQ(Found(), 1u);
  stopped() = {"eu", 100, 1000, -1, true};
  EXPECT_EQ(Found(), 1u);
  calls_.history.faults.push_back({Fault::Kind::kSlowDisk, 900, 5000, "eu", "", 3'600'000});
  EXPECT_EQ(Found(), 0u) << "a disk that hangs holds it up";
}

}  // namespace
}  // namespace once
