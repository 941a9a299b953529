// A replica in a simulated world that can crash and start again on the same disk.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replica/replica.h"
#include "tests/replica/ledger_story.h"

namespace once {

class NodeStory {
 public:
  explicit NodeStory(Config with = {}) : config(std::move(with)) { Boot(); }

  /// A start on whatever the disk holds, `down_ms` after the last stop.
  void Boot(std::int64_t down_ms = 0) {
    wall_ms_ += down_ms;
    scheduler = std::make_unique<VirtualScheduler>(wall_ms_);
    store_ = std::make_unique<MemoryStore>(disk, *scheduler);
    replica = std::make_unique<Replica>(
        World{*scheduler, *store_, [this] { return random_.Next(); }}, config, metrics_);
    started = std::nullopt;
    replica->Start([this](bool ok) { started = ok; });
    scheduler->RunUntilIdle();
  }
  /// The power goes; nothing that was not synced survives.
  void Crash() {
    disk.CrashLosingUnsynced();
    End();
  }
  /// The same, but a random prefix of what was written survives.
  void CrashKeepingSome(Random& random) {
    disk.Crash(random);
    End();
  }
  void CrashAndBoot(std::int64_t down_ms = 0) {
    Crash();
    Boot(down_ms);
  }

  /// Submits and runs what is due now. Null: not answered yet.
  std::shared_ptr<std::optional<Answer>> Submit(const Command& command) {
    auto answer = std::make_shared<std::optional<Answer>>();
    replica->Submit(command, [answer](const Answer& given) { *answer = given; });
    return answer;
  }
  std::shared_ptr<std::optional<Answer>> SubmitOrWait(const Command& command,
                                                      std::int64_t wait_ms) {
    auto answer = std::make_shared<std::optional<Answer>>();
    replica->SubmitOrWait(command, wait_ms, [answer](const Answer& given) { *answer = given; });
    scheduler->RunUntilIdle();
    return answer;
  }
  /// The answer, for which time need not pass.
  Answer Ask(const Command& command) {
    const auto answer = Submit(command);
    scheduler->RunUntilIdle();
    EXPECT_TRUE(answer->has_value()) << "no answer";
    return answer->value_or(Answer{});
  }

  std::optional<Run> RunOf(const std::string& run_id) {
    std::optional<Run> run;
    replica->Read([&](Tables& tables) { run = tables.FindRun(run_id); }, [] {});
    scheduler->RunUntilIdle();
    return run;
  }
  std::vector<std::string> EventsOf(const std::string& run_id) {
    std::vector<std::string> types;
    replica->Read(
        [&](Tables& tables) {
          for (const RunEvent& event : tables.Events(run_id, 0, 100)) types.push_back(event.type());
        },
        [] {});
    scheduler->RunUntilIdle();
    return types;
  }

  Config config;
  MemoryDisk disk;
  std::unique_ptr<VirtualScheduler> scheduler;
  std::unique_ptr<Replica> replica;
  std::optional<bool> started;

 private:
  void End() {
    wall_ms_ = scheduler->WallMillis();
    replica.reset();
    store_.reset();
    scheduler.reset();
  }

  std::int64_t wall_ms_ = kStartMs;
  Random random_{11};
  Metrics metrics_{100};
  std::unique_ptr<MemoryStore> store_;
};

}  // namespace once
