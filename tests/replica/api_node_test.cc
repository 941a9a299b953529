// What the node says about itself, and what it says when it cannot promise anything.
#include <set>

#include "tests/replica/api_world.h"

namespace once {
namespace {

class ApiNode : public ApiWorld {};

TEST_F(ApiNode, OW_CA_01_OW_L1_07_TheIdempotencyFamilyHasItsShape) {
  As("");
  const Reply reply = Get("/.well-known/openwop");
  ASSERT_EQ(reply.status, 200);
  const auto family = reply.At("/capabilities/idempotency").as_object();
  EXPECT_EQ(family.size(), 5u);
  EXPECT_EQ(family.at("supported"), true);
  EXPECT_GE(reply.Number("/capabilities/idempotency/layer1RetentionSeconds"), 86400);
  EXPECT_GE(reply.Number("/capabilities/idempotency/layer2RetentionSeconds"), 14 * 86400);
  EXPECT_EQ(family.at("crossRegion"), "single-region");
  EXPECT_EQ(family.at("multiRegion").at("supported"), false);
}

TEST_F(ApiNode, OW_N_62_FamiliesStandAtTheRootAndUnderCapabilities) {
  for (const SpecProfile profile : {SpecProfile::kV11, SpecProfile::kV17}) {
    Configure([profile](Config& config) { config.spec_profile = profile; });
    const Reply reply = Get("/.well-known/openwop");
    const auto families = reply.At("/capabilities").as_object();
    EXPECT_GE(families.size(), 3u);
    for (const auto& [name, family] : families)
      EXPECT_EQ(reply.Json().as_object().at(name), family) << name;
    // In one region both vocabularies say the same, and nothing is claimed of effects.
    EXPECT_EQ(reply.Text("/idempotency/crossRegion"), "single-region");
  }
}

TEST_F(ApiNode, TheDocumentSaysWhatTheNodeDoes) {
  EXPECT_EQ(Get("/.well-known/openwop").At("/fixtures").as_array().size(), 0u);
  Configure([](Config& config) {
    config.test_seams = true;
    config.route_retention_ms = 7'000'000;
    config.limits.body_bytes_max = 4096;
  });
  const Reply reply = Get("/.well-known/openwop");
  EXPECT_EQ(reply.Number("/idempotency/layer1RetentionSeconds"), 7000);
  EXPECT_EQ(reply.Number("/limits/maxRequestBodyBytes"), 4096);
  const auto fixtures = reply.At("/fixtures").as_array();
  EXPECT_EQ(fixtures.size(), 4u);
  for (const auto& fixture : fixtures)
    EXPECT_EQ(Post("/v1/runs", "", R"({"workflowId":")" + std::string(fixture.as_string()) + "\"}")
                  .status,
              201);
}

TEST_F(ApiNode, CK_05_ForEverIsAdvertisedAsAHundredYearsInBothLayers) {
  Configure([](Config& config) {
    config.route_retention_ms = 0;
    config.invocation_retention_ms = 0;
  });
  const Reply reply = Get("/.well-known/openwop");
  const auto hundred_years = static_cast<std::int64_t>(kSpanSecondsMax);
  EXPECT_EQ(reply.Number("/idempotency/layer1RetentionSeconds"), hundred_years);
  EXPECT_EQ(reply.Number("/idempotency/layer2RetentionSeconds"), hundred_years);
}

TEST_F(ApiNode, TheDocumentCanBeCached) {
  const Reply first = Get("/.well-known/openwop");
  EXPECT_NE(first.Header("Cache-Control"), "");
  const std::string etag = first.Header("ETag");
  ASSERT_NE(etag, "");
  const Reply same = Get("/.well-known/openwop", {{"If-None-Match", etag}});
  EXPECT_EQ(same.status, 304);
  EXPECT_EQ(same.body, "");
  EXPECT_EQ(same.Header("ETag"), etag);
  EXPECT_EQ(Get("/.well-known/openwop", {{"If-None-Match", "W/" + etag}}).status, 304);
  EXPECT_EQ(Get("/.well-known/openwop", {{"If-None-Match", "*"}}).status, 304);
  EXPECT_EQ(Get("/.well-known/openwop", {{"If-None-Match", "\"other\""}}).status, 200);
}

TEST_F(ApiNode, OW_N_10_EveryAdvertisedMetricIsOnThePage) {
  Configure([](Config& config) {
    config.limits.tenant_requests_per_second = 1;
    config.limits.tenant_burst = 1;
  });
  Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).status, 429);
  const std::string page = MetricsPage();
  const auto names = Get("/.well-known/openwop").At("/observability/metrics/names").as_array();
  EXPECT_GE(names.size(), 20u);
  for (const auto& name : names)
    EXPECT_NE(page.find("# TYPE " + std::string(name.as_string()) + " "), std::string::npos)
        << name;
  EXPECT_EQ(page.find("\"k\""), std::string::npos);
}

TEST_F(ApiNode, TheCommitQueueIsTheAnswersThatWaitForASync) {
  disk_.SetSyncDelay(100);
  const auto first = SendPost("/v1/runs", "a", kNoop), second = SendPost("/v1/runs", "b", kNoop);
  EXPECT_EQ(Metric("once_commit_queue"), 2);
  Advance(500);
  EXPECT_EQ(first->status, 201);
  EXPECT_EQ(second->status, 201);
  EXPECT_EQ(Metric("once_commit_queue"), 0);
}

TEST_F(ApiNode, EveryRequestIsInTheHistogramWithItsTime) {
  const std::string created = R"(route="/v1/runs")";
  disk_.SetSyncDelay(100);
  const auto reply = SendPost("/v1/runs", "a", kNoop);
  Advance(500);
  ASSERT_EQ(reply->status, 201);
  EXPECT_EQ(Metric("once_request_seconds_count", created), 1);
  EXPECT_GE(Metric("once_request_seconds_sum", created), 0.1);
  EXPECT_LT(Metric("once_request_seconds_sum", created), 0.5);
  Post("/v1/runs", "b", "not json");
  EXPECT_EQ(Metric("once_request_seconds_count", created), 2);
}

TEST_F(ApiNode, OW_N_09_ACallersKeyIsNowhereInMetricsOrLog) {
  const std::string canary = "canary-7f3a";
  Post("/v1/runs", canary, kNoop);
  Post("/v1/runs", canary, R"({"workflowId":"append"})");
  Post("/v1/runs?idempotency_key=" + canary, "", kNoop);
  Post("/v1/claims", canary, R"({"endpoint":"e","request":"canary-7f3a"})");
  EXPECT_EQ(MetricsPage().find(canary), std::string::npos);
  for (const std::string& line : log_) EXPECT_EQ(line.find(canary), std::string::npos);
}

TEST_F(ApiNode, S_66_LabelsAreCapped) {
  Configure([](Config& config) { config.limits.metric_label_values_max = 10; });
  for (const char* tenant : {"acme", "globex"}) {
    As(tenant);
    for (int i = 0; i < 200; ++i)
      Post("/v1/claims", "k", R"({"endpoint":"e)" + std::to_string(i) + R"(","request":1})");
  }
  EXPECT_EQ(Metric("once_claims_total"), 400);
  EXPECT_GT(Metric("once_claims_total", R"(route="other")"), 0);
  const std::string page = MetricsPage();
  int series = 0;
  for (std::size_t at = page.find("once_claims_total{"); at != std::string::npos;
       at = page.find("once_claims_total{", at + 1))
    ++series;
  EXPECT_LE(series, 2 * 11 + 1);
}

TEST(ApiMetrics, S_66_PairsOfLabelsAreCappedToo) {
  Metrics metrics(20);
  for (int tenant = 0; tenant < 100; ++tenant)
    for (int route = 0; route < 100; ++route)
      metrics.Count(Metrics::Event::kClaim, "t" + std::to_string(tenant),
                    "r" + std::to_string(route));
  const std::string page = metrics.Text({});
  int series = 0;
  for (std::size_t at = page.find("once_claims_total{"); at != std::string::npos;
       at = page.find("once_claims_total{", at + 1))
    ++series;
  EXPECT_LE(series, 4 * 20 + 1);
}

TEST_F(ApiNode, MetricsNeedAnAdministratorUnlessTheyArePublic) {
  EXPECT_EQ(Get("/metrics").status, 403);
  As("");
  EXPECT_EQ(Get("/metrics").status, 401);
  Configure([](Config& config) { config.metrics_public = true; });
  EXPECT_EQ(Get("/metrics").status, 200);
}

TEST_F(ApiNode, HealthAndReadiness) {
  As("");
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_EQ(Get("/readyz").Text("/status"), "ready");
  EXPECT_TRUE(Get("/v1/openapi.json").Json().is_object());
}

TEST_F(ApiNode, S_62_OverTheRate429AndOtherTenantsAreUnharmed) {
  Configure([](Config& config) {
    config.limits.tenant_requests_per_second = 2;
    config.limits.tenant_burst = 3;
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Post("/v1/runs", "k", kNoop).status, 201);
  const Reply limited = Post("/v1/runs", "fresh", kNoop);
  EXPECT_EQ(limited.status, 429);
  EXPECT_EQ(limited.Text("/error"), "rate_limited");
  EXPECT_EQ(std::to_string(limited.Number("/details/retryAfter")), limited.Header("Retry-After"));
  As("globex");
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).status, 201);
  As("acme");
  Advance(limited.Number("/details/retryAfter") * 1000);
  const Reply later = Post("/v1/runs", "fresh", kNoop);
  EXPECT_EQ(later.status, 201) << "the 429 was not stored";
  EXPECT_FALSE(later.Replayed());
  EXPECT_EQ(Metric("once_rate_limited_total", R"(tenant="acme")"), 1);
  EXPECT_EQ(Metric("once_rate_limited_total", R"(tenant="globex")"), 0);
}

TEST_F(ApiNode, AFailedSyncIs503FromThenOn) {
  disk_.FailNextSync();
  const Reply lost = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(lost.status, 503);
  EXPECT_EQ(lost.Text("/error"), "unavailable");
  EXPECT_EQ(lost.Header("Retry-After"), "1");
  EXPECT_EQ(lost.Header(kReplayHeader), "");
  EXPECT_EQ(Post("/v1/runs", "other", kNoop).status, 503);
  EXPECT_EQ(Post("/v1/runs", "", kNoop).status, 503);
  const Reply ready = Get("/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.Text("/error"), "not_ready");
  EXPECT_NE(ready.Header("Retry-After"), "");
  EXPECT_EQ(Get("/healthz").status, 200) << "restarting is the operator's decision";
  EXPECT_EQ(Metric("once_store_failed"), 1);
  CrashAndRestart();
  EXPECT_EQ(Get("/readyz").status, 200);
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).status, 201);
}

TEST_F(ApiNode, WithoutAKeyNobodyIsToldThatARetryIsSafe) {
  disk_.FailNextSync();
  const Reply unknown = Post("/v1/runs", "", kNoop);
  ASSERT_EQ(unknown.status, 503);
  EXPECT_EQ(unknown.Text("/message"),
            "The outcome is unknown; without a key a retry may do it twice.");
  const Reply refused = Post("/v1/runs", "", kNoop);
  ASSERT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Text("/message"), "Nothing can be promised now, and nothing was done.");
  EXPECT_NE(Post("/v1/runs", "k", kNoop).Text("/message").find("same key is safe"),
            std::string::npos);
}

TEST_F(ApiNode, AFullDiskIs507UntilThereIsSpace) {
  const Reply before = Post("/v1/runs", "before", kNoop);
  Advance(10);
  disk_.SetFull(true);
  const Reply refused = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(refused.status, 507);
  EXPECT_EQ(refused.Text("/error"), "insufficient_storage");
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_EQ(Post("/v1/runs", "before", kNoop).body, before.body);
  disk_.SetFull(false);
  Advance(3000);
  EXPECT_EQ(Get("/readyz").status, 200) << "found out without a request";
  const Reply accepted = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(accepted.status, 201);
  EXPECT_FALSE(accepted.Replayed());
}

TEST_F(ApiNode, AWallClockBeyondTheBoundIs503ForNewClaims) {
  scheduler_->JumpWall(5000);
  const Reply refused = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Header("Retry-After"), "1");
  EXPECT_EQ(Post("/v1/claims", "k", R"({"endpoint":"e","request":1})").status, 503);
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_EQ(Metric("once_clock_safe"), 0);
  EXPECT_EQ(Metric("once_clock_offset_seconds"), 5);
  scheduler_->JumpWall(-5000);
  EXPECT_EQ(Get("/readyz").status, 200);
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).status, 201);
}

TEST_F(ApiNode, AnUnreadableRecordIs503NotAnotherExecution) {
  Post("/v1/runs", "k", kNoop);
  std::string slot;
  for (const auto& [key, value] : disk_.visible())
    if (key[0] == 's') slot = key;
  Restart();
  disk_.SetUnreadable(slot);
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).status, 503);
  EXPECT_EQ(Records('r'), 1u);
  disk_.SetReadable(slot);
  EXPECT_TRUE(Post("/v1/runs", "k", kNoop).Replayed());
}

TEST_F(ApiNode, ReloadTakesEffectAtOnceAndReportsWhatIsWrong) {
  As("admin");
  EXPECT_EQ(Ask("POST", "/v1/admin/reload").status, 409) << "nobody owns a configuration file";
  api_->SetReload([] { return std::string("line 3 is wrong"); });
  const Reply wrong = Ask("POST", "/v1/admin/reload");
  EXPECT_EQ(wrong.status, 409);
  EXPECT_EQ(wrong.Text("/message"), "line 3 is wrong");
  api_->SetReload([] { return std::string(); });
  EXPECT_EQ(Ask("POST", "/v1/admin/reload").status, 200);
  api_->Reload(Credentials(), {});
  EXPECT_EQ(Get("/v1/admin/policies").status, 401) << "S-64";
}

TEST_F(ApiNode, S_61_WhatTheListenerTurnedAwayIsOnThePage) {
  api_->SetListenerGauges([](Metrics::Gauges& gauges) {
    gauges.connections = 1;
    gauges.accepted_connections = 5;
    gauges.refused_connections = 2;
    gauges.bad_requests = 3;
    gauges.request_timeouts = 4;
  });
  EXPECT_EQ(Metric("once_connections"), 1);
  EXPECT_EQ(Metric("once_accepted_connections_total"), 5);
  EXPECT_EQ(Metric("once_refused_connections_total"), 2);
  EXPECT_EQ(Metric("once_bad_requests_total"), 3);
  EXPECT_EQ(Metric("once_request_timeouts_total"), 4);
}

}  // namespace
}  // namespace once
