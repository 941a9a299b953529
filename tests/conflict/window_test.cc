#include "conflict/window.h"

#include <gtest/gtest.h>

namespace once {
namespace {

TEST(Window, NeverStaysNever) {
  EXPECT_EQ(SaturatingAdd(kNeverMs, 5), kNeverMs);
  EXPECT_EQ(SaturatingAdd(kNeverMs, -5), kNeverMs);
  EXPECT_EQ(SaturatingAdd(kNeverMs - 1, 5), kNeverMs);
  EXPECT_EQ(SaturatingAdd(std::numeric_limits<std::int64_t>::min(), -5),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(SaturatingAdd(3, -5), -2);
  EXPECT_EQ(RetainedUntil(10, 0), kNeverMs);
  EXPECT_EQ(RetainedUntil(10, std::numeric_limits<std::uint64_t>::max()), kNeverMs);
  EXPECT_EQ(RetainedUntil(10, 24), 34);
  EXPECT_TRUE(AnswersAt(kNeverMs, kNeverMs, 1'000));
}

TEST(Window, AnswersUntilExpiryPlusSkewAndNotLonger) {
  EXPECT_TRUE(AnswersAt(100, 100, 5));
  EXPECT_TRUE(AnswersAt(100, 104, 5));
  EXPECT_FALSE(AnswersAt(100, 105, 5));
}

}  // namespace
}  // namespace once
