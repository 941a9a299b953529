#include "replica/ledger/run_id.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "replica/limits.h"

namespace once {
namespace {

constexpr std::int64_t kLimitMs = std::int64_t{1} << 50;

RC_GTEST_PROP(RunId, BytewiseOrderIsOrderOfCreation,
              (std::uint64_t a, std::uint64_t b, std::uint64_t x, std::uint64_t y)) {
  const auto first_ms = static_cast<std::int64_t>(a % kLimitMs);
  const auto second_ms = static_cast<std::int64_t>(b % kLimitMs);
  RC_PRE(first_ms != second_ms);
  const std::string first = MintRunId(first_ms, "eu", x);
  const std::string second = MintRunId(second_ms, "us", y);
  RC_ASSERT((first < second) == (first_ms < second_ms));
}

RC_GTEST_PROP(RunId, HoldsItsTimeAndRegion, (std::uint64_t time, std::uint64_t entropy)) {
  const auto created_ms = static_cast<std::int64_t>(time % kLimitMs);
  const std::string id = MintRunId(created_ms, "eu-west-1", entropy);
  RC_ASSERT(id.size() == kRunIdBytes);
  RC_ASSERT(RunIdMillis(id) == created_ms);
  RC_ASSERT(RunIdCode(id) == RegionCode("eu-west-1"));
}

TEST(RunId, EntropyMakesTwoOfOneMillisecondDiffer) {
  EXPECT_NE(MintRunId(1, "eu", 1), MintRunId(1, "eu", 2));
  EXPECT_NE(MintRunId(1, "eu", 1), MintRunId(1, "eu", std::uint64_t{1} << 59));
}

TEST(RunId, RegionsHaveTheirOwnCodes) {
  std::set<std::string> codes;
  for (const char* region : {"eu", "us", "ap", "eu-west-1", "eu-west-2", "us-east-1", "local", "a"})
    codes.insert(RegionCode(region));
  EXPECT_EQ(codes.size(), 8u);
  for (const std::string& code : codes) EXPECT_EQ(code.size(), 4u);
}

TEST(RunId, TheEncodingIsFixed) {
  EXPECT_EQ(MintRunId(0, "eu", 0).substr(0, 10), "0000000000");
  EXPECT_EQ(MintRunId(1'700'000'000'000, "eu", 0).substr(0, 10), "01HF7YAT00");
  EXPECT_EQ(MintRunId(0, "eu", 31).substr(14), "00000000000Z");
}

TEST(RunId, AForeignIdHasNoTime) {
  EXPECT_EQ(RunIdMillis(""), -1);
  EXPECT_EQ(RunIdMillis("01HF7YAT00"), -1);
  EXPECT_EQ(RunIdMillis(std::string(26, 'U')), -1) << "not in Crockford's alphabet";
  EXPECT_EQ(RunIdMillis(std::string(26, 'a')), -1) << "lower case is not ours";
  EXPECT_EQ(RunIdMillis(std::string(27, '0')), -1);
}

TEST(RunIdDeathTest, AStampThatDoesNotFitIsBrokenLogic) {
  EXPECT_DEATH(MintRunId(-1, "eu", 0), "ten characters");
  EXPECT_DEATH(MintRunId(kLimitMs, "eu", 0), "ten characters");
}

}  // namespace
}  // namespace once
