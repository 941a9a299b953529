// Checks that find nothing prove nothing: every seeded bug must be found by random networks. This
// binary alone is built with ONCE_MUTATIONS.
#include <gtest/gtest.h>

#include "conflict/mutation.h"
#include "tests/consensus/chaos.h"
#include "tests/consensus/figure_8.h"

namespace once {
namespace {

constexpr std::uint64_t kSeeds = 2000;

class Mutant : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ActiveMutation() = GetParam(); }
  void TearDown() override { ActiveMutation().clear(); }
};

// The story of figure 8 as well: it takes three leaders in a row that fail at the right moment,
// which chance does too seldom.
std::string RunFigure8() {
  Group group(1, Figure8Options());
  TellFigure8UpToC(group);
  TellFigure8D(group);
  return group.broken;
}

TEST_P(Mutant, IsFound) {
  std::string broken = RunFigure8();
  for (std::uint64_t seed = 1; seed <= kSeeds && broken.empty(); ++seed)
    broken = RunChaos(seed, 4000);
  EXPECT_NE(broken, "") << GetParam() << " was not found in " << kSeeds << " seeds";
  RecordProperty("found", broken);
}

INSTANTIATE_TEST_SUITE_P(
    All, Mutant,
    testing::Values("old-term-commit", "vote-not-durable", "commit-without-quorum",
                    "read-without-round", "skipped-truncation", "snapshot-over-newer-log",
                    "emptied-voter-votes", "membership-without-overlap", "founders-not-in-log",
                    "read-before-first-commit", "changed-before-first-commit", "promoted-behind",
                    "transfer-to-learner", "half-decides", "half-elects", "decided-by-old-members",
                    "unheard-leader-stays", "snapshot-without-members"));

}  // namespace
}  // namespace once
