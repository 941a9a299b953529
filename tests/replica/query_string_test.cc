#include "replica/api/query_string.h"

#include <gtest/gtest.h>

namespace once {
namespace {

TEST(QueryString, FollowsTheFirstQuestionMark) {
  EXPECT_EQ(QueryOf("/a"), "");
  EXPECT_EQ(QueryOf("/a?"), "");
  EXPECT_EQ(QueryOf("/a?b?c"), "b?c");
}

TEST(QueryString, ParametersKeepTheirSpelling) {
  const auto parameters = ParseQuery("&a=%41=b&&c&=d&");
  ASSERT_EQ(parameters.size(), 3u);
  EXPECT_EQ(parameters[0].text, "a=%41=b");
  EXPECT_EQ(parameters[0].name, "a");
  EXPECT_EQ(parameters[0].value, "%41=b");
  EXPECT_EQ(parameters[1].name, "c");
  EXPECT_EQ(parameters[1].value, "");
  EXPECT_EQ(parameters[2].name, "");
  EXPECT_EQ(parameters[2].value, "d");
}

TEST(QueryString, PercentDecodeIsStrict) {
  EXPECT_EQ(PercentDecode("a%20b+%2b%2B"), "a b+++");
  EXPECT_EQ(PercentDecode("%00"), std::string(1, '\0'));
  for (const char* text : {"%", "%4", "a%4", "%g0", "%0g", "%%41"})
    EXPECT_FALSE(PercentDecode(text)) << text;
}

TEST(QueryString, NormalizePercentTouchesOnlyWhatMeansTheSame) {
  EXPECT_EQ(NormalizePercent("%61%7E%2d%2f%C3%a9+%20"), "a~-%2F%C3%A9+%20");
  for (const char* malformed : {"%%36%31", "%6%31", "%61%"})
    EXPECT_EQ(NormalizePercent(malformed), malformed);
}

}  // namespace
}  // namespace once
