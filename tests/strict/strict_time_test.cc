// What the leader's stamps do to the strict ledger: expiry, and fences.
#include "tests/strict/strict_story.h"

namespace once {
namespace {

TEST(StrictTime, ExpiryKeepsUpWithManyKeys) {
  ClusterOptions options;
  options.retention_ms = 2000;
  StrictStory story(options);
  const std::string leader = story.Leader();
  constexpr int kKeys = 4000;
  int settled = 0;
  for (int i = 0; i < kKeys; ++i) {
    const Command begin = BeginCommand("acme", "k" + std::to_string(i), 1, options.lease_ms, 2000);
    story.cluster.Submit(leader, begin, [&](const Answer& begun) {
      story.cluster.Submit(leader, Story::CompleteCommand(begun),
                           [&](const Answer&) { ++settled; });
    });
  }
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return settled == kKeys; }, 10'000));
  const auto slots = [&] { return story.Group(leader).tables().head().slots(); };
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return slots() < kKeys; }, 10'000));
  EXPECT_TRUE(story.cluster.time().RunUntil([&] { return slots() == 0; }, 1000)) << slots();
}

// A route that becomes strict, after the drain, has owners whose tokens are higher than before.
TEST(StrictTime, OW_N_53_AFenceIsAboveThoseThatTheSameKeyHadWhileItWasBestEffort) {
  StrictStory story;
  const std::string leader = story.Leader();
  Answer best_effort;
  story.cluster.Submit(leader, BeginCommand("globex", "k", 1, 1000, 1000),
                       [&](const Answer& answer) { best_effort = answer; });
  story.Run(100);
  ASSERT_EQ(best_effort.kind, Answer::Kind::kExecute);
  const Answer strict = story.BeginPatiently(leader, "k");
  ASSERT_EQ(strict.kind, Answer::Kind::kExecute);
  EXPECT_GT(strict.claim.fence(), best_effort.claim.fence());
}

}  // namespace
}  // namespace once
