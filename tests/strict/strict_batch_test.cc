// How commands become entries: few where members are near, and one behind the other where they are
// far.
#include "tests/strict/strict_story.h"

namespace once {
namespace {

class StrictBatching : public testing::Test {
 protected:
  // One new claim at the leader every millisecond; how many entries that took.
  std::uint64_t ClaimEveryMillisecond(int claims) {
    const std::uint64_t before = story_.Group(leader_).counts().entries;
    int answered = 0;
    for (int i = 0; i < claims; ++i) {
      story_.cluster.Submit(leader_, BeginCommand("acme", "k" + std::to_string(i), 1, 2000, 60'000),
                            [&](const Answer& answer) {
                              EXPECT_EQ(answer.kind, Answer::Kind::kExecute);
                              ++answered;
                            });
      story_.Run(1);
    }
    EXPECT_TRUE(story_.cluster.time().RunUntil([&] { return answered == claims; }, 10'000));
    return story_.Group(leader_).counts().entries - before;
  }

  StrictStory story_;
  const std::string leader_ = story_.Leader();
};

TEST_F(StrictBatching, ClaimsOfOneMomentAreOneEntry) {
  const std::uint64_t before = story_.Group(leader_).counts().entries;
  int answered = 0;
  for (int i = 0; i < 100; ++i)
    story_.cluster.Submit(leader_, BeginCommand("acme", "k" + std::to_string(i), 1, 2000, 60'000),
                          [&](const Answer&) { ++answered; });
  ASSERT_TRUE(story_.cluster.time().RunUntil([&] { return answered == 100; }, 10'000));
  EXPECT_EQ(story_.Group(leader_).counts().entries, before + 1);
}

TEST_F(StrictBatching, ManyOrLargeChangesAreStoredBeforeTheyAreTooMany) {
  std::uint64_t slots = 0;
  for (const auto& [claims, key_bytes] : {std::pair(130, 4u), std::pair(40, 4000u)}) {
    for (int i = 0; i < claims; ++i) {
      const std::string key = std::string(key_bytes, 'k') + std::to_string(i);
      story_.cluster.Submit(leader_, BeginCommand("acme", key, 1, 2000, 60'000),
                            [](const Answer&) {});
    }
    slots += static_cast<std::uint64_t>(claims);
    for (const std::string& region : story_.cluster.regions()) {
      Tables& tables = story_.Group(region).tables();
      EXPECT_TRUE(story_.cluster.time().RunUntil(
          [&] { return tables.head().slots() == slots && tables.changes() == 0; }, 1000))
          << region << " " << key_bytes;
    }
  }
}

TEST_F(StrictBatching, EntriesDoNotWaitForEachOthersTrips) {
  story_.cluster.network().SetRules({.delay_ms = 40, .jitter_ms = 0});
  EXPECT_GT(ClaimEveryMillisecond(400), 100u) << "400 ms are five trips";
}

}  // namespace
}  // namespace once
