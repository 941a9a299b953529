#include "replica/api/idempotency_key.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace once {
namespace {

using Headers = std::vector<std::pair<std::string_view, std::string_view>>;

IdempotencyKey ReadKey(std::string_view target, Headers headers = {}) {
  return ReadIdempotencyKey({"POST", target, std::move(headers), {}});
}

void ExpectKey(const IdempotencyKey& read, std::string_view key) {
  EXPECT_EQ(read.kind, IdempotencyKey::Kind::kKey) << read.text;
  EXPECT_EQ(read.text, key);
}

void ExpectInvalid(const IdempotencyKey& read, std::string_view why) {
  EXPECT_EQ(read.kind, IdempotencyKey::Kind::kInvalid) << read.text;
  EXPECT_NE(read.text.find(why), std::string::npos) << read.text;
}

TEST(IdempotencyKey, AbsentWhenNothingNamesOne) {
  EXPECT_EQ(ReadKey("/v1/runs"), IdempotencyKey{});
  EXPECT_EQ(ReadKey("/v1/runs?key=1&Idempotency_Key=2", {{"Accept", "x"}}), IdempotencyKey{});
}

TEST(IdempotencyKey, CK_02_EveryInputIsRead) {
  ExpectKey(ReadKey("/", {{"Idempotency-Key", "k"}}), "k");
  ExpectKey(ReadKey("/", {{"x-idempotency-KEY", "k"}}), "k");
  ExpectKey(ReadKey("/?idempotency_key=k"), "k");
  ExpectKey(ReadKey("/?a=b&idempotency-key=k&c"), "k");
  ExpectKey(ReadKey("/?idempotency%5Fkey=%6b%2F+"), "k/+");
}

TEST(IdempotencyKey, CK_02_InputsThatDisagreeAreInvalid) {
  ExpectInvalid(ReadKey("/", {{"Idempotency-Key", "a"}, {"X-Idempotency-Key", "b"}}),
                "two different");
  ExpectInvalid(ReadKey("/?idempotency_key=a", {{"Idempotency-Key", "b"}}), "two different");
  ExpectInvalid(ReadKey("/?idempotency_key=a&idempotency-key=b"), "two different");
  ExpectInvalid(ReadKey("/?idempotency_key=", {{"Idempotency-Key", "b"}}), "empty");
  ExpectInvalid(ReadKey("/?idempotency_key=b", {{"Idempotency-Key", ""}}), "empty");
}

TEST(IdempotencyKey, CK_02_InputsThatAgreeAreOneKey) {
  ExpectKey(ReadKey("/?idempotency_key=a&idempotency-key=%22a%22",
                    {{"Idempotency-Key", "\"a\""}, {"X-Idempotency-Key", "a"}}),
            "a");
}

TEST(IdempotencyKey, OneInputTwiceIsInvalidEvenWhenEqual) {
  ExpectInvalid(ReadKey("/", {{"Idempotency-Key", "a"}, {"idempotency-key", "a"}}), "twice");
  ExpectInvalid(ReadKey("/?idempotency_key=a&idempotency%5fkey=a"), "twice");
}

TEST(IdempotencyKey, QuotedAndBareAreTheSameKey) {
  ExpectKey(ParseIdempotencyKey("abc"), "abc");
  ExpectKey(ParseIdempotencyKey("\"abc\""), "abc");
  ExpectKey(ParseIdempotencyKey(R"("a\"b\\c")"), R"(a"b\c)");
  ExpectKey(ParseIdempotencyKey(R"(a\b)"), R"(a\b)");
  ExpectKey(ParseIdempotencyKey("a b;c=d"), "a b;c=d");
}

TEST(IdempotencyKey, BlanksAroundAreNotPartOfIt) {
  ExpectKey(ParseIdempotencyKey(" \tabc "), "abc");
  ExpectKey(ParseIdempotencyKey(" \" abc \" "), " abc ");
}

TEST(IdempotencyKey, BareCommaIsInvalidQuotedIsNot) {
  ExpectInvalid(ParseIdempotencyKey("a,b"), "comma");
  ExpectInvalid(ParseIdempotencyKey("a, a"), "comma");
  ExpectKey(ParseIdempotencyKey("\"a,b\""), "a,b");
}

TEST(IdempotencyKey, BadQuotingIsInvalid) {
  for (const char* text :
       {"\"", "\"abc", "\"abc\"d", "\"abc\";p=1", "\"a\", \"b\"", R"("a\n")", R"("a\)", R"("a\")"})
    ExpectInvalid(ParseIdempotencyKey(text), "quoted string");
  ExpectInvalid(ParseIdempotencyKey("abc\""), "quotation mark");
}

TEST(IdempotencyKey, EmptyIsInvalid) {
  for (const char* text : {"", "  ", "\"\""}) ExpectInvalid(ParseIdempotencyKey(text), "empty");
  ExpectInvalid(ReadKey("/?idempotency_key"), "empty");
  ExpectInvalid(ReadKey("/", {{"Idempotency-Key", ""}}), "empty");
}

TEST(IdempotencyKey, OW_CL_04_OneTo255BytesAfterUnquoting) {
  ExpectKey(ParseIdempotencyKey("k"), "k");
  ExpectKey(ParseIdempotencyKey("3f2504e0-4f89-41d3-9a0c-0305e82c3301"),
            "3f2504e0-4f89-41d3-9a0c-0305e82c3301");
  const std::string longest(255, 'k');
  ExpectKey(ParseIdempotencyKey(longest), longest);
  ExpectKey(ParseIdempotencyKey('"' + longest + '"'), longest);
  ExpectInvalid(ParseIdempotencyKey(longest + "k"), "255");
  ExpectInvalid(ParseIdempotencyKey('"' + longest + "k\""), "255");
}

TEST(IdempotencyKey, OW_CL_04_PrintableAsciiOnly) {
  for (int c = 0; c < 256; ++c) {
    const std::string text = "\"k" + std::string(1, static_cast<char>(c)) + "k\"";
    const bool escapes = c == '"' || c == '\\';
    if (escapes) continue;
    EXPECT_EQ(ParseIdempotencyKey(text).kind == IdempotencyKey::Kind::kKey, c >= 0x20 && c <= 0x7e)
        << c;
  }
  ExpectInvalid(ReadKey("/?idempotency_key=a%00b"), "printable");
  ExpectInvalid(ReadKey("/?idempotency_key=%C3%A9"), "printable");
}

TEST(IdempotencyKey, MalformedEscapeInTheQueryIsInvalid) {
  for (const char* target :
       {"/?idempotency_key=%", "/?idempotency_key=a%2", "/?idempotency_key=%zz"})
    ExpectInvalid(ReadKey(target), "percent");
}

TEST(IdempotencyKey, TheMessageDoesNotRepeatTheKey) {
  for (const char* text : {"s3cret,s3cret", "\"s3cret", "s3cret\""})
    EXPECT_EQ(ParseIdempotencyKey(text).text.find("s3cret"), std::string::npos);
}

}  // namespace
}  // namespace once
