// Stories of what the capability document promises of many regions.
#include "tests/story/story.h"

namespace once {
namespace {

using Kind = Answer::Kind;

TEST(Promise, OW_OP_02_TheGaugeRisesDuringAPartitionAndFallsAfterIt) {
  Story story;
  story.Run(1000);
  const auto gauge = [&](const char* region, const char* peer) {
    return story.cluster.gossip(region).StateOf(peer).partition_seconds;
  };
  EXPECT_LT(gauge("eu", "us"), 0.5);
  story.cluster.Partition({"eu"}, {"us", "ap"});
  double before = 0;
  for (int i = 0; i < 5; ++i) {
    story.Run(2000);
    EXPECT_GT(gauge("eu", "us"), before + 1.5);
    EXPECT_GT(gauge("us", "eu"), before + 1.5);
    EXPECT_LT(gauge("us", "ap"), 0.5) << "they hear each other";
    before = gauge("eu", "us");
  }
  EXPECT_GT(before, 9.5);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_LT(gauge("eu", "us"), 0.5);
  EXPECT_LT(gauge("us", "eu"), 0.5);
}

TEST(Promise, OW_N_59_BeforeTheBoundARegionMayMissAndAfterItSees) {
  Story story;
  LinkRules slow;
  slow.delay_ms = 2000;
  story.cluster.network().SetRules(slow);
  const std::string run = story.Claim("eu", "k1");
  EXPECT_EQ(story.SlotIn("us", "k1"), nullptr) << "stale";
  story.Run(Config().replication_lag_bound_ms);
  const Answer probe = story.Begin("us", "k1");
  EXPECT_EQ(probe.kind, Kind::kReplay);
  EXPECT_EQ(probe.claim.run_id(), run);
}

TEST(Promise, OW_MB_04_OW_N_59_PartitionAndHealApplyTheAdvertisedRule) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ClusterOptions options;
    options.seed = seed;
    Story story(options);
    story.cluster.Partition({"ap"}, {"eu", "us"});
    const std::string in_ap = story.Claim("ap", "k1");
    const std::string in_us = story.Claim("us", "k1");
    story.cluster.Heal();
    ASSERT_TRUE(story.RunUntilQuiet());
    EXPECT_EQ(story.Survivor("k1"), std::min(in_ap, in_us)) << "seed " << seed;
  }
}

TEST(Promise, OW_MB_05_TheSameConflictGivesTheSameSurvivorAgainAndAfterARestart) {
  std::string survivor;
  for (int again = 0; again < 2; ++again) {
    Story story;
    story.cluster.Partition({"eu"}, {"us", "ap"});
    story.Claim("eu", "k1");
    story.Claim("us", "k1");
    story.cluster.Heal();
    ASSERT_TRUE(story.RunUntilQuiet());
    const std::string now = story.Survivor("k1");
    EXPECT_TRUE(survivor.empty() || survivor == now);
    survivor = now;
    for (const std::string& region : story.cluster.regions()) {
      story.cluster.Crash(region);
      story.cluster.Restart(region);
    }
    story.Run(500);
    EXPECT_EQ(story.Survivor("k1"), survivor);
  }
}

TEST(Promise, OW_MB_03_EveryRegionSeesWhatAnyRegionWroteWithinTheBound) {
  Story story;
  std::int64_t worst_ms = 0;
  for (const std::string& region : story.cluster.regions())
    story.cluster.gossip(region).on_lag = [&](const std::string&, std::int64_t lag_ms) {
      worst_ms = std::max(worst_ms, lag_ms);
    };
  for (int i = 0; i < 30; ++i)
    story.Claim(story.cluster.regions()[i % 3u], "k" + std::to_string(i));
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_GT(worst_ms, 0) << "measured";
  EXPECT_LT(worst_ms, Config().replication_lag_bound_ms);
}

}  // namespace
}  // namespace once
