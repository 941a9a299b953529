#include "replica/api/fingerprint.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replica/api/digest.h"

namespace once {
namespace {

using PathParameters = std::vector<std::pair<std::string_view, std::string_view>>;

FingerprintInput Request() {
  return {"POST", "/v1/runs", {}, "", "application/json", R"({"a":1,"b":[true]})"};
}

std::string Of(const FingerprintInput& input) {
  const FingerprintResult result = FingerprintOfRequest(input);
  EXPECT_TRUE(result.fingerprint) << result.error.reason;
  return result.fingerprint ? result.fingerprint->bytes : "";
}

std::string OfBody(std::string_view body, std::string_view content_type = "application/json") {
  FingerprintInput input = Request();
  input.body = body;
  input.content_type = content_type;
  return Of(input);
}

std::string OfQuery(std::string_view query) {
  FingerprintInput input = Request();
  input.query = query;
  return Of(input);
}

std::string OfPath(const PathParameters& parameters) {
  FingerprintInput input = Request();
  input.path_parameters = parameters;
  return Of(input);
}

// Records outlive releases: these bytes belong to version 1 for good.
TEST(Fingerprint, Version1Vectors) {
  const FingerprintResult request = FingerprintOfRequest(Request());
  ASSERT_TRUE(request.fingerprint);
  EXPECT_EQ(request.fingerprint->version, 1u);
  EXPECT_EQ(Hex(request.fingerprint->bytes),
            "439997b1fa954eba6fe72ec6d918acd80d9ce5b19ce98e0adb899d8994664a5a");
  EXPECT_EQ(Hex(FingerprintOfCanonicalJson("[1]").bytes),
            "2f82bae2d079a1e5a493fbec487594bca75a21fd3f55184c190dd68b6101efc9");
  EXPECT_EQ(Hex(FingerprintOfOpaque("abc").bytes),
            "cc97f5a517236a8f566ab249b5b0bfd1ce9cd33b5d091695eaeec85286b6d76b");
}

TEST(Fingerprint, CM_06_NumberSpellingDoesNotMatter) {
  EXPECT_EQ(OfBody(R"({"n":1})"), OfBody(R"({"n":1.0})"));
  EXPECT_EQ(OfBody(R"({"n":1})"), OfBody(R"({"n":1e0})"));
  EXPECT_NE(OfBody(R"({"n":9007199254740992})"), OfBody(R"({"n":9007199254740993})"));
  EXPECT_NE(OfBody(R"({"n":1})"), OfBody(R"({"n":"1"})"));
}

TEST(Fingerprint, OW_N_03_OrderAndWhiteSpaceDoNotMatter) {
  EXPECT_EQ(OfBody(R"({"a":1,"b":[true]})"), OfBody("{ \"b\" : [\n true ], \"a\" : 1 }\n"));
}

TEST(Fingerprint, AbsentEmptyObjectEmptyStringAndNullDiffer) {
  const std::set<std::string> all = {OfBody(""),   OfBody("{}"), OfBody("\"\""), OfBody("null"),
                                     OfBody("[]"), OfBody("0"),  OfBody("false")};
  EXPECT_EQ(all.size(), 7u);
}

TEST(Fingerprint, InvalidJsonIsAnErrorForJsonOnly) {
  FingerprintInput input = Request();
  for (const char* body : {"{", " ", R"({"a":1,"a":2})", "1e400", "{}x"}) {
    input.body = body;
    EXPECT_FALSE(FingerprintOfRequest(input).fingerprint) << body;
    EXPECT_NE(FingerprintOfRequest(input).error.reason, "");
    EXPECT_NE(OfBody(body, "text/plain"), "");
  }
}

TEST(Fingerprint, OW_N_01_MethodAndRouteCount) {
  FingerprintInput other = Request();
  other.method = "PUT";
  EXPECT_NE(Of(other), Of(Request()));
  other = Request();
  other.route = "/v1/run";
  EXPECT_NE(Of(other), Of(Request()));
}

TEST(Fingerprint, AMB_08_PathParametersCount) {
  EXPECT_NE(OfPath({{"id", "run-1"}}), OfPath({{"id", "run-2"}}));
  EXPECT_NE(OfPath({{"id", "run-1"}}), OfPath({}));
  EXPECT_NE(OfPath({{"a", "bc"}}), OfPath({{"ab", "c"}}));
  EXPECT_NE(OfPath({{"a", "x"}, {"b", "y"}}), OfPath({{"a", "y"}, {"b", "x"}}));
  EXPECT_EQ(OfPath({{"id", "run-1"}}), OfPath({{"id", "run-1"}}));
}

TEST(Fingerprint, CK_02_KeyInTheQueryIsLeftOut) {
  EXPECT_EQ(OfQuery("idempotency_key=k"), OfQuery(""));
  EXPECT_EQ(OfQuery("a=1&idempotency-key=k&b=2"), OfQuery("a=1&b=2"));
  EXPECT_EQ(OfQuery("a=1&idempotency%5Fkey=k"), OfQuery("a=1"));
}

TEST(Fingerprint, QueryOrderCountsWithinANameOnly) {
  EXPECT_EQ(OfQuery("b=2&a=1"), OfQuery("a=1&b=2"));
  EXPECT_NE(OfQuery("a=1&a=2"), OfQuery("a=2&a=1"));
  EXPECT_EQ(OfQuery("a=1&b=x&a=2"), OfQuery("b=x&a=1&a=2"));
  EXPECT_NE(OfQuery("a=1"), OfQuery("a=1&a=1"));
  EXPECT_NE(OfQuery("a=1"), OfQuery("a=2"));
}

TEST(Fingerprint, QueryEscapesCountOnlyWhereTheyMean) {
  EXPECT_EQ(OfQuery("%61=%7e"), OfQuery("a=~"));
  EXPECT_EQ(OfQuery("a=%2f"), OfQuery("a=%2F"));
  EXPECT_NE(OfQuery("a=%26b"), OfQuery("a=&b"));
  EXPECT_NE(OfQuery("a=%2B"), OfQuery("a=+"));
  EXPECT_NE(OfQuery("a=%zz"), OfQuery("a=%25zz"));
  EXPECT_NE(OfQuery("a"), OfQuery("a="));
  EXPECT_NE(OfQuery("a=b=c"), OfQuery("a%3Db=c"));
}

TEST(Fingerprint, JsonMediaTypeParametersDoNotCount) {
  const std::string plain = OfBody("{}", "application/json");
  EXPECT_EQ(OfBody("{ }", "Application/JSON; charset=utf-8"), plain);
  EXPECT_EQ(OfBody("{}", " application/json ;"), plain);
  EXPECT_EQ(OfBody("{ }", "application/vnd.api+json"),
            OfBody("{}", "application/vnd.api+JSON;v=1"));
  EXPECT_NE(OfBody("{}", "application/vnd.api+json"), plain);
}

TEST(Fingerprint, OtherMediaTypesAreTakenByTheirBytes) {
  EXPECT_NE(OfBody("{}", "text/plain"), OfBody("{ }", "text/plain"));
  EXPECT_NE(OfBody("{}", "text/plain"), OfBody("{}", "application/json"));
  EXPECT_NE(OfBody("{}", "text/plain"), OfBody("{}", ""));
  EXPECT_NE(OfBody("{}", "text/plain"), OfBody("{}", "text/html"));
  EXPECT_EQ(OfBody("x", "Text/Plain ;  Charset=UTF-8"), OfBody("x", "text/plain;charset=utf-8"));
  EXPECT_NE(OfBody("x", "text/plain;charset=utf-8"), OfBody("x", "text/plain;charset=latin1"));
  EXPECT_NE(OfBody("x", "multipart/form-data; boundary=a"),
            OfBody("x", "multipart/form-data; boundary=A"));
  EXPECT_NE(OfBody("x", "a/b; p=\"x; y\""), OfBody("x", "a/b; p=\"x;y\""));
}

TEST(Fingerprint, IsJson) {
  EXPECT_TRUE(IsJson("application/json"));
  EXPECT_TRUE(IsJson("APPLICATION/Problem+JSON; charset=utf-8"));
  EXPECT_FALSE(IsJson(""));
  EXPECT_FALSE(IsJson("text/json"));
  EXPECT_FALSE(IsJson("application/jsonp"));
  EXPECT_FALSE(IsJson("application/x-www-form-urlencoded"));
}

TEST(Fingerprint, BordersBetweenPartsDoNotShift) {
  const FingerprintInput left = {"POST", "/a", {}, "", "text/plain", "bc"};
  const FingerprintInput right = {"POST", "/ab", {}, "", "text/plain", "c"};
  EXPECT_NE(Of(left), Of(right));
}

TEST(Fingerprint, KindsNeverMeet) {
  const std::string text = "1";
  const std::set<std::string> all = {FingerprintOfCanonicalJson(text).bytes,
                                     FingerprintOfOpaque(text).bytes, OfBody(text),
                                     OfBody(text, "text/plain")};
  EXPECT_EQ(all.size(), 4u);
  for (const std::string& bytes : all) EXPECT_EQ(bytes.size(), 32u);
  EXPECT_NE(FingerprintOfOpaque("1"), FingerprintOfOpaque("1.0"));
  EXPECT_EQ(FingerprintOfOpaque("").bytes.size(), 32u);
}

}  // namespace
}  // namespace once
