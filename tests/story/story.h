// A vocabulary for handwritten scenarios on the simulator's cluster.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conflict/survivor.h"
#include "replica/api/digest.h"
#include "simulator/cluster.h"

namespace once {

class Story {
 public:
  explicit Story(ClusterOptions options = {}) : cluster(std::move(options)) { Run(10); }

  /// Begins and waits for the answer.
  Answer Begin(const std::string& region, const std::string& key, std::uint64_t body = 1,
               const std::string& tenant = "acme") {
    return Do(region, BeginCommand(tenant, key, body, cluster.options().lease_ms,
                                   cluster.options().retention_ms));
  }
  Answer Complete(const std::string& region, const Answer& owned, std::uint32_t status = 200) {
    return Do(region, CompleteCommand(owned, status));
  }
  static Command CompleteCommand(const Answer& owned, std::uint32_t status = 200) {
    Command command;
    Settle& settle = *command.mutable_settle();
    settle.set_tenant("acme");
    settle.set_hash(owned.hash);
    settle.set_run_id(owned.claim.run_id());
    settle.set_fence(owned.claim.fence());
    settle.set_state(status < 400 ? COMPLETED : status >= 500 ? RETRYABLE : TERMINAL_FAILURE);
    settle.mutable_outcome()->set_status(status);
    settle.mutable_outcome()->set_body("answer of " + owned.claim.run_id());
    return command;
  }
  /// Begins and completes; the run id.
  std::string Claim(const std::string& region, const std::string& key, std::uint64_t body = 1) {
    const Answer owned = Begin(region, key, body);
    EXPECT_EQ(owned.kind, Answer::Kind::kExecute);
    EXPECT_EQ(Complete(region, owned).kind, Answer::Kind::kDone);
    return owned.claim.run_id();
  }
  /// POST /v1/runs with that key: begin, effect and outcome in one.
  Answer CreateRun(const std::string& region, const std::string& key,
                   const std::string& workflow = "noop", std::uint64_t body = 1) {
    return Do(region, CreateRunCommand(key, workflow, body));
  }
  Command CreateRunCommand(const std::string& key, const std::string& workflow,
                           std::uint64_t body = 1) {
    Command command;
    Mutation& mutation = *command.mutable_mutation();
    mutation.set_tenant("acme");
    mutation.set_actor("caller");
    *mutation.mutable_begin() =
        BeginCommand("acme", key, body, cluster.options().lease_ms, cluster.options().retention_ms)
            .begin();
    SlotRef& slot = *mutation.mutable_begin()->mutable_slot();
    slot.set_surface(ROUTE);
    slot.set_endpoint("POST /v1/runs");
    slot.set_hash(SlotKey(ROUTE, "acme", "POST /v1/runs", key));
    mutation.mutable_create_run()->set_workflow_id(workflow);
    mutation.mutable_create_run()->set_name_shown(workflow);
    if (workflow == "delay") mutation.mutable_create_run()->set_delay_ms(3'600'000);
    return command;
  }
  /// The run id of a run that was admitted now.
  std::string Run(const std::string& region, const std::string& key,
                  const std::string& workflow = "noop", std::uint64_t body = 1) {
    const Answer answer = CreateRun(region, key, workflow, body);
    EXPECT_EQ(answer.kind, Answer::Kind::kDone);
    EXPECT_EQ(answer.outcome.status(), 201u);
    return answer.claim.run_id();
  }
  static Command CancelCommand(const std::string& run_id) {
    Command command;
    command.mutable_mutation()->set_tenant("acme");
    command.mutable_mutation()->mutable_cancel_run()->set_run_id(run_id);
    command.mutable_mutation()->mutable_cancel_run()->set_reason("no longer needed");
    return command;
  }
  /// `region` lets the home of a run carry out a command about it.
  Answer Forward(const std::string& region, const std::string& home, const Command& command) {
    ForwardRequest request;
    request.set_command(command.SerializeAsString());
    return Forward(region, home, request);
  }
  Answer Forward(const std::string& region, const std::string& home,
                 const ForwardRequest& request) {
    std::optional<Answer> answer;
    cluster.gossip(region).Forward(home, request, 2000, [&answer](const Answer& a) { answer = a; });
    EXPECT_TRUE(cluster.time().RunUntil([&answer] { return answer.has_value(); }, 10'000));
    return answer.value_or(Answer{});
  }
  once::Run RunIn(const std::string& region, const std::string& run_id) {
    return cluster.replica(region).tables().FindRun(run_id).value_or(once::Run());
  }
  /// How often the run's home says that it was cancelled because it lost.
  int CancelledEvents(const std::string& home, const std::string& run_id) {
    int count = 0;
    for (const RunEvent& event : cluster.replica(home).tables().Events(run_id, 0, 1000))
      if (event.type() == "run.cancelled" &&
          event.payload().find("cross_region_dedup_loss") != std::string::npos)
        ++count;
    return count;
  }
  /// Everything on the region's list.
  std::vector<Conflict> Listed(const std::string& region) {
    return cluster.replica(region).tables().Conflicts(1, 10'000);
  }
  /// The region's own losers.
  std::vector<Conflict> Conflicts(const std::string& region) {
    std::vector<Conflict> own = Listed(region);
    std::erase_if(own, [&](const Conflict& conflict) {
      return conflict.kind() != LOST || conflict.region() != region;
    });
    return own;
  }
  Answer Do(const std::string& region, const Command& command) {
    std::optional<Answer> answer;
    cluster.Submit(region, command, [&answer](const Answer& a) { answer = a; });
    EXPECT_TRUE(cluster.time().RunUntil([&answer] { return answer.has_value(); }, 10'000));
    return answer.value_or(Answer{});
  }
  void Run(std::int64_t ms) { cluster.time().RunFor(ms); }
  /// Cuts every link.
  void CutAll() {
    for (const std::string& region : cluster.regions()) cluster.Partition({region}, Others(region));
  }
  std::vector<std::string> Others(const std::string& region) {
    std::vector<std::string> others;
    for (const std::string& other : cluster.regions())
      if (other != region) others.push_back(other);
    return others;
  }
  void HealLink(const std::string& a, const std::string& b) {
    cluster.network().Mend(a, b);
    cluster.network().Mend(b, a);
  }
  bool RunUntilQuiet(std::int64_t limit_ms = 30'000) {
    const bool converged =
        cluster.time().RunUntil([this] { return cluster.Converged(); }, limit_ms);
    Run(1000);
    return converged && cluster.Converged();
  }
  std::uint64_t ConflictsCounted() { return ConflictsCountedIn(cluster.regions()); }
  std::uint64_t ConflictsCountedIn(const std::vector<std::string>& regions) {
    std::uint64_t sum = 0;
    for (const std::string& region : regions)
      sum += cluster.replica(region).tables().head().conflicts();
    return sum;
  }
  /// The survivor of the key, the same in every region; empty and a failure when they differ.
  std::string Survivor(const std::string& key, const std::string& tenant = "acme") {
    std::set<std::string> survivors;
    for (const std::string& region : cluster.regions()) {
      Slot* slot = SlotIn(region, key, tenant);
      const once::Claim* survivor =
          slot ? SurvivorAt(*slot, cluster.replica(region).NowMillis(), 1000) : nullptr;
      survivors.insert(survivor ? survivor->run_id() : "");
    }
    EXPECT_EQ(survivors.size(), 1u);
    return survivors.size() == 1 ? *survivors.begin() : "";
  }

  /// The slot of that key in the region, or null.
  Slot* SlotIn(const std::string& region, const std::string& key,
               const std::string& tenant = "acme") {
    return cluster.replica(region).tables().FindSlot(
        BeginCommand(tenant, key, 1, 1, 1).begin().slot().hash());
  }

  Cluster cluster;
};

}  // namespace once
