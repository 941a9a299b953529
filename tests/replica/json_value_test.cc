#include "replica/api/json_value.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

namespace once {
namespace {

std::string Reason(std::string_view document) {
  std::string error;
  EXPECT_FALSE(ParseJson(document, error)) << document;
  return error;
}

boost::json::value Value(std::string_view document) {
  std::string error;
  auto value = ParseJson(document, error);
  EXPECT_TRUE(value) << document << ": " << error;
  return value.value_or(boost::json::value{});
}

TEST(JsonValue, KeepsShapeAndOrder) {
  EXPECT_EQ(boost::json::serialize(Value(R"( {"b":[1,true,null,"x\n"],"a":{"":{}}} )")),
            R"({"b":[1,true,null,"x\n"],"a":{"":{}}})");
}

TEST(JsonValue, IntegersWhateverTheirSpelling) {
  for (const char* text : {"30000", "30000.0", "3e4", "300000e-1"}) {
    ASSERT_TRUE(Value(text).is_int64()) << text;
    EXPECT_EQ(Value(text).get_int64(), 30000);
  }
  EXPECT_EQ(Value("-0").get_int64(), 0);
  EXPECT_EQ(Value("-9223372036854775808").get_int64(), INT64_MIN);
  EXPECT_EQ(Value("9223372036854775808").get_uint64(), 9223372036854775808u);
  EXPECT_EQ(Value("18446744073709551615").get_uint64(), UINT64_MAX);
  EXPECT_EQ(Value("18446744073709551616").get_double(), 18446744073709551616.0);
}

TEST(JsonValue, DoublesAreTheNearest) {
  EXPECT_EQ(Value("0.1").get_double(), 0.1);
  EXPECT_EQ(Value("1.7976931348623157e308").get_double(), 1.7976931348623157e308);
  EXPECT_EQ(Value("123456789.123456789").get_double(), 123456789.123456789);
}

TEST(JsonValue, RefusesWhatHasNoCanonicalText) {
  EXPECT_EQ(Reason(R"({"a":1,"b":{"c":1,"c":2}})"),
            "an object has two members of the same name (at byte 23)");
  EXPECT_EQ(Reason(R"([{"a":{"x":1},"\u0061":[]}])"),
            "an object has two members of the same name (at byte 25)");
  EXPECT_EQ(Reason("1e400"), "a number is out of range (at byte 5)");
  EXPECT_EQ(Reason("1 2"), "there is text after the end of the JSON document (at byte 2)");
  EXPECT_NE(Reason(""), "");
  EXPECT_NE(Reason(std::string(65, '[') + std::string(65, ']')), "");
  EXPECT_NE(Reason("\"\\ud800\""), "");
}

}  // namespace
}  // namespace once
