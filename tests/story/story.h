// A vocabulary for handwritten scenarios on the simulator's cluster.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conflict/survivor.h"
#include "simulator/cluster.h"

namespace once {

class Story {
 public:
  explicit Story(ClusterOptions options = {}) : cluster(std::move(options)) { Run(10); }

  /// Begins and waits for the answer.
  Answer Begin(const std::string& region, const std::string& key, std::uint64_t body = 1) {
    return Do(region, BeginCommand("acme", key, body, cluster.options().lease_ms,
                                   cluster.options().retention_ms));
  }
  Answer Complete(const std::string& region, const Answer& owned, std::uint32_t status = 200) {
    Command command;
    Settle& settle = *command.mutable_settle();
    settle.set_tenant("acme");
    settle.set_hash(owned.hash);
    settle.set_run_id(owned.claim.run_id());
    settle.set_fence(owned.claim.fence());
    settle.set_state(status < 400 ? COMPLETED : status >= 500 ? RETRYABLE : TERMINAL_FAILURE);
    settle.mutable_outcome()->set_status(status);
    settle.mutable_outcome()->set_body("answer of " + owned.claim.run_id());
    return Do(region, command);
  }
  /// Begins and completes; the run id.
  std::string Claim(const std::string& region, const std::string& key, std::uint64_t body = 1) {
    const Answer owned = Begin(region, key, body);
    EXPECT_EQ(owned.kind, Answer::Kind::kExecute);
    EXPECT_EQ(Complete(region, owned).kind, Answer::Kind::kDone);
    return owned.claim.run_id();
  }
  Answer Do(const std::string& region, const Command& command) {
    std::optional<Answer> answer;
    cluster.Submit(region, command, [&answer](const Answer& a) { answer = a; });
    EXPECT_TRUE(cluster.time().RunUntil([&answer] { return answer.has_value(); }, 10'000));
    return answer.value_or(Answer{});
  }
  void Run(std::int64_t ms) { cluster.time().RunFor(ms); }
  bool RunUntilQuiet(std::int64_t limit_ms = 30'000) {
    const bool converged =
        cluster.time().RunUntil([this] { return cluster.Converged(); }, limit_ms);
    Run(1000);
    return converged && cluster.Converged();
  }
  std::uint64_t ConflictsCounted() {
    std::uint64_t sum = 0;
    for (const std::string& region : cluster.regions())
      sum += cluster.replica(region).tables().head().conflicts();
    return sum;
  }
  /// The survivor of the key, the same in every region; empty and a failure when they differ.
  std::string Survivor(const std::string& key) {
    std::set<std::string> survivors;
    const std::string hash = BeginCommand("acme", key, 1, 1, 1).begin().slot().hash();
    for (const std::string& region : cluster.regions()) {
      Slot* slot = cluster.replica(region).tables().FindSlot(hash);
      const once::Claim* survivor =
          slot ? SurvivorAt(*slot, cluster.replica(region).NowMillis(), 1000) : nullptr;
      survivors.insert(survivor ? survivor->run_id() : "");
    }
    EXPECT_EQ(survivors.size(), 1u);
    return survivors.size() == 1 ? *survivors.begin() : "";
  }

  Cluster cluster;
};

}  // namespace once
