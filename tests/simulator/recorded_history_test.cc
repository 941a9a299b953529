// What a run wrote down is judged as the run was.
#include <sstream>

#include "simulator/checks.h"
#include "simulator/history_reader.h"
#include "simulator/report_json.h"
#include "simulator/runner.h"
#include "simulator/scenario.h"
#include "tests/simulator/calls.h"

namespace once {
namespace {

History WrittenAndRead(const History& history) {
  std::stringstream lines;
  WriteHistoryLines(history, lines);
  auto read = ReadHistory(lines);
  if (const std::string* wrong = std::get_if<std::string>(&read)) ADD_FAILURE() << *wrong;
  return std::holds_alternative<History>(read) ? std::get<History>(std::move(read)) : History();
}

std::string AllSaid(const Violations& violations) {
  std::string all;
  for (const Violation& violation : violations)
    all +=
        violation.checker + " at " + std::to_string(violation.at_ms) + ": " + violation.what + "\n";
  return all;
}

void IsJudgedAlike(const RunOptions& options) {
  const History history = Simulate(options);
  const History read = WrittenAndRead(history);
  const std::string where =
      "seed " + std::to_string(options.seed) + " scenario '" + options.scenario + "'";
  EXPECT_EQ(read.operations.size(), history.operations.size()) << where;
  EXPECT_EQ(read.lost.size(), history.lost.size()) << where;
  EXPECT_EQ(AllSaid(CheckHistory(read)), AllSaid(CheckHistory(history))) << where;
  EXPECT_EQ(AllSaid(history.violations), "") << where;
}

TEST(WrittenHistory, IsJudgedAsItsRunWas) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    for (const bool strict : {false, true}) IsJudgedAlike(DrawOptions(seed, strict));
}

TEST(WrittenHistory, IsJudgedAsItsRunWasAlsoWhereDirectoriesAreLost) {
  for (const char* scenario : {"emptied-directory", "restored-backup", "everything",
                               "strict-everything", "partition-heal", "three-way"})
    for (std::uint64_t seed = 1; seed <= 12; ++seed)
      IsJudgedAlike(std::get<RunOptions>(LoadScenario(scenario, seed)));
}

TEST(WrittenHistory, KeepsWhichDirectoryAnsweredAndWhatWasLostWithIt) {
  Calls calls;
  calls.Begin(0, 1, Operation::Answer::kExecute, "A", 1).lost = true;
  calls.Begin(2, 3, Operation::Answer::kExecute, "B", 1).life = 2;
  const History read = WrittenAndRead(calls.history);
  ASSERT_EQ(read.operations.size(), 2u);
  EXPECT_TRUE(read.operations[0].lost);
  EXPECT_EQ(read.operations[0].life, 0u);
  EXPECT_FALSE(read.operations[1].lost);
  EXPECT_EQ(read.operations[1].life, 2u);
}

}  // namespace
}  // namespace once
