// Stories of runs whose home lost its directory: they come back as they were, and a loser stays
// one.
#include "tests/story/story.h"

namespace once {
namespace {

/// Without a key, so that there is no claim of it.
std::string RunWithoutKey(Story& story, const std::string& region) {
  Command command = story.CreateRunCommand("k", "delay");
  command.mutable_mutation()->clear_begin();
  const Answer answer = story.Do(region, command);
  EXPECT_EQ(answer.outcome.status(), 201u);
  return answer.claim.run_id();
}

void LoseDirectory(Story& story, const std::string& region) {
  story.cluster.Crash(region);
  story.cluster.Empty(region);
  story.cluster.Restart(region);
}

TEST(LostRuns, ARunWithoutAKeyComesBackToItsHomeAndGoesOn) {
  Story story;
  const std::string run = RunWithoutKey(story, "us");
  story.Run(5000);
  LoseDirectory(story, "us");
  ASSERT_TRUE(story.RunUntilQuiet(120'000));
  EXPECT_EQ(story.RunIn("us", run).status(), RUNNING);
  story.Run(3'600'000);
  for (const std::string& region : story.cluster.regions())
    EXPECT_EQ(story.RunIn(region, run).status(), RUN_COMPLETED) << region;
}

TEST(LostRuns, ARegionWithAnEmptyDiskHearsOfRunsWithoutAKeyAgain) {
  Story story;
  const std::string run = RunWithoutKey(story, "us");
  story.Run(5000);
  LoseDirectory(story, "ap");
  ASSERT_TRUE(story.RunUntilQuiet(120'000));
  EXPECT_EQ(story.RunIn("ap", run).status(), RUNNING);
}

// us alone has how the run began, in a stream that eu lost, and ap, which lost its directory as
// well, hears that last: not when it has forgotten already that the run was cancelled.
TEST(LostRuns, WhoForgotARunHearsNoMoreOfHowItBegan) {
  ClusterOptions options;
  options.run_retention_ms = 500;
  options.forget_grace_ms = 0;
  Story story(options);
  story.Claim("eu", "k1");
  story.Claim("us", "k2");
  ASSERT_TRUE(story.RunUntilQuiet());
  story.cluster.Partition({"ap"}, {"eu", "us"});
  const std::string run = RunWithoutKey(story, "eu");
  story.Run(1000);
  LoseDirectory(story, "eu");
  LoseDirectory(story, "ap");
  const auto comes_back = [&] { return story.RunIn("eu", run).status() == RUNNING; };
  ASSERT_TRUE(story.cluster.time().RunUntil(comes_back, 10'000));
  story.cluster.Crash("us");
  story.cluster.Restart("us");
  story.cluster.Heal();
  story.Do("eu", Story::CancelCommand(run));
  const auto has = [&] { return story.RunIn("ap", run).status() != RUN_STATUS_UNSPECIFIED; };
  ASSERT_TRUE(story.cluster.time().RunUntil(has, 10'000));
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return !has(); }, 60'000));
  EXPECT_FALSE(story.cluster.time().RunUntil(has, 60'000));
}

// eu knows the loser as it waited, ap as it had completed; us has it back from eu when it hears
// that it lost.
TEST(LostRuns, ALoserThatComesBackFromWhoSawItFurtherOnStaysCancelled) {
  Story story;
  story.CutAll();
  const std::string winner = story.Run("eu", "k1", "approval");
  story.Run(50);
  story.HealLink("us", "ap");
  const std::string loser = story.Run("us", "k1", "approval");
  story.cluster.network().Mend("us", "eu");  // and not back
  story.Run(3000);
  ASSERT_EQ(story.RunIn("eu", loser).status(), WAITING_APPROVAL);
  story.cluster.network().Cut("us", "eu");
  Command command;
  command.mutable_mutation()->set_tenant("acme");
  ResolveApproval& approval = *command.mutable_mutation()->mutable_resolve_approval();
  approval.set_run_id(loser);
  approval.set_node_id("approve");
  approval.set_approved(true);
  EXPECT_EQ(story.Do("us", command).outcome.status(), 200u);
  story.Run(3000);
  ASSERT_EQ(story.RunIn("ap", loser).status(), RUN_COMPLETED);
  story.cluster.Partition({"us"}, {"ap"});
  story.HealLink("us", "eu");
  LoseDirectory(story, "us");
  story.Run(30'000);
  ASSERT_EQ(story.RunIn("us", loser).status(), RUN_CANCELLED);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet(120'000));
  for (const std::string& region : story.cluster.regions()) {
    EXPECT_EQ(story.RunIn(region, loser).status(), RUN_CANCELLED) << region;
    EXPECT_EQ(story.RunIn(region, loser).reason(), "cross_region_dedup_loss") << region;
    EXPECT_EQ(story.RunIn(region, winner).status(), WAITING_APPROVAL) << region;
  }
}

// The frame that told of the loser and of its claim comes back when the winner is known.
TEST(LostRuns, ALoserThatComesBackWithItsClaimIsCancelled) {
  Story story;
  story.CutAll();
  story.Run("eu", "k1", "approval");
  story.Run(50);
  story.HealLink("us", "ap");
  const std::string loser = story.Run("us", "k1", "approval");
  story.Run(3000);
  story.cluster.Partition({"us"}, {"ap"});
  LoseDirectory(story, "us");
  story.HealLink("us", "eu");
  story.Run(3000);
  story.HealLink("us", "ap");
  story.Run(30'000);
  EXPECT_EQ(story.RunIn("us", loser).status(), RUN_CANCELLED);
  EXPECT_FALSE(story.RunIn("us", loser).completed_before()) << "it waited for an approval";
}

TEST(LostRuns, ALoserIsKeptForAsLongAsAnEndedRunSinceItWasCancelled) {
  ClusterOptions options;
  options.run_retention_ms = 20'000;
  options.forget_grace_ms = 0;
  Story story(options);
  story.cluster.Partition({"eu"}, {"us", "ap"});
  story.Run("eu", "k1");
  story.Run(50);
  const std::string loser = story.Run("us", "k1");
  story.Run(15'000);
  story.cluster.Heal();
  story.Run(15'000);
  EXPECT_EQ(story.RunIn("us", loser).status(), RUN_CANCELLED) << "not forgotten as completed";
  story.Run(15'000);
  EXPECT_EQ(story.RunIn("us", loser).run_id(), "");
}

TEST(LostRuns, ALoserThatComesBackIsRecordedAsWhatItWas) {
  Story story;
  story.cluster.Partition({"eu"}, {"us", "ap"});
  story.Run("eu", "k1");
  story.Run(50);
  const std::string loser = story.Run("us", "k1");
  story.Run(50);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  ASSERT_TRUE(story.Conflicts("us").at(0).loser_had_completed());
  LoseDirectory(story, "us");
  ASSERT_TRUE(story.RunUntilQuiet(120'000));
  EXPECT_TRUE(story.RunIn("us", loser).completed_before());
  ASSERT_EQ(story.Conflicts("us").size(), 1u);
  EXPECT_TRUE(story.Conflicts("us")[0].loser_had_completed());
}

}  // namespace
}  // namespace once
