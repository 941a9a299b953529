#include "tests/consensus/chaos.h"

#include <gtest/gtest.h>

namespace once {
namespace {

TEST(Chaos, NothingIsWrongUnderFaultsAndTheHealedGroupWorks) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed)
    ASSERT_EQ(RunChaos(seed, 4000), "") << "seed " << seed;
}

TEST(Chaos, EqualSeedsGiveEqualRuns) {
  std::uint64_t first = 0, second = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    RunChaos(seed, 1000, &first);
    RunChaos(seed, 1000, &second);
    EXPECT_EQ(first, second) << "seed " << seed;
  }
}

}  // namespace
}  // namespace once
