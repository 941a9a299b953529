// Stories of replication itself: what the simulator found, told once by hand.
#include "tests/story/story.h"

namespace once {
namespace {

ClusterOptions TwoRegions() {
  ClusterOptions options;
  options.regions = {"eu", "us"};
  return options;
}

TEST(Replication, S_09_ALostFrameIsSentAgainWhileTrafficGoesOn) {
  Story story(TwoRegions());
  story.cluster.Partition({"eu"}, {"us"});
  const std::string lost = story.Claim("eu", "lost");
  story.cluster.Heal();
  for (int i = 0; i < 10; ++i) {
    story.Claim("eu", "k" + std::to_string(i));
    story.Run(300);
  }
  const Answer retry = story.Begin("us", "lost");
  EXPECT_EQ(retry.kind, Answer::Kind::kReplay);
  EXPECT_EQ(retry.claim.run_id(), lost);
}

TEST(Replication, ABurstOfWhichMessagesOvertookOthersArrivesWithTheNextSending) {
  ClusterOptions options = TwoRegions();
  options.gossip.window_bytes = 2048;
  LinkRules rules;
  rules.delay_ms = 10;
  rules.jitter_ms = 20;
  for (options.seed = 1; options.seed <= 10; ++options.seed) {
    Story story(options);
    story.cluster.network().SetRules(rules);
    for (int i = 0; i < 60; ++i) {
      story.cluster.Submit("eu", story.CreateRunCommand("k" + std::to_string(i), "noop"),
                           [](const Answer&) {});
      story.Run(1);
    }
    EXPECT_TRUE(story.RunUntilQuiet(3 * options.gossip.resend_ms)) << options.seed;
  }
}

TEST(Replication, ARestartedNodeStillKnowsWhatItsPeerLacks) {
  Story story(TwoRegions());
  story.cluster.Partition({"eu"}, {"us"});
  story.Claim("eu", "k1");
  story.Run(5000);
  story.cluster.Crash("eu");
  story.cluster.Restart("eu");
  story.Run(300);
  EXPECT_GE(story.cluster.gossip("eu").StateOf("us").partition_seconds, 5.0);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_LT(story.cluster.gossip("eu").StateOf("us").partition_seconds, 1.0);
}

TEST(Replication, S_47_AFullDiskDoesNotLeaveTheGaugeRising) {
  Story story(TwoRegions());
  story.cluster.disk("eu").SetFull(true);
  EXPECT_EQ(story.Begin("eu", "k1").kind, Answer::Kind::kFull);
  story.cluster.disk("eu").SetFull(false);
  ASSERT_TRUE(story.RunUntilQuiet());
  story.Run(3000);
  EXPECT_EQ(story.cluster.gossip("eu").StateOf("us").unacknowledged, 0u);
  EXPECT_LT(story.cluster.gossip("eu").StateOf("us").partition_seconds, 1.0);
}

TEST(Replication, ASettleThatReachesAnotherRegionChangesNothing) {
  Story story(TwoRegions());
  const Answer owned = story.Begin("eu", "k1");
  story.Run(200);
  EXPECT_EQ(story.Complete("us", owned).kind, Answer::Kind::kUnavailable);
  EXPECT_EQ(story.Complete("eu", owned).kind, Answer::Kind::kDone);
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.Survivor("k1"), owned.claim.run_id());
  EXPECT_EQ(story.cluster.gossip("eu").StateOf("us").refused, 0u);
}

TEST(Replication, S_16_WhoComesBackAfterLeaseAndRetentionCannotComplete) {
  ClusterOptions options = TwoRegions();
  options.lease_ms = 500;
  options.retention_ms = 1000;
  Story story(options);
  const Answer late = story.Begin("eu", "k1");
  story.Run(500 + 1000 + 1000 + 200);
  const Answer next = story.Begin("eu", "k1");
  ASSERT_EQ(next.kind, Answer::Kind::kExecute);
  ASSERT_NE(next.claim.run_id(), late.claim.run_id());
  EXPECT_EQ(story.Complete("eu", late).kind, Answer::Kind::kStaleFence);
  EXPECT_EQ(story.Complete("eu", next).kind, Answer::Kind::kDone);
}

TEST(Replication, S_16_AnAdmissionThatEndsAfterLeaseAndRetentionStartsNoRun) {
  ClusterOptions options = TwoRegions();
  options.lease_ms = 500;
  options.retention_ms = 1000;
  Story story(options);
  Command reserve = story.CreateRunCommand("k1", "noop");
  reserve.mutable_mutation()->set_reserve_only(true);
  const auto admit = [&](const Answer& reserved) {
    Command admitted = story.CreateRunCommand("k1", "noop");
    admitted.mutable_mutation()->set_admitted_fence(reserved.claim.fence());
    return story.Do("eu", admitted);
  };
  const Answer late = story.Do("eu", reserve);
  story.Run(500 + 1000 + 1000 + 200);
  const Answer next = story.Do("eu", reserve);
  ASSERT_EQ(next.kind, Answer::Kind::kExecute);
  ASSERT_NE(next.claim.run_id(), late.claim.run_id());
  EXPECT_EQ(admit(late).kind, Answer::Kind::kStaleFence);
  EXPECT_EQ(admit(next).kind, Answer::Kind::kDone);
}

// A run that starts later than its claim began has a run id that is older than itself.
void IsKnownInUs(Story& story, const Command& command, const Answer& made) {
  ASSERT_EQ(made.outcome.status(), 201u);
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.cluster.gossip("us").StateOf("eu").refused, 0u);
  EXPECT_EQ(story.RunIn("us", made.claim.run_id()).run_id(), made.claim.run_id());
  const Answer retry = story.Do("us", command);
  EXPECT_EQ(retry.kind, Answer::Kind::kReplay);
  EXPECT_EQ(retry.claim.run_id(), made.claim.run_id());
}

TEST(Replication, OW_L1_14_ARunThatASecondTryStartedIsKnownInEveryRegion) {
  Story story(TwoRegions());
  Command command = story.CreateRunCommand("k1", "fail");
  command.mutable_mutation()->mutable_create_run()->set_fail_status(503);
  command.mutable_mutation()->mutable_create_run()->set_fail_times(1);
  EXPECT_EQ(story.Do("eu", command).outcome.status(), 503u);
  story.Run(100);
  IsKnownInUs(story, command, story.Do("eu", command));
}

TEST(Replication, ARunWhoseAdmissionTookTimeIsKnownInEveryRegion) {
  Story story(TwoRegions());
  const Command command = story.CreateRunCommand("k1", "noop");
  Command reserve = command;
  reserve.mutable_mutation()->set_reserve_only(true);
  const Answer reserved = story.Do("eu", reserve);
  ASSERT_EQ(reserved.kind, Answer::Kind::kExecute);
  story.Run(100);
  Command admitted = command;
  admitted.mutable_mutation()->set_admitted_fence(reserved.claim.fence());
  IsKnownInUs(story, command, story.Do("eu", admitted));
}

TEST(Replication, S_12_AnswersOfAMegabyteFitTheirMessages) {
  Story story(TwoRegions());
  story.cluster.Partition({"eu"}, {"us"});
  for (int i = 0; i < 6; ++i) {
    const Answer owned = story.Begin("eu", "k" + std::to_string(i));
    Command command = Story::CompleteCommand(owned);
    command.mutable_settle()->mutable_outcome()->set_body(std::string(1u << 20, 'x'));
    // All of them in one batch, so that one frame would hold them all.
    story.cluster.Submit("eu", command, [](const Answer&) {});
  }
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.cluster.gossip("us").StateOf("eu").refused, 0u);
}

}  // namespace
}  // namespace once
