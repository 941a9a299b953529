// Records of losers that are right, and every way in which they can be wrong.
#include <algorithm>
#include <functional>

#include "simulator/checks.h"
#include "simulator/runner.h"
#include "simulator/scenario.h"
#include "tests/simulator/calls.h"

namespace once {
namespace {

using Heard = Operation::Answer;

std::string Said(const Violations& violations) {
  std::string all;
  for (const Violation& violation : violations) all += violation.what + "\n";
  return all;
}

/// eu and us both complete the key during a cut; then B loses to A everywhere.
class TwoSides : public testing::Test {
 protected:
  TwoSides() {
    calls_.Begin(0, 1, Heard::kExecute, "A", 1);
    calls_.Begin(5, 6, Heard::kExecute, "B", 1).region = "us";
    calls_.Settle(10, 11, Heard::kDone, "A", 1, "a");
    calls_.Settle(12, 13, Heard::kDone, "B", 1, "b").region = "us";
    calls_.Replay(20, 21, "B", 1, "b").region = "us";
    calls_.Replay(100, 101, "A", 1, "a").region = "us";
    calls_.Replay(10'000, 10'001, "A", 1, "a").region = "us";
    for (Operation& operation : history_.operations) {
      operation.strict = false;
      operation.retention_ms = 60'000;
    }
    history_.regions = {"eu", "us"};
    history_.lost = {{90, "us", "acme", "k", "A", "B", "eu|us", false, true}};
  }
  LostRun& record() { return history_.lost.front(); }
  std::string Judged() const { return Said(CheckConflicts(history_)); }

  Calls calls_;
  History& history_ = calls_.history;
};

TEST_F(TwoSides, ARecordOfTheLoserIsRight) {
  EXPECT_EQ(Said(CheckHistory(history_)), "");
}

TEST_F(TwoSides, ALoserWithoutARecordIsFound) {
  history_.lost.clear();
  EXPECT_EQ(Judged(),
            "us acme/k #4 run B was answered with run A by its home, and its loss is not "
            "recorded\n");
}

TEST_F(TwoSides, ALoserThatItsHomeStillAnswersWithNeedsNoRecord) {
  history_.lost.clear();
  history_.operations.resize(5);
  EXPECT_EQ(Judged(), "");
}

TEST_F(TwoSides, ALaterGenerationIsNoConflict) {
  history_.lost.clear();
  for (Operation& operation : history_.operations) operation.retention_ms = 2000;
  history_.operations[5].invoked_ms = history_.operations[5].returned_ms = 2500;
  EXPECT_EQ(Judged(), "");
}

TEST_F(TwoSides, ARecordThatIsThereTwiceIsFound) {
  history_.lost.push_back(record());
  EXPECT_EQ(Judged(), "us acme/k run B was recorded twice\n");
}

TEST_F(TwoSides, AWinnerThatIsNotLowerIsFound) {
  std::swap(record().winner, record().loser);
  EXPECT_NE(Judged().find("run A lost to B, which is not lower"), std::string::npos) << Judged();
  EXPECT_NE(Judged().find("its home is eu"), std::string::npos) << Judged();
}

TEST_F(TwoSides, ARecordOfAnotherRegionThanTheHomeIsFound) {
  record().region = "eu";
  EXPECT_NE(Judged().find("was recorded by eu, its home is us"), std::string::npos) << Judged();
}

TEST_F(TwoSides, ARegionPairOfOthersIsFound) {
  record().region_pair = "ap|us";
  EXPECT_EQ(Judged(), "us acme/k run B was counted under ap|us, but the winner's home is eu\n");
}

TEST_F(TwoSides, ARecordOfAnotherKeyIsFound) {
  record().key = "other";
  EXPECT_NE(Judged().find("is of another key than the record of A"), std::string::npos);
  record().key = "k";
  record().tenant = "globex";
  EXPECT_NE(Judged().find("is of another key than the record of B"), std::string::npos);
}

TEST_F(TwoSides, AWinnerOfAnotherKeyIsFound) {
  for (Operation& operation : history_.operations)
    if (operation.run_id == "A") operation.key = "other";
  EXPECT_NE(Judged().find("run B lost to A of another key"), std::string::npos) << Judged();
}

TEST_F(TwoSides, ARunThatNobodyCompletedTakesNoPart) {
  for (Operation& operation : history_.operations)
    if (operation.run_id == "B") operation.status = operation.status ? 422 : 0;
  EXPECT_EQ(Judged(), "us acme/k run B was recorded, but nobody completed B\n");
}

TEST_F(TwoSides, PayloadsThatDifferAreRecordedAsThat) {
  record().payload_divergent = true;
  EXPECT_EQ(Judged(), "us acme/k run B was recorded with another request as A, which is not so\n");
}

TEST_F(TwoSides, ALoserThatIsAnsweredWithAgainIsFound) {
  history_.operations.back().run_id = "B";
  EXPECT_EQ(Judged(), "us acme/k run B was answered with after it had lost, in #7\n");
}

TEST_F(TwoSides, ALostDirectoryMayUndoTheWinnerAndTheRecord) {
  history_.lost.clear();
  history_.faults = {{Fault::Kind::kEmptied, 200, 300, "eu", "", 0}};
  EXPECT_EQ(Judged(), "");
  history_.faults.clear();
  history_.operations.front().life = 1;
  EXPECT_EQ(Judged(), "");
}

/// What `corrupt` does to histories of real worlds is found in most of them, and the histories
/// themselves are right.
void IsFound(const std::function<void(History&)>& corrupt, double at_least) {
  int with_losers = 0;
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    RunOptions options = std::get<RunOptions>(LoadScenario("partition-heal", seed));
    options.workload.calls +=
        options.workload.calls / 2;  // so that callers can tell of most losers
    History history = Simulate(options);
    EXPECT_EQ(Said(history.violations), "") << seed;
    if (history.lost.empty()) continue;
    ++with_losers;
    corrupt(history);
    found += !CheckConflicts(history).empty();
  }
  EXPECT_GE(with_losers, 200);
  EXPECT_GE(found, at_least * with_losers) << found << " of " << with_losers;
}

TEST(ConflictsOfWorlds, RecordsThatAreMissingAreFound) {
  IsFound([](History& history) { history.lost.clear(); }, 0.8);
}

TEST(ConflictsOfWorlds, RecordsThatAreThereTwiceAreFound) {
  IsFound([](History& history) { history.lost.push_back(history.lost.front()); }, 1);
}

TEST(ConflictsOfWorlds, WinnersAndLosersThatAreSwappedAreFound) {
  IsFound(
      [](History& history) {
        for (LostRun& lost : history.lost) std::swap(lost.winner, lost.loser);
      },
      1);
}

}  // namespace
}  // namespace once
