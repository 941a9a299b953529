// Real callers of real regions, through a cut and its heal; what they saw is judged by the checkers
// of the simulator.
#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "tests/system/history_recorder.h"

namespace once {
namespace {

constexpr int kCallersPerRegion = 2;
constexpr int kKeysPerPhase = 12;
constexpr int kBeginsPerPhase = 60;

class RecordedHistory : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.StartAll());
    ASSERT_TRUE(cluster_.IsQuiet());
  }

  static std::string Key(int phase, int index) {
    return "key-" + std::to_string(phase) + "-" + std::to_string(index);
  }
  // One caller's part of a phase: keys of this phase and of those before, most requests alike, most
  // work done, some of it failing for now and some abandoned.
  static void Work(RecordedCaller& caller, int phase, unsigned seed) {
    std::mt19937 random(seed);
    const auto one_in = [&random](unsigned n) { return random() % n == 0; };
    for (int i = 0; i < kBeginsPerPhase; ++i) {
      const int of_phase = one_in(3) ? static_cast<int>(random() % (phase + 1u)) : phase;
      const std::string key = Key(of_phase, static_cast<int>(random() % kKeysPerPhase));
      const Operation begun = caller.Begin(key, one_in(8) ? 2 : 1);
      if (begun.answer != Operation::Answer::kExecute || one_in(16)) continue;
      caller.Settle(begun, one_in(6) ? 503 : one_in(8) ? 422 : 201);
    }
  }
  void PlayPhase(int phase) {
    std::vector<std::unique_ptr<RecordedCaller>> callers;
    std::vector<std::thread> threads;
    for (const std::string& region : cluster_.regions())
      for (int i = 0; i < kCallersPerRegion; ++i)
        callers.push_back(std::make_unique<RecordedCaller>(recorder_, cluster_, region));
    for (std::size_t i = 0; i < callers.size(); ++i)
      threads.emplace_back([caller = callers[i].get(), phase, i] {
        Work(*caller, phase, static_cast<unsigned>(1000 * phase) + static_cast<unsigned>(i));
      });
    for (std::thread& thread : threads) thread.join();
  }
  // The last word on every key, in every region.
  void AskForAll(int phases) {
    std::map<std::string, std::set<std::string>> answers;
    for (const std::string& region : cluster_.regions()) {
      RecordedCaller caller(recorder_, cluster_, region);
      for (int phase = 0; phase < phases; ++phase)
        for (int i = 0; i < kKeysPerPhase; ++i) {
          const Operation told = caller.Begin(Key(phase, i), 1);
          if (told.answer == Operation::Answer::kReplay) answers[told.key].insert(told.run_id);
        }
    }
    ASSERT_FALSE(answers.empty());
    for (const auto& [key, runs] : answers) EXPECT_EQ(runs.size(), 1u) << key;
  }
  History Record() {
    const Regions one = {"us"}, other = {"eu", "ap"};
    PlayPhase(0);
    cluster_.Cut(one, other);
    recorder_.Cut(one, other);
    PlayPhase(1);
    cluster_.Heal();
    recorder_.Heal();
    PlayPhase(2);
    EXPECT_TRUE(cluster_.IsQuiet());
    for (int twice = 0; twice < 2; ++twice) AskForAll(3);
    recorder_.AddLost(cluster_.Acme("ap").Get("/v1/conflicts?limit=1000").body);
    return recorder_.Take();
  }
  // Its region has said the same before: AskForAll was done twice.
  static Operation& LastReplay(History& history) {
    return *std::find_if(history.operations.rbegin(), history.operations.rend(),
                         [](const Operation& operation) {
                           return operation.kind == Operation::Kind::kBegin &&
                                  operation.answer == Operation::Answer::kReplay;
                         });
  }

  ClusterProcess cluster_;
  HistoryRecorder recorder_{cluster_.regions()};
};

TEST_F(RecordedHistory, S_01_OW_MB_05_WhatCallersSawThroughACutHoldsAndACorruptedOneDoesNot) {
  const History history = Record();
  const ProgramResult verdict = JudgeHistory(history);
  EXPECT_EQ(verdict.exit_code, 0) << verdict.out << verdict.err;
  EXPECT_EQ(verdict.out, "pass: " + std::to_string(history.operations.size()) + " operations\n");
  EXPECT_GT(history.lost.size(), 0u) << "both sides of the cut admitted";
  EXPECT_EQ(cluster_.TotalMetric(kConflictsTotal), history.lost.size());

  History other_bytes = history;
  LastReplay(other_bytes).answer_body += "!";
  EXPECT_EQ(JudgeHistory(other_bytes).exit_code, 1) << "one answer is not the one that was stored";

  History admitted_twice = history;
  Operation& twice = LastReplay(admitted_twice);
  twice.answer = Operation::Answer::kExecute;
  twice.run_id = "ANOTHER";
  twice.status = 0;
  EXPECT_EQ(JudgeHistory(admitted_twice).exit_code, 1) << "a key was given out again";

  History another_survivor = history;
  LastReplay(another_survivor).run_id = "ZZZZZZZZZZZZZZZZZZZZZZZZZZ";
  EXPECT_EQ(JudgeHistory(another_survivor).exit_code, 1)
      << "a region changed its mind to a higher run";

  History unrecorded = history;
  unrecorded.lost.clear();
  EXPECT_EQ(JudgeHistory(unrecorded).exit_code, 1) << "no loser was recorded";

  History recorded_twice = history;
  recorded_twice.lost.push_back(history.lost.front());
  EXPECT_EQ(JudgeHistory(recorded_twice).exit_code, 1) << "a loser was recorded twice";
}

}  // namespace
}  // namespace once
