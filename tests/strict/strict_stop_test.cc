// A member that is stopped, not lost.
#include "tests/strict/strict_story.h"

namespace once {
namespace {

using Kind = Answer::Kind;

TEST(StrictStop, ALeaderHandsOverBeforeItEnds) {
  StrictStory story;
  const std::string leader = story.Leader();
  const std::uint64_t term = story.Status(leader).term;
  bool drained = false;
  story.cluster.replica(leader).Stop([&] { drained = true; });
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return drained; }, 5000));
  const std::string next = story.Leader();
  EXPECT_NE(next, leader);
  EXPECT_NE(next, "");
  EXPECT_EQ(story.Status(next).term, term + 1) << "one election, which it had asked for";
}

TEST(StrictStop, WhoWaitsForAStoppingLeaderIsAnsweredByTheNext) {
  StrictStory story;
  const std::string leader = story.Leader();
  std::vector<Kind> kinds;
  for (int i = 0; i < 20; ++i)
    story.cluster.Submit(leader, BeginCommand("acme", "k" + std::to_string(i), 1, 2000, 3'600'000),
                         [&](const Answer& answer) { kinds.push_back(answer.kind); });
  ASSERT_TRUE(
      story.cluster.time().RunUntil([&] { return story.Group(leader).waiting() == 20; }, 10));
  bool drained = false;
  story.cluster.replica(leader).Stop([&] { drained = true; });
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return drained; }, 5000));
  EXPECT_EQ(kinds, std::vector<Kind>(20, Kind::kExecute));
}

TEST(StrictStop, AMemberWithoutAMajorityEndsAllTheSame) {
  StrictStory story;
  const std::string leader = story.Leader();
  for (const std::string& other : story.Others(leader)) story.cluster.Crash(other);
  std::optional<Kind> kind;
  story.cluster.Submit(leader, BeginCommand("acme", "k", 1, 2000, 3'600'000),
                       [&](const Answer& answer) { kind = answer.kind; });
  bool drained = false;
  story.cluster.replica(leader).Stop([&] { drained = true; });
  EXPECT_TRUE(story.cluster.time().RunUntil([&] { return drained; }, 1500));
  EXPECT_EQ(kind, Kind::kUnavailable);
}

TEST(StrictStop, WhoOwnsAClaimCanSettleItAtAMemberThatStops) {
  StrictStory story;
  const std::string leader = story.Leader();
  const Answer begun = story.Begin(leader, "k");
  ASSERT_EQ(begun.kind, Kind::kExecute);
  bool drained = false;
  story.cluster.replica(leader).Stop([&] { drained = true; });
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return drained; }, 5000));
  EXPECT_EQ(story.Begin(leader, "new").kind, Kind::kUnavailable);
  EXPECT_EQ(story.Complete(leader, begun).kind, Kind::kDone);
}

}  // namespace
}  // namespace once
