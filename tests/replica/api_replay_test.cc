// A duplicate gets the answer of the first request, marked, and nothing happens twice.
#include <set>

#include "replica/api/route.h"
#include "tests/replica/api_world.h"

namespace once {
namespace {

struct Request {
  std::string method;
  std::string target;
  std::string body;
};

/// A mutating route and a request that it accepts, made from what `approval`, an approval run that
/// waits, and `webhook` offer.
struct MutatingRoute {
  const char* endpoint;
  Request (*request)(const std::string& run, const std::string& token, const std::string& webhook);
  int status;
};

constexpr const char* kApproved = R"({"decision":"approved"})";

const MutatingRoute kMutatingRoutes[] = {
    {"POST /v1/runs",
     [](const std::string&, const std::string&, const std::string&) {
       return Request{"POST", "/v1/runs", R"({"workflowId":"append"})"};
     },
     201},
    {"POST /v1/runs/{runId}/cancel",
     [](const std::string& run, const std::string&, const std::string&) {
       return Request{"POST", "/v1/runs/" + run + "/cancel", R"({"reason":"because"})"};
     },
     200},
    {"POST /v1/runs/{runId}/approvals/{nodeId}",
     [](const std::string& run, const std::string&, const std::string&) {
       return Request{"POST", "/v1/runs/" + run + "/approvals/approve", kApproved};
     },
     200},
    {"POST /v1/interrupts/{token}",
     [](const std::string&, const std::string& token, const std::string&) {
       return Request{"POST", "/v1/interrupts/" + token, kApproved};
     },
     200},
    {"POST /v1/webhooks",
     [](const std::string&, const std::string&, const std::string&) {
       return Request{"POST", "/v1/webhooks", R"({"url":"https://example.org/hook"})"};
     },
     201},
    {"DELETE /v1/webhooks/{webhookId}",
     [](const std::string&, const std::string&, const std::string& webhook) {
       return Request{"DELETE", "/v1/webhooks/" + webhook, ""};
     },
     204},
};

class ApiEveryRoute : public ApiWorld, public testing::WithParamInterface<MutatingRoute> {
 protected:
  ApiEveryRoute() {
    const std::string run = Run(R"({"workflowId":"approval"})");
    const std::string token = Get("/v1/runs/" + run).Text("/interruptToken");
    const std::string webhook =
        Post("/v1/webhooks", "", R"({"url":"https://example.org/a"})").Text("/webhookId");
    request_ = GetParam().request(run, token, webhook);
  }
  Reply Once(Headers headers) {
    return Ask(request_.method, request_.target, std::move(headers), request_.body);
  }

  Request request_;
};

TEST_P(ApiEveryRoute, OW_G_01_OW_L1_01_OneEffectAndAMarkedReplay) {
  const auto before = Effects();
  const Reply first = Once({{"Idempotency-Key", "k"}});
  ASSERT_EQ(first.status, GetParam().status) << first.body;
  const auto after = Effects();
  EXPECT_NE(after, before);
  for (int retry = 0; retry < 3; ++retry) {
    const Reply again = Once({{"Idempotency-Key", "k"}});
    EXPECT_EQ(again.status, first.status);
    EXPECT_EQ(again.body, first.body);
    EXPECT_TRUE(again.Replayed());
  }
  EXPECT_EQ(Effects(), after);
}

TEST_P(ApiEveryRoute, OW_RS_01_OnlyServedFromTheStoreHasTheHeader) {
  const Reply first = Once({{"Idempotency-Key", "k"}});
  EXPECT_EQ(first.Header(kReplayHeader), "");
  EXPECT_EQ(Once({{"Idempotency-Key", "k"}}).Header(kReplayHeader), "true");
  EXPECT_EQ(Once({{"Idempotency-Key", "other"}}).Header(kReplayHeader), "");
  EXPECT_EQ(Once({}).Header(kReplayHeader), "");
}

TEST_P(ApiEveryRoute, OW_L1_03_OW_L1_04_OW_L1_05_StatusHeadersAndBodyOverARestart) {
  const Reply first = Once({{"Idempotency-Key", "k"}});
  CrashAndRestart();
  Reply again = Once({{"Idempotency-Key", "k"}});
  EXPECT_EQ(again.status, first.status);
  EXPECT_EQ(again.body, first.body);
  ASSERT_FALSE(again.headers.empty());
  EXPECT_EQ(again.headers.back(), (std::pair<std::string, std::string>(kReplayHeader, "true")));
  again.headers.pop_back();
  EXPECT_EQ(again.headers, first.headers);
  EXPECT_EQ(again.Header("Set-Cookie"), "");
}

TEST_P(ApiEveryRoute, OW_CK_03_OneKeyValueServesEveryEndpoint) {
  ASSERT_EQ(Post("/v1/runs", "k", R"({"workflowId":"noop","inputs":{"other":1}})").status, 201);
  const Reply reply = Once({{"Idempotency-Key", "k"}});
  if (std::string_view(GetParam().endpoint) == "POST /v1/runs")
    EXPECT_EQ(reply.Text("/error"), "idempotency_key_mismatch");
  else
    EXPECT_EQ(reply.status, GetParam().status) << reply.body;
}

std::string RouteName(const testing::TestParamInfo<MutatingRoute>& info) {
  std::string name;
  for (const char c : std::string_view(info.param.endpoint))
    if (std::isalnum(static_cast<unsigned char>(c))) name += c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(Routes, ApiEveryRoute, testing::ValuesIn(kMutatingRoutes), RouteName);

TEST(ApiRoutes, OW_G_01_EveryRouteThatTakesAKeyIsAmongThem) {
  std::set<std::string> tried, keyed;
  for (const MutatingRoute& route : kMutatingRoutes) tried.insert(route.endpoint);
  for (const Route& route : Routes())
    if (route.keyed) keyed.insert(route.Endpoint());
  EXPECT_EQ(tried, keyed);
}

struct Unkeyed {
  const char* endpoint;
  const char* why;
};
// docs/API.md names them too.
constexpr Unkeyed kUnkeyed[] = {
    {"POST /v1/claims", "its key is the claim's"},
    {"PUT /v1/claims/{claimId}/outcome", "its fence makes it repeatable"},
    {"POST /v1/claims/{claimId}/renew", "its fence makes it repeatable"},
    {"DELETE /v1/claims/{claimId}", "its fence makes it repeatable"},
    {"PUT /v1/admin/policies", "sets a state: twice is once"},
    {"DELETE /v1/admin/policies", "sets a state: twice is once"},
    {"PUT /v1/admin/cut", "sets a state: twice is once"},
    {"POST /v1/admin/reload", "reads files again: twice is once"},
    {"POST /v1/cluster", "names the members to have: twice is once, or refused"},
    {"POST /v1/host/sample/test/multi-region/simulate-partition", "a test seam; keeps nothing"},
    {"POST /v1/host/sample/test/cross-engine/append", "a test seam"},
    {"POST /v1/host/sample/test/cross-engine/reset", "a test seam"},
};

TEST(ApiRoutes, OW_G_01_OW_L1_01_EveryMutatingRouteIsKeyedOrANamedException) {
  std::set<std::string> exceptions, unkeyed;
  for (const Unkeyed& each : kUnkeyed) exceptions.insert(each.endpoint);
  for (const Route& route : Routes())
    if (route.method != "GET" && !route.keyed) unkeyed.insert(route.Endpoint());
  EXPECT_EQ(unkeyed, exceptions);
}

class ApiReplay : public ApiWorld {};

TEST_F(ApiReplay, OW_L1_02_GetDoesNotHonourTheKey) {
  const std::string run = Run(R"({"workflowId":"delay","inputs":{"delayMs":1000}})");
  const Headers key = {{"Idempotency-Key", "k"}};
  const Reply before = Get("/v1/runs/" + run, key);
  Advance(2000);
  const Reply after = Get("/v1/runs/" + run, key);
  EXPECT_EQ(before.Text("/status"), "running");
  EXPECT_EQ(after.Text("/status"), "completed");
  EXPECT_EQ(after.Header(kReplayHeader), "");
  EXPECT_EQ(Records('s'), 0u);
}

TEST_F(ApiReplay, OW_L1_02_GetDoesNotEvenReadTheKey) {
  const std::string run = Run(kNoop);
  EXPECT_EQ(Get("/v1/runs/" + run, {{"Idempotency-Key", std::string(300, 'k')}}).status, 200);
  EXPECT_EQ(Get("/v1/runs/" + run + "?idempotency_key=a&idempotency-key=b").status, 200);
}

TEST_F(ApiReplay, OW_N_19_TwentyRetriesAllFromTheStore) {
  const Reply first = Post("/v1/runs", "k", kNoop);
  for (int retry = 0; retry < 20; ++retry) {
    Advance(100);
    const Reply again = Post("/v1/runs", "k", kNoop);
    EXPECT_TRUE(again.Replayed());
    EXPECT_EQ(again.body, first.body);
  }
  EXPECT_EQ(Records('r'), 1u);
  EXPECT_EQ(Metric("once_replays_total", R"(tenant="acme")"), 20);
}

TEST_F(ApiReplay, OW_MR_01_TheSameBodyGetsTheStoredAnswerInThisRegion) {
  const Reply first = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).body, first.body);
  Restart();
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).body, first.body);
}

TEST_F(ApiReplay, OW_N_01_SpellingsOfOneRouteShareTheRecord) {
  const Reply first = Post("/v1/runs", "k", kNoop);
  for (const char* spelling : {"/v1/runs/", "/v1/%72uns", "/%76%31/runs"}) {
    const Reply again = Post(spelling, "k", kNoop);
    EXPECT_EQ(again.body, first.body) << spelling;
    EXPECT_TRUE(again.Replayed()) << spelling;
  }
}

TEST_F(ApiReplay, OW_N_03_MemberOrderAndWhiteSpaceAreNotContent) {
  const Reply first = Post("/v1/runs", "k", R"({"workflowId":"noop","inputs":{"a":1,"b":[1,2]}})");
  const Reply again =
      Post("/v1/runs", "k", "{ \"inputs\" : {\"b\":[ 1,2 ],\n\"a\":1.0}, \"workflowId\":\"noop\"}");
  EXPECT_TRUE(again.Replayed()) << again.body;
  EXPECT_EQ(again.body, first.body);
}

TEST_F(ApiReplay, WithoutAKeyEveryRequestIsItsOwn) {
  EXPECT_NE(Run(kNoop), Run(kNoop));
  EXPECT_EQ(Records('r'), 2u);
  EXPECT_EQ(Records('s'), 0u);
}

}  // namespace
}  // namespace once
