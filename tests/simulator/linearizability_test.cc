// The fast check of linearizability against a search that tries everything.
#include "simulator/linearizability.h"

#include "tests/simulator/linearization_search.h"
#include "tests/simulator/random_calls.h"

namespace once {
namespace {

constexpr std::uint64_t kHistories = 30'000;

std::optional<Contradiction> Judge(const std::vector<Operation>& operations) {
  std::vector<const Operation*> pointers;
  for (const Operation& operation : operations) pointers.push_back(&operation);
  return FindContradiction(pointers);
}

TEST(Linearizability, WhatARightSlotAnswersIsAccepted) {
  for (std::uint64_t seed = 1; seed <= kHistories; ++seed) {
    Random random(seed);
    const std::vector<Operation> operations = RandomCalls(random, 2 + random.Below(30));
    const auto found = Judge(operations);
    ASSERT_FALSE(found) << "seed " << seed << ": " << found->what << "\n" << Shown(operations);
  }
}

TEST(Linearizability, AgreesWithASearchOnRightHistories) {
  for (std::uint64_t seed = 1; seed <= kHistories / 4; ++seed) {
    Random random(seed);
    const std::vector<Operation> operations = RandomCalls(random, 2 + random.Below(7));
    ASSERT_TRUE(CanBeLinearized(operations)) << "seed " << seed << "\n" << Shown(operations);
  }
}

TEST(Linearizability, AgreesWithASearchOnCorruptedHistories) {
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= kHistories; ++seed) {
    Random random(seed);
    std::vector<Operation> operations = RandomCalls(random, 2 + random.Below(7));
    Corrupt(random, operations);
    const auto found = Judge(operations);
    const bool right = CanBeLinearized(operations);
    ASSERT_EQ(!found, right) << "seed " << seed << ": the search says "
                             << (right ? "right" : "wrong") << ", the check "
                             << (found ? found->what : "right") << "\n"
                             << Shown(operations);
    wrong += !right;
  }
  // Neither kind is rare, or this would show nothing.
  EXPECT_GT(wrong, kHistories / 5);
  EXPECT_LT(wrong, kHistories * 4 / 5);
}

}  // namespace
}  // namespace once
