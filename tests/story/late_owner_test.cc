// A region that was set back to before its claim gave way: its owner may be late twice.
#include <algorithm>

#include "tests/story/story.h"

namespace once {
namespace {

using Kind = Answer::Kind;

/// eu's owner came late while eu knew the winner. Then eu was set back to before that, and took its
/// claim up again while it was cut off.
class TwoLateOwners : public testing::Test {
 protected:
  void SetUp() override {
    story_.cluster.Partition({"eu"}, {"us", "ap"});
    const Answer winner = story_.Do("us", BeginCommand("acme", "k1", 1, 1000, winner_kept_ms_));
    ASSERT_EQ(story_.Complete("us", winner).kind, Kind::kDone);
    first_ = story_.Begin("eu", "k1");
    story_.cluster.Crash("eu");
    const MemoryDisk backup = story_.cluster.disk("eu");
    story_.cluster.Restart("eu");
    Heal();
    ASSERT_EQ(story_.Complete("eu", first_).kind, Kind::kStaleFence);
    ASSERT_TRUE(story_.RunUntilQuiet());
    story_.cluster.Partition({"eu"}, {"us", "ap"});
    story_.cluster.Crash("eu");
    story_.cluster.disk("eu") = backup;
    story_.cluster.Restart("eu");
    story_.Run(story_.cluster.options().lease_ms + 2000);
    second_ = story_.Begin("eu", "k1");
    ASSERT_EQ(second_.claim.run_id(), first_.claim.run_id()) << "taken up, not made anew";
  }
  void Heal() {
    story_.cluster.Heal();
    story_.Run(20'000);
    ASSERT_TRUE(story_.RunUntilQuiet());
  }
  void ExpectListedOnce() {
    for (const std::string& region : story_.cluster.regions()) {
      const auto listed = story_.Listed(region);
      EXPECT_EQ(std::count_if(listed.begin(), listed.end(),
                              [](const Conflict& each) { return each.kind() == LATE_COMPLETION; }),
                1)
          << region;
    }
  }

  Story story_;
  std::uint64_t winner_kept_ms_ = 3'600'000;
  Answer first_;
  Answer second_;
};

// The record of the first late owner comes back; then the second one is late as well.
TEST_F(TwoLateOwners, S_30_OfOneClaimAreListedOnce) {
  Heal();
  ASSERT_EQ(story_.Complete("eu", second_).kind, Kind::kStaleFence);
  ASSERT_TRUE(story_.RunUntilQuiet());
  ExpectListedOnce();
}

/// The winner is over when eu takes its claim up again.
class LateOwnerThenWinner : public TwoLateOwners, public testing::WithParamInterface<const char*> {
 protected:
  LateOwnerThenWinner() { winner_kept_ms_ = 2000; }
};

// When eu or another loses everything then, the record comes with the claim.
TEST_P(LateOwnerThenWinner, S_30_S_49_ARecordComesBackWithAClaimThatItsHomeHasTakenUpAgain) {
  ASSERT_EQ(story_.Complete("eu", second_).kind, Kind::kDone);
  Heal();
  story_.cluster.Crash(GetParam());
  story_.cluster.Empty(GetParam());
  story_.cluster.Restart(GetParam());
  story_.Run(20'000);
  ASSERT_TRUE(story_.RunUntilQuiet());
  ExpectListedOnce();
}
INSTANTIATE_TEST_SUITE_P(Regions, LateOwnerThenWinner, testing::Values("eu", "ap"));

}  // namespace
}  // namespace once
