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
