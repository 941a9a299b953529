// Stories of regions that come back with less than they had.
#include "tests/story/story.h"

namespace once {
namespace {

TEST(Rejoin, S_49_ARegionWithAnEmptyDirectoryHearsEverythingAgain) {
  Story story;
  std::vector<std::string> runs;
  for (int i = 0; i < 30; ++i)
    runs.push_back(story.Claim(i % 2 ? "us" : "eu", "k" + std::to_string(i)));
  ASSERT_TRUE(story.RunUntilQuiet());
  story.Run(5000);  // long enough for the journals to let go of what all have
  story.cluster.Crash("ap");
  story.cluster.Empty("ap");
  story.cluster.Restart("ap");
  story.Run(20'000);
  ASSERT_TRUE(story.RunUntilQuiet());
  for (int i = 0; i < 30; ++i) {
    const Answer retry = story.Begin("ap", "k" + std::to_string(i));
    EXPECT_EQ(retry.kind, Answer::Kind::kReplay) << i;
    EXPECT_EQ(retry.claim.run_id(), runs[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(story.ConflictsCounted(), 0u);
}

}  // namespace
}  // namespace once
