// The simulator itself, and the seeds that found something.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>

#include "simulator/checks.h"
#include "simulator/history_reader.h"
#include "simulator/runner.h"
#include "simulator/scenario.h"

namespace once {
namespace {

std::string Said(const History& history) {
  std::string all;
  for (const Violation& violation : history.violations)
    all += violation.checker + ": " + violation.what + "\n";
  return all;
}

TEST(Simulation, TheSameSeedGivesTheSameTrace) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const History once = Simulate(DrawOptions(seed));
    const History again = Simulate(DrawOptions(seed));
    EXPECT_EQ(once.trace_hash, again.trace_hash);
    EXPECT_EQ(once.operations.size(), again.operations.size());
  }
  EXPECT_NE(Simulate(DrawOptions(1)).trace_hash, Simulate(DrawOptions(2)).trace_hash);
}

TEST(Simulation, EverySeedThatOnceFailedHolds) {
  const std::uint64_t seeds[] = {
      43,   52,   58,  // a frame of another region's claim stopped replication
      60,   63,   96,  // a restart forgot what peers lacked
      73,   212,       // lost frames were not sent again under traffic
      166,  199,  214,  246,  338,  570, 839,  // repairs of what was not broken
      410,  1192, 1209,                        // a full disk was not tried again
      1316, 1405, 1421, 1546, 2445,            // an abandoned claim completed beside a later one
      12,   29,                                // a lease that restarted was not said; a gap skipped
      1882,                                    // everything was said again to a peer unheard of
      1105,                                    // a digest from before the first word of a stream
      1309,                                    // a restart gave an abandoned claim its lease back
  };
  for (const std::uint64_t seed : seeds) {
    const History history = Simulate(DrawOptions(seed));
    EXPECT_TRUE(history.violations.empty()) << "seed " << seed << "\n" << Said(history);
  }
}

TEST(Simulation, TheSameSeedGivesTheSameStrictTraceAndLookingChangesNothing) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    RunOptions options = DrawOptions(seed, true);
    const History unseen = Simulate(options);
    options.detailed = true;
    const History again = Simulate(options);
    EXPECT_EQ(unseen.trace_hash, again.trace_hash);
    EXPECT_FALSE(unseen.leaders.empty());
    EXPECT_TRUE(std::any_of(unseen.operations.begin(), unseen.operations.end(),
                            [](const Operation& operation) { return operation.strict; }));
  }
}

// One answer of a key that the bridge's ends cannot lead away from its leader.
TEST(Simulation, S_03_InABridgeOneStrictLeaderStays) {
  const History history = Simulate(std::get<RunOptions>(LoadScenario("strict-bridge", 7)));
  EXPECT_TRUE(history.violations.empty()) << Said(history);
  EXPECT_LE(history.leaders.size(), 2u);
  EXPECT_LE(history.leaders.back().term, 2u);
}

TEST(Simulation, AStrictMinorityAdmitsNothing) {
  const History history =
      Simulate(std::get<RunOptions>(LoadScenario("strict-minority-refuses", 7)));
  EXPECT_TRUE(history.violations.empty()) << Said(history);
  std::size_t refused = 0;
  for (const Operation& operation : history.operations) {
    const bool cut = operation.invoked_ms > 4000 && operation.returned_ms < 25'900;
    if (!operation.strict || operation.region != "us" || !cut) continue;
    EXPECT_NE(operation.answer, Operation::Answer::kExecute) << operation.id;
    refused += operation.answer == Operation::Answer::kUnavailable;
  }
  EXPECT_GT(refused, 0u);
}

// What becomes of the scenario under twenty seeds: every check holds, and `seen` is true of some.
void HoldsAndShows(const std::string& scenario, const std::function<bool(const History&)>& seen) {
  bool shown = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const History history = Simulate(std::get<RunOptions>(LoadScenario(scenario, seed)));
    EXPECT_TRUE(history.violations.empty()) << "seed " << seed << "\n" << Said(history);
    shown = shown || seen(history);
  }
  EXPECT_TRUE(shown);
}

bool HasFault(const History& history, Fault::Kind kind) {
  return std::any_of(history.faults.begin(), history.faults.end(),
                     [kind](const Fault& fault) { return fault.kind == kind; });
}

// The region died when it had some pieces of the snapshot, and not all.
bool DiedOnTheWay(const History& history, const SnapshotTrip& trip) {
  return std::any_of(history.faults.begin(), history.faults.end(), [&trip](const Fault& fault) {
    return fault.kind == Fault::Kind::kCrash && fault.region == trip.region &&
           fault.from_ms >= trip.begun_ms && trip.there_ms < 0;
  });
}

// Of two changes at once, one waits for the other.
TEST(Simulation, S_26_MembersComeAndGoDuringACut) {
  HoldsAndShows("strict-members-change-in-a-cut", [](const History& history) {
    return HasFault(history, Fault::Kind::kDismissed) && history.leaders.size() > 1 &&
           history.changes_refused > 0;
  });
}

TEST(Simulation, S_27_AMemberDiesWhileItReceivesASnapshot) {
  HoldsAndShows("strict-snapshot-and-crash", [](const History& history) {
    return std::any_of(
        history.snapshots.begin(), history.snapshots.end(),
        [&history](const SnapshotTrip& trip) { return DiedOnTheWay(history, trip); });
  });
}

// The one that was to lead comes back with a higher term, and whoever leads then follows it.
TEST(Simulation, ATransferToARegionThatIsCutOffExcusesTheChangeAtItsReturn) {
  HoldsAndShows("strict-transfer-cut",
                [](const History& history) { return history.leaders.back().at_ms > 21'000; });
}

TEST(Simulation, EveryScenarioHolds) {
  const std::vector<Scenario> scenarios = ListScenarios();
  EXPECT_GE(scenarios.size(), 37u);
  for (const Scenario& scenario : scenarios) {
    const auto options = LoadScenario(scenario.name, 7);
    ASSERT_TRUE(std::holds_alternative<RunOptions>(options)) << std::get<std::string>(options);
    const History history = Simulate(std::get<RunOptions>(options));
    EXPECT_TRUE(history.violations.empty()) << scenario.name << "\n" << Said(history);
    EXPECT_FALSE(scenario.about.empty()) << scenario.name;
  }
}

TEST(Simulation, AConflictThatHealsIsAConvergenceAndLookingChangesNothing) {
  RunOptions options = std::get<RunOptions>(LoadScenario("partition-heal", 7));
  const History unseen = Simulate(options);
  options.detailed = true;
  const History history = Simulate(options);
  EXPECT_EQ(history.trace_hash, unseen.trace_hash);
  ASSERT_FALSE(history.lost.empty());
  for (const LostRun& lost : history.lost)
    EXPECT_TRUE(std::any_of(
        history.convergences.begin(), history.convergences.end(),
        [&lost](const Convergence& each) { return each.key == lost.key && each.took_ms < 10'000; }))
        << lost.key;
}

TEST(Simulation, AMisspeltOptionIsAnError) {
  EXPECT_TRUE(std::holds_alternative<std::string>(LoadScenario("no-such-scenario", 1)));
}

History Read(const std::string& lines) {
  std::istringstream text(R"({"seed":1,"scenario":"","regions":["eu","us"],"lagBoundMs":100})"
                          "\n" +
                          lines);
  const auto read = ReadHistory(text);
  EXPECT_TRUE(std::holds_alternative<History>(read));
  return std::holds_alternative<History>(read) ? std::get<History>(read) : History();
}

constexpr const char* kExecuted =
    R"({"id":1,"kind":"begin","region":"eu","tenant":"a","key":"k","body":1,"invokedMs":0,)"
    R"("returnedMs":1,"answer":"execute","runId":"A","fence":1,"leaseMs":1000})"
    "\n"
    R"({"id":2,"kind":"settle","region":"eu","tenant":"a","key":"k","body":1,"invokedMs":10,)"
    R"("returnedMs":11,"answer":"done","runId":"A","fence":1,"status":200,"answerBody":"x"})"
    "\n";

TEST(RecordedHistory, ARetryThatIsReplayedIsRight) {
  const History history = Read(std::string(kExecuted) +
                               R"({"id":3,"kind":"begin","region":"us","tenant":"a","key":"k",)"
                               R"("body":1,"invokedMs":20,"returnedMs":21,"answer":"replay",)"
                               R"("runId":"A","fence":1,"status":200,"answerBody":"x"})");
  EXPECT_EQ(history.operations.size(), 3u);
  EXPECT_TRUE(CheckHistory(history).empty());
}

TEST(RecordedHistory, ASecondExecutionIsFound) {
  const History history = Read(std::string(kExecuted) +
                               R"({"id":3,"kind":"begin","region":"eu","tenant":"a","key":"k",)"
                               R"("body":1,"invokedMs":20,"returnedMs":21,"answer":"execute",)"
                               R"("runId":"B","fence":2,"leaseMs":1000})");
  ASSERT_FALSE(CheckHistory(history).empty());
  EXPECT_EQ(CheckHistory(history).front().checker, "expiry");
}

TEST(RecordedHistory, AnotherAnswerForTheSameRunIsFound) {
  const History history = Read(std::string(kExecuted) +
                               R"({"id":3,"kind":"begin","region":"eu","tenant":"a","key":"k",)"
                               R"("body":1,"invokedMs":20,"returnedMs":21,"answer":"replay",)"
                               R"("runId":"A","fence":1,"status":200,"answerBody":"y"})");
  ASSERT_FALSE(CheckHistory(history).empty());
  EXPECT_EQ(CheckHistory(history).front().checker, "answers");
}

TEST(RecordedHistory, S_38_AnAnswerThatComesBackAfterItsEndIsFound) {
  const std::string settled =
      R"({"id":1,"kind":"begin","region":"eu","tenant":"a","key":"k","body":1,"invokedMs":0,)"
      R"("returnedMs":1,"answer":"execute","runId":"A","fence":1,"leaseMs":1000,)"
      R"("retentionMs":2000})"
      "\n"
      R"({"id":2,"kind":"settle","region":"eu","tenant":"a","key":"k","body":1,"invokedMs":10,)"
      R"("returnedMs":11,"answer":"done","runId":"A","fence":1,"status":200,"answerBody":"x",)"
      R"("retentionMs":2000})"
      "\n";
  const auto replayed_at = [](const std::string& ms) {
    return R"({"id":3,"kind":"begin","region":"us","tenant":"a","key":"k","body":1,"invokedMs":)" +
           ms + R"(,"returnedMs":)" + ms +
           R"(,"answer":"replay","runId":"A","fence":1,"status":200,"answerBody":"x"})";
  };
  EXPECT_TRUE(CheckHistory(Read(settled + replayed_at("4000"))).empty());
  const Violations late = CheckHistory(Read(settled + replayed_at("4012")));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late.front().checker, "zombie");
}

}  // namespace
}  // namespace once
