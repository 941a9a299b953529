#include "replica/api/plain_json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "replica/api/canonical_json.h"
#include "replica/env/random.h"

namespace once {
namespace {

// White space before it: so that it is read.
std::string AsRead(const std::string& document) {
  return Canonicalize(" " + document).text.value_or("");
}

TEST(PlainJson, WhatMostEncodersWrite) {
  for (const char* document :
       {R"({"endpoint":"POST /pay","request":{"amount":12,"to":"acct"}})", "{}", "[]", R"("")", "0",
        "-7", "123456789012345", "true", "false", "null", R"([1,[2,{"a":null}],"b c~!"])",
        R"({"":0,"A":1,"a":2,"ab":3})", "[[[[[[[[1]]]]]]]]"}) {
    EXPECT_TRUE(IsPlainCanonical(document)) << document;
    EXPECT_EQ(AsRead(document), document);
  }
}

TEST(PlainJson, WhatHasToBeRead) {
  for (const char* document : {"",
                               " 1",
                               "1 ",
                               R"({"b":1,"a":2})",
                               R"({"a":1,"a":2})",
                               R"({ "a":1})",
                               R"({"a": 1})",
                               R"(["\u0041"])",
                               R"(["\\"])",
                               "[\"\u00e9\"]",
                               "[\"\x7f\"]",
                               "[\"\x01\"]",
                               "1.0",
                               "1e3",
                               "-0",
                               "01",
                               "-01",
                               "-",
                               "1234567890123456",
                               "1-2",
                               "[1,]",
                               "[,1]",
                               "[1",
                               R"({"a":1)",
                               R"({"a":1,})",
                               R"({"a"})",
                               R"({"a":})",
                               R"({1:2})",
                               R"(")",
                               R"("a)",
                               "tru",
                               "nulll",
                               "[[[[[[[[[1]]]]]]]]]",
                               "{}{}",
                               "]"})
    EXPECT_FALSE(IsPlainCanonical(document)) << document;
  EXPECT_FALSE(IsPlainCanonical(std::string("\"\0\"", 3)));
}

// Texts of pieces that documents are made of: some are plain, and most are nearly a document.
RC_GTEST_PROP(PlainJson, CM_06_PlainIsCanonical, (std::uint64_t seed)) {
  static const std::vector<std::string> pieces = {
      "{",  "}",  "[",     "]",      ",",        ":",  "\"a\"",    "\"b\"", "\"\"", "0",
      "-",  "1",  "23",    "true",   "null",     " ",  ".5",       "e1",    "\"",   "\\n",
      "[]", "{}", "[1,2]", "[\"a\"", "{\"a\":1", ",3", ",\"b\":2", "]",     "}",    "\u00e9"};
  Random random(seed);
  for (int tries = 0; tries < 200; ++tries) {
    std::string document;
    for (auto left = 1 + random.Below(7); left > 0; --left)
      document += pieces[random.Below(pieces.size())];
    if (IsPlainCanonical(document)) RC_ASSERT(AsRead(document) == document);
  }
}

}  // namespace
}  // namespace once
