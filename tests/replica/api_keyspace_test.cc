// Whose key it is: tenants, endpoints and surfaces never meet.
#include "replica/api/digest.h"
#include "tests/replica/api_world.h"

namespace once {
namespace {

constexpr const char* kUnknownRun = "01HZZZZZZZZZZZZZZZZZZZZZZZ";

class ApiKeyspace : public ApiWorld {};

TEST_F(ApiKeyspace, OW_CK_01_ALookAtAClaimShowsTheSpecsCacheKey) {
  const Reply claim = Post("/v1/claims", "k1", R"({"endpoint":"POST /charges","request":{}})");
  EXPECT_EQ(Get("/v1/claims/" + claim.Text("/claimId")).Text("/cacheKey"),
            PublicCacheKey("acme", "POST /charges", "k1"));
}

TEST_F(ApiKeyspace, OW_CK_02_TwoTenantsTwoRuns) {
  const Reply acme = Post("/v1/runs", "1", kNoop);
  As("globex");
  const Reply globex = Post("/v1/runs", "1", kNoop);
  EXPECT_EQ(globex.status, 201);
  EXPECT_FALSE(globex.Replayed());
  EXPECT_NE(globex.Text("/runId"), acme.Text("/runId"));
}

TEST_F(ApiKeyspace, OW_CL_03_AReusedKeyNeverMakesASecondRun) {
  const Reply first = Post("/v1/runs", "k", kNoop);
  const Reply reused = Post("/v1/runs", "k", R"({"workflowId":"append"})");
  EXPECT_EQ(reused.status, 409);
  EXPECT_EQ(reused.At("/runId"), boost::json::value());
  EXPECT_EQ(Records('r'), 1u);
}

TEST_F(ApiKeyspace, OW_CL_03_CancelsOfTwoRunsUnderOneKeyDoNotReplayEachOther) {
  const std::string delay = R"({"workflowId":"delay","inputs":{"delayMs":60000}})";
  const std::string a = Run(delay), b = Run(delay);
  EXPECT_EQ(Post("/v1/runs/" + a + "/cancel", "k", "").status, 200);
  const Reply other = Post("/v1/runs/" + b + "/cancel", "k", "");
  EXPECT_EQ(other.Text("/error"), "idempotency_key_mismatch");
  EXPECT_EQ(Get("/v1/runs/" + b).Text("/status"), "running");
}

TEST_F(ApiKeyspace, OW_CL_04_OneTo255PrintableCharacters) {
  const std::string uuid = "7d0e1d0c-9c0a-4f5e-9d8b-1b2c3d4e5f60";
  for (const std::string& key : {std::string("k"), uuid, std::string(255, 'k')}) {
    EXPECT_EQ(Post("/v1/runs", key, kNoop).status, 201);
    EXPECT_TRUE(Post("/v1/runs", key, kNoop).Replayed());
  }
  for (const std::string& key :
       {std::string(256, 'k'), std::string("k\x01"), std::string("schl\xc3\xbcssel"),
        std::string("a,b"), std::string("\"open")}) {
    const Reply reply = Post("/v1/runs", key, kNoop);
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(reply.Text("/error"), "validation_error");
    EXPECT_EQ(reply.body.find(key), std::string::npos) << "the key is not repeated";
  }
  EXPECT_EQ(Ask("POST", "/v1/runs", {{"Idempotency-Key", ""}}, kNoop).status, 400);
  EXPECT_EQ(Records('s'), 3u);
}

TEST_F(ApiKeyspace, CK_02_FourInputsOneKey) {
  const Reply first = Post("/v1/runs", "k", kNoop);
  const auto same = [&](std::string target, Headers headers) {
    const Reply reply = Ask("POST", std::move(target), std::move(headers), kNoop);
    EXPECT_EQ(reply.body, first.body);
    EXPECT_TRUE(reply.Replayed());
  };
  same("/v1/runs", {{"X-Idempotency-Key", "k"}});
  same("/v1/runs?idempotency_key=k", {});
  same("/v1/runs?idempotency-key=k", {});
  same("/v1/runs?idempotency_key=%6B", {{"Idempotency-Key", "\"k\""}, {"X-Idempotency-Key", "k"}});
}

TEST_F(ApiKeyspace, CK_02_InputsThatDisagreeAreRefused) {
  const auto refused = [&](std::string target, Headers headers) {
    const Reply reply = Ask("POST", std::move(target), std::move(headers), kNoop);
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(reply.Text("/error"), "validation_error");
  };
  refused("/v1/runs", {{"Idempotency-Key", "a"}, {"X-Idempotency-Key", "b"}});
  refused("/v1/runs", {{"Idempotency-Key", "a"}, {"Idempotency-Key", "a"}});
  refused("/v1/runs?idempotency_key=a", {{"Idempotency-Key", "b"}});
  refused("/v1/runs?idempotency_key=a&idempotency-key=b", {});
  EXPECT_EQ(Records('s'), 0u);
  EXPECT_EQ(Records('r'), 0u);
}

TEST_F(ApiKeyspace, OW_N_02_S_53_TheTenantIsTheCredentials) {
  const std::string body =
      R"({"workflowId":"noop","tenantId":"globex","inputs":{"tenant":"globex"}})";
  const Reply acme = Post("/v1/runs", "k", body, {{"X-Tenant-Id", "globex"}});
  ASSERT_EQ(acme.status, 201);
  EXPECT_EQ(Get("/v1/runs/" + acme.Text("/runId")).Text("/owner/tenant"), "acme");
  As("globex");
  EXPECT_EQ(Get("/v1/runs/" + acme.Text("/runId")).status, 404);
  const Reply globex = Post("/v1/runs", "k", body);
  EXPECT_EQ(globex.status, 201);
  EXPECT_FALSE(globex.Replayed());
}

TEST_F(ApiKeyspace, OW_N_08_AKeyThatLooksLikeTheHostsIsJustAKey) {
  const std::string job = Run(R"({"workflowId":"delay","inputs":{"delayMs":1000}})");
  for (const std::string& key :
       std::vector<std::string>{"schedule-fire:" + job + ":1", "h", "s", "x"}) {
    EXPECT_EQ(Post("/v1/runs", key, kNoop).status, 201) << key;
    EXPECT_TRUE(Post("/v1/runs", key, kNoop).Replayed()) << key;
  }
  Advance(2000);
  EXPECT_EQ(Get("/v1/runs/" + job).Text("/status"), "completed") << "the host's work goes on";
}

TEST_F(ApiKeyspace, OW_N_08_TheClaimApiAndTheRoutesNeverMeet) {
  ASSERT_EQ(Post("/v1/runs", "k", kNoop).status, 201);
  const Reply claim =
      Post("/v1/claims", "k", R"({"endpoint":"POST /v1/runs","request":{"workflowId":"noop"}})");
  EXPECT_EQ(claim.status, 201);
  EXPECT_EQ(claim.Text("/state"), "pending");
  EXPECT_TRUE(Post("/v1/runs", "k", kNoop).Replayed());
  ASSERT_EQ(
      Post("/v1/claims", "k2", R"({"endpoint":"POST /v1/runs","request":{"workflowId":"noop"}})")
          .status,
      201);
  const Reply run = Post("/v1/runs", "k2", kNoop);
  EXPECT_EQ(run.status, 201);
  EXPECT_FALSE(run.Replayed());
}

// What a foreign tenant's thing answers, and what nothing answers, must be the same.
class ApiForeign : public ApiWorld {
 protected:
  void ExpectSame(const std::string& method, const std::string& there, const std::string& nowhere,
                  const Headers& headers = {}, const std::string& body = "") {
    const Reply exists = Ask(method, there, headers, body);
    const Reply absent = Ask(method, nowhere, headers, body);
    EXPECT_EQ(exists.status, 404) << method << " " << there << exists.body;
    EXPECT_EQ(exists.status, absent.status) << method << " " << there;
    EXPECT_EQ(exists.body, absent.body) << method << " " << there;
    EXPECT_EQ(exists.headers, absent.headers) << method << " " << there;
  }
};

TEST_F(ApiForeign, S_55_RunsAndTheirParts) {
  const std::string run = Run(R"({"workflowId":"approval"})");
  const std::string token = Get("/v1/runs/" + run).Text("/interruptToken");
  ASSERT_NE(token, "");
  As("globex");
  const std::string there = "/v1/runs/" + run, nowhere = std::string("/v1/runs/") + kUnknownRun;
  const std::string approve = R"({"decision":"approved"})";
  ExpectSame("GET", there, nowhere);
  ExpectSame("GET", there + "/events", nowhere + "/events");
  ExpectSame("GET", there + "/events", nowhere + "/events", {{"Accept", "text/event-stream"}});
  ExpectSame("POST", there + "/cancel", nowhere + "/cancel");
  ExpectSame("POST", there + "/approvals/approve", nowhere + "/approvals/approve", {}, approve);
  ExpectSame("POST", there + "/approvals/other", nowhere + "/approvals/other", {}, approve);
  ExpectSame("POST", "/v1/interrupts/" + token, "/v1/interrupts/int_unknown", {}, approve);
  As("acme");
  EXPECT_EQ(Get(there).Text("/status"), "waiting-approval");
}

TEST_F(ApiForeign, S_55_WebhooksAndClaims) {
  const std::string webhook =
      Post("/v1/webhooks", "", R"({"url":"https://example.org"})").Text("/webhookId");
  const Reply claim = Post("/v1/claims", "k", R"({"endpoint":"e","request":1})");
  const std::string there = "/v1/claims/" + claim.Text("/claimId");
  const std::string nowhere = std::string("/v1/claims/") + kUnknownRun + "." + std::string(43, 'A');
  As("globex");
  ExpectSame("DELETE", "/v1/webhooks/" + webhook, "/v1/webhooks/wh_unknown");
  const Headers fence = {{"If-Match", claim.Header("ETag")}};
  ExpectSame("GET", there, nowhere);
  ExpectSame("GET", there, "/v1/claims/nonsense");
  ExpectSame("PUT", there + "/outcome", nowhere + "/outcome", fence, R"({"status":200})");
  ExpectSame("POST", there + "/renew", nowhere + "/renew", fence);
  ExpectSame("DELETE", there, nowhere, fence);
  As("acme");
  EXPECT_EQ(Get(there).Text("/state"), "pending");
}

}  // namespace
}  // namespace once
