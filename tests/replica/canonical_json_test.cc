#include "replica/api/canonical_json.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "replica/limits.h"

namespace once {
namespace {

std::string Canonical(std::string_view document) {
  const CanonicalJson canonical = Canonicalize(document);
  return canonical.text.value_or("refused: " + canonical.error.reason);
}

std::string ReasonAgainst(std::string_view document) {
  const CanonicalJson canonical = Canonicalize(document);
  EXPECT_FALSE(canonical.text) << document;
  EXPECT_LE(canonical.error.offset, document.size());
  return canonical.error.reason;
}

// RFC 8785 §3.2.2 and §3.2.3.
TEST(CanonicalJson, Rfc8785Sample) {
  EXPECT_EQ(Canonical(R"({
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  })"),
            R"({"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],)"
            "\"string\":\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

TEST(CanonicalJson, Rfc8785MembersByUtf16CodeUnits) {
  EXPECT_EQ(
      Canonical(R"({"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet)"
                R"( With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":)"
                R"("Control","\u00f6":"Latin Small Letter O With Diaeresis"})"),
      "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\",\"\u00f6\":"
      "\"Latin Small Letter O With Diaeresis\",\"\u20ac\":\"Euro Sign\",\"\U0001F600\":"
      "\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}");
}

TEST(CanonicalJson, Rfc8785AppendixB) {
  struct Row {
    std::uint64_t bits;
    const char* text;
  };
  const std::vector<Row> rows = {{0x0000000000000000, "0"},
                                 {0x8000000000000000, "0"},
                                 {0x0000000000000001, "5e-324"},
                                 {0x8000000000000001, "-5e-324"},
                                 {0x7fefffffffffffff, "1.7976931348623157e+308"},
                                 {0xffefffffffffffff, "-1.7976931348623157e+308"},
                                 {0x4340000000000000, "9007199254740992"},
                                 {0xc340000000000000, "-9007199254740992"},
                                 {0x4430000000000000, "295147905179352830000"},
                                 {0x44b52d02c7e14af5, "9.999999999999997e+22"},
                                 {0x44b52d02c7e14af6, "1e+23"},
                                 {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
                                 {0x444b1ae4d6e2ef4e, "999999999999999700000"},
                                 {0x444b1ae4d6e2ef4f, "999999999999999900000"},
                                 {0x444b1ae4d6e2ef50, "1e+21"},
                                 {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
                                 {0x3eb0c6f7a0b5ed8d, "0.000001"},
                                 {0x41b3de4355555553, "333333333.3333332"},
                                 {0x41b3de4355555554, "333333333.33333325"},
                                 {0x41b3de4355555555, "333333333.3333333"},
                                 {0x41b3de4355555556, "333333333.3333334"},
                                 {0x41b3de4355555557, "333333333.33333343"},
                                 {0xbecbf647612f3696, "-0.0000033333333333333333"},
                                 {0x43143ff3c1cb0959, "1424953923781206.2"}};
  for (const Row& row : rows) {
    const double value = std::bit_cast<double>(row.bits);
    char shortest[64];
    const auto end = std::to_chars(shortest, shortest + 64, value, std::chars_format::scientific);
    EXPECT_EQ(Canonical({shortest, static_cast<std::size_t>(end.ptr - shortest)}), row.text);
    if (std::trunc(value) == value) continue;
    char digits[64];
    std::snprintf(digits, sizeof digits, "%.25e", value);
    EXPECT_EQ(Canonical(digits), row.text);
  }
}

TEST(CanonicalJson, CM_06_NumberSpellingDoesNotMatter) {
  for (const char* one :
       {"1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "0.001e3", "1.000", "100e-02"})
    EXPECT_EQ(Canonical(one), "1");
  for (const char* zero : {"0", "-0", "0.0", "-0.0", "0e400", "-0e-5", "1e-400", "-1e-400"})
    EXPECT_EQ(Canonical(zero), "0");
  for (const char* half : {"0.5", "5e-1", "0.50", "50e-2"}) EXPECT_EQ(Canonical(half), "0.5");
  for (const char* big : {"1e21", "1000000000000000000000", "1000000000000000000000.0", "0.1E22"})
    EXPECT_EQ(Canonical(big), "1e+21");
  EXPECT_EQ(Canonical("-12.50"), "-12.5");
}

TEST(CanonicalJson, CM_06_DifferentIntegersNeverCollapse) {
  EXPECT_EQ(Canonical("9007199254740992"), "9007199254740992");
  EXPECT_EQ(Canonical("9007199254740993"), "9007199254740993");
  EXPECT_EQ(Canonical("9007199254740993.0"), "9007199254740993");
  EXPECT_EQ(Canonical("-9007199254740993"), "-9007199254740993");
  EXPECT_EQ(Canonical("18446744073709551617"), "18446744073709551617");
  EXPECT_NE(Canonical("123456789012345678901234567890"),
            Canonical("123456789012345678901234567891"));
  EXPECT_EQ(Canonical("123456789012345678901234567890"),
            Canonical("1.2345678901234567890123456789e29"));
  EXPECT_NE(Canonical("1e300"), Canonical("1e299"));
}

TEST(CanonicalJson, IntegerWithExponentStaysShort) {
  EXPECT_EQ(Canonical("1e300"), "1e+300");
  EXPECT_EQ(Canonical('1' + std::string(300, '0')), "1e+300");
  EXPECT_EQ(Canonical("-12e300"), "-1.2e+301");
}

TEST(CanonicalJson, OutOfRangeIsRefusedInAnySpelling) {
  const std::string long_integer = '1' + std::string(400, '0');
  for (const std::string& text :
       {std::string("1e400"), std::string("-1e400"), std::string("0.1e401"), long_integer,
        long_integer + ".5", std::string("1e309"), std::string("1.7976931348623159e308")})
    EXPECT_EQ(ReasonAgainst(text), "a number is out of range") << text;
  EXPECT_NE(ReasonAgainst("1e99999999999"), "");
  EXPECT_EQ(Canonical("1.7976931348623157e308"), "1.7976931348623157e+308");
}

TEST(CanonicalJson, OW_N_03_OrderAndWhiteSpaceDoNotMatter) {
  const std::string canonical = R"({"a":{"x":[1,2],"y":{}},"b":"","c":[]})";
  EXPECT_EQ(Canonical(canonical), canonical);
  EXPECT_EQ(Canonical(" {\"c\" : [ ] ,\r\n\t\"b\":\"\", \"a\":{\"y\":{ },\"x\":[1 , 2.0]} } "),
            canonical);
  EXPECT_NE(Canonical("[1,2]"), Canonical("[2,1]"));
}

TEST(CanonicalJson, NamesThatArePrefixesSortShortestFirst) {
  EXPECT_EQ(Canonical(R"({"ab":1,"a":2,"":3,"a\u0000":4})"), R"({"":3,"a":2,"a\u0000":4,"ab":1})");
}

TEST(CanonicalJson, EscapesDoNotMatter) {
  EXPECT_EQ(Canonical(R"("\u0041\/\u00e9\ud83d\ude00")"), "\"A/\u00e9\U0001F600\"");
  EXPECT_EQ(Canonical(R"("\u0008\u0009\u000a\u000c\u000d\u0000\u001F\u007f")"),
            "\"\\b\\t\\n\\f\\r\\u0000\\u001f\x7f\"");
}

TEST(CanonicalJson, DuplicateMembersAreRefused) {
  const std::string reason = "an object has two members of the same name";
  EXPECT_EQ(ReasonAgainst(R"({"a":1,"a":1})"), reason);
  EXPECT_EQ(ReasonAgainst(R"({"b":1,"a":2,"b":3})"), reason);
  EXPECT_EQ(ReasonAgainst(R"({"a":1,"\u0061":2})"), reason);
  EXPECT_EQ(ReasonAgainst(R"([{"x":{"":1,"":2}}])"), reason);
  EXPECT_EQ(Canonical(R"({"a":{"a":1},"b":[{"a":1},{"a":1}]})"),
            R"({"a":{"a":1},"b":[{"a":1},{"a":1}]})");
}

TEST(CanonicalJson, DepthIsCapped) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(Canonical(nested(kJsonDepthMax)), nested(kJsonDepthMax));
  EXPECT_NE(ReasonAgainst(nested(kJsonDepthMax + 1)), "");
  EXPECT_NE(ReasonAgainst(std::string(1 << 20, '[')), "");
}

TEST(CanonicalJson, OnlyOneStrictDocument) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[1,]",
                           "{\"a\":1,}",
                           "{\"a\"}",
                           "{a:1}",
                           "'a'",
                           "nul",
                           "nulll",
                           "1 2",
                           "{} {}",
                           "01",
                           "1.",
                           ".5",
                           "+1",
                           "-",
                           "1e",
                           "0x1",
                           "NaN",
                           "Infinity",
                           "-Infinity",
                           "[1]x",
                           "/**/1",
                           "1//x",
                           "\"a\tb\"",
                           "\"\\x41\"",
                           "\"abc",
                           "\xef\xbb\xbf{}"})
    EXPECT_NE(ReasonAgainst(text), "") << text;
}

TEST(CanonicalJson, LoneSurrogatesAndInvalidUtf8AreRefused) {
  for (const char* text : {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\ud83dx")",
                           R"({"\udfff":1})", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
                           "\"\xe2\x82\"", "\"\xf4\x90\x80\x80\"", "{\"\x80\":1}"})
    EXPECT_NE(ReasonAgainst(text), "") << text;
}

TEST(CanonicalJson, ErrorsSayWhere) {
  EXPECT_EQ(Canonicalize("[1,2,x]").error.offset, 5u);
  EXPECT_EQ(Canonicalize("{}x").error.offset, 2u);
  EXPECT_EQ(Canonicalize("[1e400]").error.offset, 6u);
}

TEST(CanonicalJson, LongStringsSurviveWhole) {
  const std::string text = '"' + std::string(100'000, 'a') + "\\n" + std::string(5'000, 'b') + '"';
  EXPECT_EQ(Canonical(text), text);
  EXPECT_EQ(Canonical("{" + text + ":1,\"a\":2}"), "{\"a\":2," + text + ":1}");
}

}  // namespace
}  // namespace once
