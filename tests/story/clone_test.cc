// Stories of copied directories.
#include "simulator/checks.h"
#include "simulator/oracle.h"
#include "tests/story/story.h"

namespace once {
namespace {

/// In the place of eu's copy. True when all is quiet again.
bool OriginalComesBack(Story& story) {
  story.cluster.Crash("eu");
  story.cluster.MoveBack("eu");
  story.cluster.Restart("eu");
  story.Run(20'000);
  return story.RunUntilQuiet();
}

using Kind = Answer::Kind;

TEST(Clone, S_29_ACopyIsRefusedUnderItsOwnNameAndUnderAnothers) {
  Story story;
  const std::string own = story.cluster.WhyCopyDoesNotStart("eu", "eu");
  EXPECT_NE(own.find("is a copy"), std::string::npos) << own;
  const std::string other = story.cluster.WhyCopyDoesNotStart("eu", "us");
  EXPECT_NE(other.find("'eu'"), std::string::npos) << other;
  EXPECT_TRUE(CheckClone(story.cluster, "eu").empty());
}

// eu runs on a copy for a while, and then on its original again, which had a claim that nobody had
// heard of. By then the stream that the claim was said in is closed everywhere else.
TEST(Clone, S_29_AnOriginalThatComesBackKeepsNothingToItself) {
  Story story;
  story.Claim("eu", "k1");
  ASSERT_TRUE(story.RunUntilQuiet());
  const MemoryDisk::Contents copy = story.cluster.disk("eu").durable();
  story.cluster.Partition({"eu"}, {"ap", "us"});
  const std::string unheard = story.Claim("eu", "k2");
  story.cluster.Crash("eu");
  story.cluster.Heal();
  story.cluster.MoveToCopy("eu", copy);
  story.cluster.Restart("eu");
  story.Run(20'000);
  ASSERT_TRUE(story.RunUntilQuiet());
  const std::string heard = story.Claim("eu", "k3");
  ASSERT_TRUE(story.RunUntilQuiet());

  ASSERT_TRUE(OriginalComesBack(story));
  for (const std::string& region : story.cluster.regions()) {
    EXPECT_EQ(story.Begin(region, "k2").claim.run_id(), unheard) << region;
    EXPECT_EQ(story.Begin(region, "k3").claim.run_id(), heard) << region;
  }
  EXPECT_TRUE(CheckSurvivor(story.cluster, ReadHoldings(story.cluster)).empty());
  EXPECT_TRUE(CheckMemoryAtRest(story.cluster).empty());
  EXPECT_EQ(story.ConflictsCounted(), 0u);
}

// By the time its original comes back what eu had said to nobody has been over for so long that it
// could be forgotten. It is said all the same, and is there until all have heard of it.
TEST(Clone, S_29_AnOriginalThatComesBackForgetsNothingThatNobodyHeardOf) {
  for (const std::int64_t away_ms : {2'000, 20'000}) {
    ClusterOptions options;
    options.retention_ms = 5'000;
    options.forget_grace_ms = 3'000;
    Story story(options);
    story.Claim("eu", "k1");
    ASSERT_TRUE(story.RunUntilQuiet());
    const MemoryDisk::Contents copy = story.cluster.disk("eu").durable();
    story.cluster.Partition({"eu"}, {"ap", "us"});
    story.Claim("eu", "k2");
    story.cluster.Crash("eu");
    story.cluster.Heal();
    story.cluster.MoveToCopy("eu", copy);
    story.cluster.Restart("eu");
    story.Run(away_ms);
    story.cluster.Crash("eu");
    story.cluster.MoveBack("eu");
    story.cluster.Restart("eu");
    for (const std::string region : {"ap", "us"}) {
      const auto hears = [&] { return story.SlotIn(region, "k2") != nullptr; };
      EXPECT_TRUE(story.cluster.time().RunUntil(hears, 30'000)) << region << " " << away_ms;
      EXPECT_NE(story.SlotIn("eu", "k2"), nullptr) << region << " " << away_ms;
    }
    story.Run(30'000);
    for (const std::string& region : story.cluster.regions())
      EXPECT_EQ(story.SlotIn(region, "k2"), nullptr) << region << " is free to forget it now";
  }
}

// Both the original and the copy admitted the key: a conflict within the region, counted once.
TEST(Clone, S_29_OfTwoClaimsOfOneRegionTheLowerSurvives) {
  Story story;
  const MemoryDisk::Contents copy = story.cluster.disk("eu").durable();
  story.cluster.Partition({"eu"}, {"ap", "us"});
  const std::string first = story.Claim("eu", "k1");
  story.cluster.Crash("eu");
  story.cluster.MoveToCopy("eu", copy);
  story.cluster.Restart("eu");
  story.Run(100);
  const std::string second = story.Claim("eu", "k1");
  ASSERT_LT(first, second);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  ASSERT_TRUE(OriginalComesBack(story));
  for (const std::string& region : story.cluster.regions())
    EXPECT_EQ(story.Begin(region, "k1").claim.run_id(), first) << region;
  EXPECT_EQ(story.ConflictsCounted(), 1u);
}

}  // namespace
}  // namespace once
