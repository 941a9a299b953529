// What is not carried out, and that its caller is told so.
#include "tests/strict/strict_story.h"

namespace once {
namespace {

using Kind = Answer::Kind;

TEST(StrictRefusal, S_10_WhatItsCallerHasGivenUpIsNotCarriedOutWhenItComesLate) {
  StrictStory story;
  const std::string asker = story.Followers()[0];
  const std::string leader = story.Leader();
  story.cluster.network().Clog(asker, leader);
  const Answer unknown = story.Begin(asker, "k");
  ASSERT_EQ(unknown.kind, Kind::kUnavailable);
  EXPECT_FALSE(unknown.refused);
  story.Run(10'000);
  story.cluster.network().UnclogAll();
  story.Run(2000);
  EXPECT_EQ(story.StrictSlot(story.AwaitLeader(), "k"), nullptr);
  EXPECT_EQ(story.BeginPatiently(asker, "k").kind, Kind::kExecute);
}

TEST(StrictRefusal, AtItsSizeBoundTheGroupRefusesAndSaysThatNothingWasDone) {
  ClusterOptions options;
  options.slots_max = 2;
  StrictStory story(options);
  const std::string asker = story.Followers()[0];
  for (const char* key : {"a", "b"}) ASSERT_EQ(story.Begin(asker, key).kind, Kind::kExecute);
  for (const std::string& region : {asker, story.Leader()}) {
    const Answer full = story.Begin(region, "c");
    EXPECT_EQ(full.kind, Kind::kUnavailable) << region;
    EXPECT_TRUE(full.refused) << region;
    EXPECT_EQ(story.StrictSlot(region, "c"), nullptr) << region;
  }
}

}  // namespace
}  // namespace once
