// The same key with another payload: three policies, set per tenant and route, changed while the
// node runs.
#include "tests/replica/api_world.h"

namespace once {
namespace {

constexpr const char* kOther = R"({"workflowId":"append"})";
constexpr const char* kRunsOfAcme = R"(route="POST /v1/runs",tenant="acme")";

class ApiMismatch : public ApiWorld {
 protected:
  Reply SetPolicy(const std::string& body) {
    As("admin");
    const Reply reply = Ask("PUT", "/v1/admin/policies", {}, body);
    As("acme");
    return reply;
  }
  Reply SetRuns(const std::string& mismatch) {
    return SetPolicy(R"({"tenant":"acme","route":"POST /v1/runs","mismatch":")" + mismatch +
                     R"("})");
  }
  double Mismatches() { return Metric("once_mismatches_total", R"(tenant="acme")"); }
};

TEST_F(ApiMismatch, CM_01_SameKeySamePayloadIsTheExistingRunMarked) {
  const Reply first = Post("/v1/runs", "k", kNoop);
  const Reply again = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(again.Text("/runId"), first.Text("/runId"));
  EXPECT_TRUE(again.Replayed());
  EXPECT_EQ(Mismatches(), 0);
}

TEST_F(ApiMismatch, CM_02_OW_N_06_AnotherPayloadIsNeverAnsweredWithTheOldRun) {
  const Reply first = Post("/v1/runs", "k", kNoop);
  const Reply other = Post("/v1/runs", "k", kOther);
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.Text("/error"), "idempotency_key_mismatch");
  EXPECT_FALSE(other.Replayed());
  EXPECT_EQ(other.At("/runId"), boost::json::value());
  EXPECT_NE(other.body, first.body);
}

TEST_F(ApiMismatch, CM_02_AlsoOverARestart) {
  Post("/v1/runs", "k", kNoop);
  CrashAndRestart();
  EXPECT_EQ(Post("/v1/runs", "k", kOther).Text("/error"), "idempotency_key_mismatch");
  EXPECT_TRUE(Post("/v1/runs", "k", kNoop).Replayed());
}

TEST_F(ApiMismatch, CM_04_ARejectionNamesTheExistingRunInDetailsOnly) {
  const Reply first = Post("/v1/runs", "k", kNoop);
  const Reply other = Post("/v1/runs", "k", kOther);
  EXPECT_EQ(other.Text("/details/existingRunId"), first.Text("/runId"));
  EXPECT_EQ(other.Json().as_object().size(), 3u);
  EXPECT_EQ(other.At("/details").as_object().size(), 1u);
}

TEST_F(ApiMismatch, CM_03_ObserveReplaysCountsAndLogs) {
  ASSERT_EQ(SetRuns("observe").status, 200);
  log_.clear();
  const Reply first = Post("/v1/runs", "canary-key", kNoop);
  const Reply other = Post("/v1/runs", "canary-key", kOther);
  EXPECT_EQ(other.status, 201);
  EXPECT_EQ(other.body, first.body);
  EXPECT_TRUE(other.Replayed());
  EXPECT_EQ(Records('r'), 1u);
  EXPECT_EQ(Mismatches(), 1);
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_EQ(log_[0].find("canary-key"), std::string::npos) << "OW-N-09";
  EXPECT_NE(log_[0].find(first.Text("/runId")), std::string::npos);
}

TEST_F(ApiMismatch, CM_03_OffReplaysBlindly) {
  ASSERT_EQ(SetRuns("off").status, 200);
  log_.clear();
  const Reply first = Post("/v1/runs", "k", kNoop);
  const Reply other = Post("/v1/runs", "k", kOther);
  EXPECT_EQ(other.body, first.body);
  EXPECT_TRUE(other.Replayed());
  EXPECT_TRUE(log_.empty());
}

TEST_F(ApiMismatch, CM_03_WhatRanBelongsToTheRequestThatRan) {
  const std::string busy = R"({"workflowId":"fail","inputs":{"status":503,"times":1}})";
  SetRuns("off");
  ASSERT_EQ(Post("/v1/runs", "k", busy).status, 503);
  const Reply other = Post("/v1/runs", "k", kOther);
  ASSERT_EQ(other.status, 201);
  EXPECT_FALSE(other.Replayed());
  SetRuns("reject");
  EXPECT_EQ(Post("/v1/runs", "k", kOther).body, other.body);
  const Reply first = Post("/v1/runs", "k", busy);
  EXPECT_EQ(first.Text("/error"), "idempotency_key_mismatch");
  EXPECT_EQ(first.Text("/details/existingRunId"), other.Text("/runId"));
}

TEST_F(ApiMismatch, CM_05_CountedInEveryPolicyPerTenantAndRoute) {
  Post("/v1/runs", "k", kNoop);
  double expected = 0;
  for (const char* policy : {"off", "observe", "reject"}) {
    ASSERT_EQ(SetRuns(policy).status, 200);
    Post("/v1/runs", "k", kOther);
    EXPECT_EQ(Metric("once_mismatches_total", kRunsOfAcme), ++expected) << policy;
  }
  EXPECT_EQ(Metric("once_mismatches_total"), 3);
}

TEST_F(ApiMismatch, CM_03_ALegacyEndpointMovesFromOffToReject) {
  Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(Post("/v1/runs", "k", kOther).status, 409) << "reject is the default";
  SetRuns("off");
  EXPECT_EQ(Post("/v1/runs", "k", kOther).status, 201);
  SetRuns("observe");
  EXPECT_EQ(Post("/v1/runs", "k", kOther).status, 201);
  SetRuns("reject");
  EXPECT_EQ(Post("/v1/runs", "k", kOther).status, 409);
}

TEST_F(ApiMismatch, CM_03_ARunTimePolicyIsKeptOverARestart) {
  Post("/v1/runs", "k", kNoop);
  SetRuns("off");
  EXPECT_EQ(log_.back(), "policy-changed tenant=acme route=POST /v1/runs mismatch=off");
  CrashAndRestart();
  EXPECT_EQ(Post("/v1/runs", "k", kOther).status, 201);
  As("admin");
  const Reply list = Get("/v1/admin/policies");
  EXPECT_EQ(list.Text("/default"), "reject");
  EXPECT_EQ(list.Text("/policies/0/mismatch"), "off");
  EXPECT_EQ(list.Text("/policies/0/source"), "admin");
  const std::string place = R"({"tenant":"acme","route":"POST /v1/runs"})";
  EXPECT_EQ(Ask("DELETE", "/v1/admin/policies", {}, place).status, 200);
  As("acme");
  EXPECT_EQ(Post("/v1/runs", "k", kOther).status, 409);
  CrashAndRestart();
  EXPECT_EQ(Post("/v1/runs", "k", kOther).status, 409);
}

TEST_F(ApiMismatch, CM_03_PerTenantAndRouteTheMostSpecificHolds) {
  SetPolicy(R"({"tenant":"acme","mismatch":"off"})");
  SetPolicy(R"({"tenant":"acme","route":"POST /v1/webhooks","mismatch":"reject"})");
  const std::string hook = R"({"url":"https://a.example"})",
                    hook2 = R"({"url":"https://b.example"})";
  const auto both = [&] {
    Post("/v1/runs", "k", kNoop);
    Post("/v1/webhooks", "k", hook);
    return std::pair(Post("/v1/runs", "k", kOther).status, Post("/v1/webhooks", "k", hook2).status);
  };
  EXPECT_EQ(both(), std::pair(201, 409));
  As("globex");
  EXPECT_EQ(both(), std::pair(409, 409));
}

TEST_F(ApiMismatch, CM_03_ThePolicyHoldsForTheClaimApiByItsEndpoint) {
  SetPolicy(R"({"route":"charge-card","mismatch":"observe"})");
  const auto settle = [&](const std::string& endpoint) {
    const Reply claim =
        Post("/v1/claims", "k", R"({"endpoint":")" + endpoint + R"(","request":1})");
    Ask("PUT", "/v1/claims/" + claim.Text("/claimId") + "/outcome",
        {{"If-Match", claim.Header("ETag")}}, R"({"status":200})");
    return Post("/v1/claims", "k", R"({"endpoint":")" + endpoint + R"(","request":2})").status;
  };
  EXPECT_EQ(settle("charge-card"), 200);
  EXPECT_EQ(settle("ship-parcel"), 409);
}

TEST_F(ApiMismatch, CM_06_NumberSpellingIsNotAMismatchADifferentIntegerIs) {
  const auto body = [](const std::string& number) {
    return R"({"workflowId":"noop","inputs":{"amount":)" + number + "}}";
  };
  Post("/v1/runs", "one", body("1"));
  EXPECT_TRUE(Post("/v1/runs", "one", body("1.0")).Replayed());
  EXPECT_TRUE(Post("/v1/runs", "one", body("1e0")).Replayed());
  EXPECT_EQ(Post("/v1/runs", "one", body("2")).status, 409);
  Post("/v1/runs", "big", body("9007199254740992"));
  EXPECT_EQ(Post("/v1/runs", "big", body("9007199254740993")).status, 409);
}

TEST_F(ApiMismatch, APolicyIsForATenantAndARouteThatThereCanBe) {
  const std::string longest(kEndpointBytesMax, 'r');
  EXPECT_EQ(SetPolicy(R"({"route":")" + longest + R"(","mismatch":"off"})").status, 200);
  EXPECT_EQ(SetPolicy(R"({"route":")" + longest + R"(r","mismatch":"off"})").status, 400);
  for (const char* tenant : {"a b", "ac/me", "\u00e9"})
    EXPECT_EQ(SetPolicy(R"({"tenant":")" + std::string(tenant) + R"(","mismatch":"off"})").status,
              400)
        << tenant;
  EXPECT_EQ(SetPolicy(R"({"tenant":"","route":"","mismatch":"reject"})").status, 200);
}

TEST_F(ApiMismatch, APolicyOfANameThatIsNoLongerAcceptedCanBeRemoved) {
  Command old;
  RoutePolicy& policy = *old.mutable_set_policy()->mutable_policy();
  policy.set_tenant("a b");
  policy.set_mismatch(OFF);
  replica_->Submit(old, [](const Answer&) {});
  RunUntilIdle();
  Restart();
  As("admin");
  ASSERT_EQ(Get("/v1/admin/policies").Text("/policies/0/tenant"), "a b");
  EXPECT_EQ(Ask("DELETE", "/v1/admin/policies", {}, R"({"tenant":"a b"})").status, 200);
  EXPECT_EQ(Get("/v1/admin/policies").At("/policies").as_array().size(), 0u);
}

TEST_F(ApiMismatch, TheAdminCallsNeedTheScopeAndAGoodBody) {
  EXPECT_EQ(Ask("PUT", "/v1/admin/policies", {}, R"({"mismatch":"off"})").status, 403);
  EXPECT_EQ(Get("/v1/admin/policies").status, 403);
  for (const char* body : {"", "[]", R"({"tenant":"acme"})", R"({"mismatch":"maybe"})",
                           R"({"mismatch":"off","color":"red"})", R"({"mismatch":1})"})
    EXPECT_EQ(SetPolicy(body).status, 400) << body;
  Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(Post("/v1/runs", "k", kOther).status, 409);
}

}  // namespace
}  // namespace once
