// The arithmetic of majorities against the definition, by trying every set of voters.
#include "consensus/quorum.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>

#include "consensus/membership.h"

namespace once {
namespace {

bool IsMajority(unsigned set, std::size_t voters) {
  return static_cast<std::size_t>(std::popcount(set)) * 2 > voters;
}

std::vector<std::uint64_t> AnyVoters() {
  const auto count = *rc::gen::inRange(1, 8);
  return *rc::gen::container<std::vector<std::uint64_t>>(static_cast<std::size_t>(count),
                                                         rc::gen::inRange<std::uint64_t>(0, 12));
}

RC_GTEST_PROP(Quorum, MajorityReachedIsTheBestThatAnyMajorityReached, ()) {
  const auto reached = AnyVoters();
  std::uint64_t best = 0;
  for (unsigned set = 1; set < 1u << reached.size(); ++set) {
    if (!IsMajority(set, reached.size())) continue;
    std::uint64_t all = ~0ull;
    for (std::size_t i = 0; i < reached.size(); ++i)
      if (set >> i & 1) all = std::min(all, reached[i]);
    best = std::max(best, all);
  }
  RC_ASSERT(MajorityReached(reached) == best);
}

RC_GTEST_PROP(Quorum, AnOutcomeIsWhatNoFurtherAnswerCanChange, ()) {
  const auto voters = *rc::gen::inRange<std::size_t>(1, 9);
  const auto yes = *rc::gen::inRange<std::size_t>(0, voters + 1);
  const auto no = *rc::gen::inRange<std::size_t>(0, voters - yes + 1);
  const bool won = yes * 2 > voters;
  const bool lost = (voters - no) * 2 <= voters;
  const VoteOutcome expected =
      won ? VoteOutcome::kWon : (lost ? VoteOutcome::kLost : VoteOutcome::kOpen);
  RC_ASSERT(OutcomeOf(voters, yes, no) == expected);
}

TEST(Quorum, NoVotersDecideNothing) {
  EXPECT_EQ(MajorityReached({}), 0u);
  EXPECT_EQ(OutcomeOf(0, 0, 0), VoteOutcome::kLost);
}

// Section 4.1, figure 4.2: every majority of the old set shares a voter with every one of the new.
TEST(Quorum, ConfigurationOverlapMajoritiesOfSetsThatDifferByOneVoter) {
  for (std::size_t voters = 1; voters <= 7; ++voters)
    for (unsigned a = 1; a < 1u << voters; ++a)
      for (unsigned b = 1; b < 2u << voters; ++b)
        if (IsMajority(a, voters) && IsMajority(b, voters + 1)) {
          ASSERT_NE(a & b, 0u) << voters;
        }
}

TEST(Quorum, ConfigurationOverlapFailsForTwo) {
  // Of {1 2 3} and {1 2 3 4 5}, the majorities {1 2} and {3 4 5} do not meet.
  Membership three, five;
  for (const char* name : {"1", "2", "3"}) three.add_voters(name), five.add_voters(name);
  for (const char* name : {"4", "5"}) five.add_voters(name);
  EXPECT_FALSE(MajoritiesOverlap(three, five));
}

}  // namespace
}  // namespace once
