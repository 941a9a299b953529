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

// No message could carry it, and nothing behind it would ever be decided.
TEST(StrictRefusal, ACommandThatFitsNoMessageIsRefusedAndOthersGoOn) {
  StrictStory story;
  for (const std::string& region : {story.Leader(), story.Followers()[0]}) {
    const Answer owned = story.Begin(region, "large in " + region);
    ASSERT_EQ(owned.kind, Kind::kExecute);
    Command large = Story::CompleteCommand(owned);
    large.mutable_settle()->mutable_outcome()->set_body(std::string(9 << 20, 'x'));
    const Answer refused = story.Do(region, large);
    EXPECT_EQ(refused.kind, Kind::kUnavailable) << region;
    EXPECT_TRUE(refused.refused) << region;
    for (const std::string& other : story.cluster.regions())
      EXPECT_EQ(story.Begin(other, other + " after " + region).kind, Kind::kExecute);
    EXPECT_EQ(story.Complete(region, owned).kind, Kind::kDone) << "with a smaller answer";
  }
  EXPECT_TRUE(story.AllEqual());
}

TEST(StrictRefusal, ALeaderTakesNoCommandThatFitsNoMessage) {
  StrictStory story;
  const std::string leader = story.Leader();
  const std::string hostile = story.Followers()[0];
  story.cluster.Crash(hostile);
  SimulatedTransport transport(story.cluster.network(), hostile, story.cluster.time());
  StrictMessage message;
  message.set_format(1);
  message.mutable_asker()->set_member(hostile + "/0");
  StrictRequest& request = *message.add_requests();
  request.set_request(7);
  *request.mutable_command() = BeginCommand("acme", "k", 1, 2000, 1000);
  request.mutable_command()->mutable_begin()->set_fingerprint(std::string(5 << 20, 'x'));
  transport.Send(leader, std::string(1, '\0') + message.SerializeAsString());
  story.Run(100);
  EXPECT_EQ(story.Group(leader).refused(), 1u);
  EXPECT_EQ(story.BeginPatiently(leader, "k").kind, Kind::kExecute);
}

}  // namespace
}  // namespace once
