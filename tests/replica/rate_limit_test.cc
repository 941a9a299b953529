#include "replica/rate_limit.h"

#include <gtest/gtest.h>

namespace once {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

TEST(RateLimit, ZeroMeansNoLimit) {
  RateLimit limit(0, 0);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(limit.Take("acme", 0), 0);
}

TEST(RateLimit, TheBurstThenTheRate) {
  RateLimit limit(2, 5);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(limit.Take("acme", 0), 0);
  EXPECT_EQ(limit.Take("acme", 0), 1);
  EXPECT_NE(limit.Take("acme", kSecondUs / 2 - 1), 0);
  EXPECT_EQ(limit.Take("acme", kSecondUs / 2), 0);
  EXPECT_NE(limit.Take("acme", kSecondUs / 2), 0);
}

TEST(RateLimit, TokensDoNotPileUpBeyondTheBurst) {
  RateLimit limit(10, 3);
  limit.Take("acme", 0);
  int taken = 0;
  while (limit.Take("acme", 3600 * kSecondUs) == 0) ++taken;
  EXPECT_EQ(taken, 3);
}

TEST(RateLimit, TenantsDoNotShare) {
  RateLimit limit(1, 1);
  EXPECT_EQ(limit.Take("a", 0), 0);
  EXPECT_NE(limit.Take("a", 0), 0);
  EXPECT_EQ(limit.Take("b", 0), 0);
}

TEST(RateLimit, SaysWhenToComeBackAndKeepsItsWord) {
  RateLimit limit(0.1, 1);
  EXPECT_EQ(limit.Take("acme", 0), 0);
  const int wait_s = limit.Take("acme", 0);
  EXPECT_EQ(wait_s, 10);
  EXPECT_EQ(limit.Take("acme", wait_s * kSecondUs), 0);
}

TEST(RateLimit, ABurstBelowOneStillLetsOnePass) {
  RateLimit limit(1, 0.5);
  EXPECT_EQ(limit.Take("acme", 0), 0);
  EXPECT_NE(limit.Take("acme", 0), 0);
  EXPECT_EQ(limit.Take("acme", kSecondUs), 0);
}

TEST(RateLimit, TheWaitIsBounded) {
  RateLimit limit(1e-12, 1);
  limit.Take("acme", 0);
  EXPECT_EQ(limit.Take("acme", 0), 3600);
}

}  // namespace
}  // namespace once
