// Many callers with one key at the same time.
#include <gmock/gmock.h>

#include <set>

#include "tests/system/node_process.h"
#include "tests/system/promises.h"

namespace once {
namespace {

constexpr int kCallers = 200;

class DuplicateStorm : public testing::Test {
 protected:
  void SetUp() override {
    key_ = node_.AddKey("acme");
    ASSERT_TRUE(node_.Start());
  }

  // All requests are sent before the first answer is received.
  std::vector<HttpResult> Storm(const std::string& target, const std::string& body,
                                const HeaderList& more = {}) {
    std::vector<std::unique_ptr<Caller>> callers;
    for (int i = 0; i < kCallers; ++i)
      callers.push_back(std::make_unique<Caller>(node_.port(), key_));
    for (const auto& caller : callers) {
      HeaderList headers = caller->Headers("the-only-key");
      headers.insert(headers.end(), more.begin(), more.end());
      EXPECT_TRUE(caller->http().Send("POST", target, headers, body));
    }
    std::vector<HttpResult> results;
    for (const auto& caller : callers) results.push_back(caller->http().Receive());
    return results;
  }

  NodeProcess node_{{.node_settings = "metrics_public = true"}};
  std::string key_;
};

TEST_F(DuplicateStorm, OW_CC_01_S_62_OneRunAndEveryWaitingCallerGetsIt) {
  const std::string body = R"({"workflowId":"noop","inputs":{"admissionMs":300}})";
  std::set<std::string> bodies;
  int replayed = 0;
  for (const HttpResult& result : Storm("/v1/runs", body, {{"Prefer", "wait=25"}})) {
    EXPECT_EQ(result.status, 201) << result.body;
    bodies.insert(result.body);
    replayed += result.replayed();
  }
  EXPECT_EQ(bodies.size(), 1u);
  EXPECT_EQ(replayed, kCallers - 1);
  Caller caller(node_.port(), key_);
  EXPECT_EQ(caller.Metric("once_claims_total"), 1);
  EXPECT_EQ(caller.Metric("once_replays_total"), kCallers - 1);
}

TEST_F(DuplicateStorm, OW_CC_01_S_62_WithoutWaitingOthersAreToldThatItIsInFlight) {
  const std::string body = R"({"workflowId":"noop","inputs":{"admissionMs":1000}})";
  std::set<std::string> runs;
  int executed = 0;
  for (const HttpResult& result : Storm("/v1/runs", body)) {
    if (result.status == 201) {
      executed += !result.replayed();
      runs.insert(Member(result, "runId"));
      continue;
    }
    EXPECT_EQ(Member(result, "error"), "idempotency_in_flight") << result.body;
    EXPECT_FALSE(result.Header("retry-after").empty());
  }
  EXPECT_EQ(executed, 1);
  EXPECT_EQ(runs.size(), 1u);
}

TEST_F(DuplicateStorm, OW_CC_01_OneClaimIsBegunOnce) {
  const std::string body = R"({"endpoint":"charge","request":{"amount":7},"leaseSeconds":600})";
  int begun = 0;
  for (const HttpResult& result : Storm("/v1/claims", body)) {
    begun += result.status == 201;
    EXPECT_THAT(result.status, testing::AnyOf(201, 409));
  }
  EXPECT_EQ(begun, 1);
}

}  // namespace
}  // namespace once
