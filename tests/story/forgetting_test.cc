// Stories of what need not be kept any longer, and of what must be.
#include "tests/story/story.h"

namespace once {
namespace {

ClusterOptions ShortLived() {
  ClusterOptions options;
  options.retention_ms = 5'000;
  options.forget_grace_ms = 3'000;
  return options;
}

TEST(Forgetting, S_36_NothingIsForgottenBeforeEveryMemberHasIt) {
  Story story(ShortLived());
  story.cluster.Partition({"ap"}, {"eu", "us"});
  story.Claim("eu", "k1");
  story.Run(100);
  story.Claim("ap", "k1");
  story.Run(60'000);
  for (const std::string& region : story.cluster.regions())
    EXPECT_NE(story.SlotIn(region, "k1"), nullptr) << region << " must still tell of it";
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.ConflictsCounted(), 1u) << "long after both expired";
  story.Run(60'000);
  for (const std::string& region : story.cluster.regions())
    EXPECT_EQ(story.SlotIn(region, "k1"), nullptr) << region << " is free to forget it now";
}

TEST(Forgetting, AMemberThatWasSilentForTooLongIsNotWaitedFor) {
  ClusterOptions options = ShortLived();
  options.gossip.silence_ms_max = 20'000;
  Story story(options);
  const std::string kept = story.Claim("ap", "kept");
  story.cluster.Partition({"ap"}, {"eu", "us"});
  story.Claim("eu", "k1");
  story.Run(15'000);
  EXPECT_NE(story.SlotIn("us", "k1"), nullptr);
  EXPECT_GT(story.cluster.gossip("us").journal().CountFrames(), 0u);
  story.Run(20'000);
  EXPECT_EQ(story.SlotIn("us", "k1"), nullptr);
  EXPECT_EQ(story.SlotIn("eu", "k1"), nullptr);
  EXPECT_EQ(story.cluster.gossip("us").journal().CountFrames(), 0u);
  const std::string in_eu = story.Claim("eu", "late");
  const std::string in_ap = story.Claim("ap", "other");
  story.cluster.Heal();
  story.Run(10'000);
  ASSERT_TRUE(story.RunUntilQuiet()) << "it joins again, and all is said both ways";
  const std::string again = story.Claim("ap", "again");
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.Survivor("again"), again);
}

TEST(Forgetting, AHundredRestartsDoNotMakeVectorsGrow) {
  Story story;
  LinkRules rules;
  rules.repeat_percent = 20;
  rules.very_late_permille = 50;
  rules.very_late_ms = 3'600'000;
  story.cluster.network().SetRules(rules);
  std::vector<std::string> runs;
  for (int i = 0; i < 100; ++i) {
    runs.push_back(story.Claim("eu", "k" + std::to_string(i)));
    story.Run(i % 4 == 0 ? 30 : 1500);
    story.cluster.Crash("eu");
    story.cluster.Restart("eu");
    story.Run(20);
  }
  story.cluster.network().SetRules({});
  ASSERT_TRUE(story.RunUntilQuiet());
  story.Run(5000);
  for (const std::string& region : story.cluster.regions())
    EXPECT_LE(story.cluster.gossip(region).journal().applied().size(), 4u) << region;
  story.Run(2 * 3'600'000);  // what was late arrives, of streams that are long closed
  EXPECT_TRUE(story.cluster.Converged());
  for (const std::string& region : story.cluster.regions()) {
    EXPECT_LE(story.cluster.gossip(region).journal().applied().size(), 4u) << region;
    EXPECT_EQ(story.cluster.gossip(region).journal().CountFrames(), 0u);
  }
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(story.Survivor("k" + std::to_string(i)), runs[static_cast<std::size_t>(i)]);
  EXPECT_EQ(story.ConflictsCounted(), 0u);
}

TEST(Forgetting, StreamsAreNotClosedWhileAMemberIsAway) {
  Story story;
  story.Claim("eu", "k1");
  ASSERT_TRUE(story.RunUntilQuiet());
  story.cluster.Partition({"ap"}, {"eu", "us"});
  const std::string unheard = story.Claim("eu", "k2");
  for (int i = 0; i < 3; ++i) {
    story.cluster.Crash("eu");
    story.cluster.Restart("eu");
    story.Run(2000);
    story.Claim("eu", "n" + std::to_string(i));
  }
  EXPECT_GE(story.cluster.gossip("us").journal().applied().size(), 3u);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  story.Run(2000);
  EXPECT_EQ(story.Survivor("k2"), unheard);
  EXPECT_LE(story.cluster.gossip("us").journal().applied().size(), 2u);
}

TEST(Forgetting, ADigestThatIsLateAsksForNothingThatWasForgottenMeanwhile) {
  ClusterOptions options = ShortLived();
  options.gossip.digest_interval_ms = 100;
  Story story(options);
  LinkRules late;
  late.very_late_permille = 500;
  late.very_late_ms = 20'000;
  story.cluster.network().SetRules(late);
  for (int i = 0; i < 100; ++i) story.Claim("eu", "k" + std::to_string(i));
  story.Run(60'000);
  for (const std::string& region : story.cluster.regions())
    for (const std::string& peer : story.Others(region))
      EXPECT_EQ(story.cluster.gossip(region).StateOf(peer).repaired, 0u) << region << " " << peer;
}

}  // namespace
}  // namespace once
