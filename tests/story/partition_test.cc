// Stories of partitions: both sides admit, then one survivor everywhere.
#include "tests/story/story.h"

namespace once {
namespace {

TEST(Partition, S_01_BothSidesClaimThenAgreeOnTheLowestRunId) {
  Story story;
  story.cluster.Partition({"eu"}, {"us", "ap"});
  const std::string in_eu = story.Claim("eu", "k1");
  const std::string in_us = story.Claim("us", "k1");
  EXPECT_NE(in_eu, in_us);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.Survivor("k1"), std::min(in_eu, in_us));
  EXPECT_EQ(story.ConflictsCounted(), 1u);
  for (const char* region : {"eu", "us", "ap"}) {
    const Answer retry = story.Begin(region, "k1");
    EXPECT_EQ(retry.kind, Answer::Kind::kReplay);
    EXPECT_EQ(retry.outcome.body(), "answer of " + std::min(in_eu, in_us));
  }
}

TEST(Partition, OW_MB_03_AKeyWrittenInOneRegionIsVisibleInTheOthers) {
  Story story;
  const std::string run = story.Claim("ap", "k1");
  story.Run(100);
  for (const char* region : {"eu", "us"}) {
    const Answer retry = story.Begin(region, "k1");
    EXPECT_EQ(retry.kind, Answer::Kind::kReplay);
    EXPECT_EQ(retry.claim.run_id(), run);
  }
}

TEST(Partition, S_03_ABridgeConvergesThroughTheMiddle) {
  Story story;
  story.cluster.Partition({"ap"}, {"us"});
  const std::string run = story.Claim("ap", "k1");
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return story.cluster.Converged(); }, 5000));
  EXPECT_EQ(story.Survivor("k1"), run);
}

TEST(Partition, S_04_ThreeWaySplitHasOneSurvivorAndTwoLosers) {
  Story story;
  story.cluster.Partition({"ap"}, {"eu", "us"});
  story.cluster.Partition({"eu"}, {"us"});
  std::vector<std::string> runs;
  for (const char* region : {"us", "ap", "eu"}) runs.push_back(story.Claim(region, "k1"));
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.Survivor("k1"), *std::min_element(runs.begin(), runs.end()));
  EXPECT_EQ(story.ConflictsCounted(), 2u);
}

TEST(Partition, S_25_ACrashDuringCatchUpCountsEveryLoserOnce) {
  Story story;
  story.cluster.Partition({"eu"}, {"us", "ap"});
  for (int i = 0; i < 20; ++i) {
    story.Claim("eu", "k" + std::to_string(i));
    story.Claim("us", "k" + std::to_string(i));
  }
  story.cluster.Heal();
  for (int i = 0; i < 5; ++i) {
    story.Run(7);
    story.cluster.Crash("us");
    story.cluster.Restart("us");
    story.Run(20);
    story.cluster.Crash("eu");
    story.cluster.Restart("eu");
  }
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.ConflictsCounted(), 20u);
}

}  // namespace
}  // namespace once
