// Runs of the built-in workflows: every step happens once, over crashes too.
#include <gtest/gtest.h>

#include "replica/ledger/workflows.h"
#include "tests/replica/node_story.h"

namespace once {
namespace {

using Types = std::vector<std::string>;

Command Resolve(const std::string& run_id, bool approved) {
  Command command = MutationUnder("decide-" + run_id);
  ResolveApproval& resolve = *command.mutable_mutation()->mutable_resolve_approval();
  resolve.set_run_id(run_id);
  resolve.set_node_id("approve");
  resolve.set_approved(approved);
  return command;
}

struct Story {
  const char* workflow;
  RunStatus end;
  Types events;
};

class ExecutorTest : public testing::TestWithParam<Story> {};

TEST_P(ExecutorTest, RunsToItsEnd) {
  NodeStory node;
  const std::string run_id =
      node.Ask(CreateRunUnder("key", GetParam().workflow, 5 * kSecondMs)).run_id;
  EXPECT_EQ(node.RunOf(run_id)->status(), RUNNING);
  node.scheduler->RunFor(6 * kSecondMs);
  EXPECT_EQ(node.RunOf(run_id)->status(), GetParam().end);
  EXPECT_EQ(node.EventsOf(run_id), GetParam().events);
}

TEST_P(ExecutorTest, S18_ResumesAfterACrashAtAnyMomentAndRepeatsNothing) {
  for (int crash_after = 0; crash_after < 40; ++crash_after) {
    NodeStory node;
    const std::string run_id =
        node.Ask(CreateRunUnder("key", GetParam().workflow, 5 * kSecondMs)).run_id;
    node.disk.SetSyncDelay(2);
    for (int i = 0; i < crash_after; ++i) node.scheduler->RunOne();
    Random random(static_cast<std::uint64_t>(crash_after));
    node.CrashKeepingSome(random);
    node.disk.SetSyncDelay(0);
    node.Boot();
    node.scheduler->RunFor(10 * kSecondMs);
    ASSERT_EQ(node.RunOf(run_id)->status(), GetParam().end) << crash_after;
    ASSERT_EQ(node.EventsOf(run_id), GetParam().events) << crash_after;
  }
}

INSTANTIATE_TEST_SUITE_P(
    BuiltIn, ExecutorTest,
    testing::Values(Story{"noop", RUN_COMPLETED, {"run.started", "run.completed"}},
                    Story{"delay", RUN_COMPLETED, {"run.started", "run.completed"}},
                    Story{"fail", RUN_COMPLETED, {"run.started", "run.completed"}},
                    Story{"append",
                          RUN_COMPLETED,
                          {"run.started", "channel.written", "channel.written", "run.completed"}},
                    Story{"approval", WAITING_APPROVAL, {"run.started", "approval.requested"}}),
    [](const auto& info) { return std::string(info.param.workflow); });

TEST(Executor, AnApprovedRunCompletesAlsoWhenTheNodeCrashesRightAfter) {
  NodeStory node;
  const std::string run_id = node.Ask(CreateRunUnder("key", "approval")).run_id;
  node.CrashAndBoot();
  ASSERT_EQ(node.RunOf(run_id)->status(), WAITING_APPROVAL);
  const auto granted = node.Submit(Resolve(run_id, true));
  ASSERT_TRUE(node.scheduler->RunUntil([&] { return granted->has_value(); }, 1000));
  node.CrashAndBoot();
  node.scheduler->RunUntilIdle();
  EXPECT_EQ(node.RunOf(run_id)->status(), RUN_COMPLETED);
  EXPECT_EQ(node.EventsOf(run_id),
            (Types{"run.started", "approval.requested", "approval.granted", "run.completed"}));
}

TEST(Executor, ARejectedRunFailsAndIsDecidedOnce) {
  NodeStory node;
  const std::string run_id = node.Ask(CreateRunUnder("key", "approval")).run_id;
  const std::string token = node.RunOf(run_id)->interrupt_token();
  ASSERT_FALSE(token.empty());
  EXPECT_EQ(node.Ask(Resolve(run_id, false)).outcome.status(), 200u);
  EXPECT_EQ(node.RunOf(run_id)->status(), RUN_FAILED);
  Command by_token = MutationUnder("late");
  by_token.mutable_mutation()->mutable_resolve_interrupt()->set_token(token);
  EXPECT_EQ(node.Ask(by_token).outcome.status(), 409u) << "it is decided";
}

TEST(Executor, ACancelledRunNeverCompletes) {
  NodeStory node;
  const std::string run_id = node.Ask(CreateRunUnder("key", "delay", 5 * kSecondMs)).run_id;
  EXPECT_EQ(node.Ask(CancelRunUnder("cancel", run_id)).outcome.status(), 200u);
  node.scheduler->RunFor(10 * kSecondMs);
  EXPECT_EQ(node.RunOf(run_id)->status(), RUN_CANCELLED);
  EXPECT_EQ(node.EventsOf(run_id), (Types{"run.started", "run.cancelled"}));
}

TEST(Executor, AnEndedRunCannotBeCancelled) {
  NodeStory node;
  const std::string run_id = node.Ask(CreateRunUnder("key", "noop")).run_id;
  EXPECT_EQ(node.Ask(CancelRunUnder("cancel", run_id)).outcome.status(), 409u);
  EXPECT_EQ(node.RunOf(run_id)->status(), RUN_COMPLETED);
}

TEST(Executor, AForeignTenantsRunLooksLikeNone) {
  NodeStory node;
  const std::string run_id = node.Ask(CreateRunUnder("key", "delay", kHourMs)).run_id;
  Command cancel = CancelRunUnder("", run_id);
  cancel.mutable_mutation()->set_tenant("mallory");
  EXPECT_EQ(node.Ask(cancel).outcome.status(), 404u);
  EXPECT_EQ(node.RunOf(run_id)->status(), RUNNING);
}

TEST(Executor, TheListenerHearsOfEveryDurableChange) {
  NodeStory node;
  Types heard;
  node.replica->SetRunListener([&](const std::string& run_id) { heard.push_back(run_id); });
  node.disk.SetSyncDelay(10);
  const auto made = node.Submit(CreateRunUnder("key", "noop"));
  node.scheduler->RunFor(9);
  EXPECT_EQ(heard, Types{});
  node.scheduler->RunFor(20);
  const std::string run_id = (*made)->run_id;
  EXPECT_EQ(heard, (Types{run_id, run_id})) << "created, then completed";
}

TEST(Executor, AnEndedRunIsForgottenAfterItsRetention) {
  Config config;
  config.run_retention_ms = kHourMs;
  NodeStory node(config);
  const std::string run_id = node.Ask(CreateRunUnder("key", "noop")).run_id;
  node.scheduler->RunFor(kHourMs - kSecondMs);
  EXPECT_TRUE(node.RunOf(run_id));
  node.scheduler->RunFor(10 * kSecondMs);
  EXPECT_FALSE(node.RunOf(run_id));
}

TEST(Executor, TheExpirerKeepsUpWithManyRuns) {
  Config config;
  config.run_retention_ms = kHourMs;
  NodeStory node(config);
  for (int i = 0; i < 3000; ++i) node.Submit(CreateRunUnder("", "noop"));
  node.scheduler->RunFor(kSecondMs);
  const std::size_t before = node.disk.visible().size();
  EXPECT_GT(before, 9000u);
  node.scheduler->RunFor(kHourMs + 3 * kSecondMs);
  EXPECT_EQ(node.disk.visible().size(), 1u);
}

TEST(Workflows, AliasesAreKnownOnlyWithTestSeams) {
  EXPECT_EQ(BuiltInFor("noop", false), "noop");
  EXPECT_EQ(BuiltInFor("conformance-noop", false), "");
  EXPECT_EQ(BuiltInFor("conformance-noop", true), "noop");
  EXPECT_EQ(BuiltInFor("conformance-cancellable", true), "delay");
  EXPECT_EQ(BuiltInFor("unknown", true), "");
}

}  // namespace
}  // namespace once
