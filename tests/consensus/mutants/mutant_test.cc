// Checks that find nothing prove nothing: every seeded bug must be found by random networks. This
// binary alone is built with ONCE_MUTATIONS.
#include <gtest/gtest.h>

#include "conflict/mutation.h"
#include "tests/consensus/chaos.h"

namespace once {
namespace {

constexpr std::uint64_t kSeeds = 2000;

class Mutant : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ActiveMutation() = GetParam(); }
  void TearDown() override { ActiveMutation().clear(); }
};

TEST_P(Mutant, IsFound) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string broken = RunChaos(seed, 4000);
    if (broken.empty()) continue;
    std::printf("%-28s found after %4d seeds: %s\n", GetParam(), static_cast<int>(seed),
                broken.c_str());
    return;
  }
  FAIL() << GetParam() << " was not found in " << kSeeds << " seeds";
}

INSTANTIATE_TEST_SUITE_P(All, Mutant,
                         testing::Values("old-term-commit", "vote-not-durable",
                                         "commit-without-quorum", "read-without-round",
                                         "skipped-truncation", "snapshot-over-newer-log",
                                         "emptied-voter-votes", "membership-without-overlap"));

}  // namespace
}  // namespace once
