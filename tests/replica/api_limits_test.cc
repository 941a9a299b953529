// Bounds of what a caller may say: accepted at the bound, refused above it, and then nothing is
// stored.
#include "replica/ledger/event_page.h"
#include "replica/limits.h"
#include "tests/replica/api_world.h"
#include "tests/replica/event_sink.h"

namespace once {
namespace {

class ApiLimits : public ApiWorld {
 protected:
  Reply Begin(const std::string& key, const std::string& members) {
    return Post("/v1/claims", key, R"({"endpoint":"e",)" + members + "}");
  }
  Reply Settle(const Reply& claim, const std::string& outcome) {
    return Ask("PUT", "/v1/claims/" + claim.Text("/claimId") + "/outcome",
               {{"If-Match", claim.Header("ETag")}}, outcome);
  }
  void ExpectRefused(const Reply& reply, std::string_view words) {
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(reply.Text("/error"), "validation_error");
    EXPECT_NE(reply.Text("/message").find(words), std::string::npos) << reply.body;
  }
};

std::string Text(std::size_t bytes) {
  return std::string(bytes, 'x');
}

std::string Names(std::size_t count) {
  std::string names;
  for (std::size_t i = 0; i < count; ++i) names += (i ? "," : "") + std::string(R"("run.ended")");
  return "[" + names + "]";
}

TEST_F(ApiLimits, EndpointOfAClaim) {
  const auto begin = [&](std::size_t bytes) {
    return Post("/v1/claims", "k", R"({"endpoint":")" + Text(bytes) + R"(","request":1})");
  };
  ExpectRefused(begin(kEndpointBytesMax + 1), "1 to 512 bytes");
  EXPECT_EQ(Records('s'), 0u);
  EXPECT_EQ(begin(kEndpointBytesMax).status, 201);
}

TEST_F(ApiLimits, FingerprintOfAClaim) {
  Configure([](Config& config) { config.limits.fingerprint_bytes_max = 2000; });
  const auto begin = [&](std::size_t bytes) {
    return Begin("k", R"("fingerprint":")" + Text(bytes) + R"(")");
  };
  ExpectRefused(begin(2001), "1 to 2000 bytes");
  EXPECT_EQ(Records('s'), 0u);
  EXPECT_EQ(begin(2000).status, 201);
}

TEST_F(ApiLimits, RetentionOfAClaim) {
  const auto begin = [&](const std::string& key, std::uint64_t seconds) {
    return Begin(key, R"("request":1,"retentionSeconds":)" + std::to_string(seconds));
  };
  ExpectRefused(begin("k", kSpanSecondsMax + 1), "0 to 3162240000 (0: never expires)");
  EXPECT_EQ(begin("longest", kSpanSecondsMax).status, 201);
  EXPECT_EQ(begin("for-ever", 0).status, 201);
  Configure([](Config& config) { config.limits.retention_seconds_max = 60; });
  ExpectRefused(begin("k", 61), "1 to 60");
  ExpectRefused(begin("k", 0), "1 to 60");
  EXPECT_EQ(Records('s'), 2u);
  EXPECT_EQ(begin("k", 60).status, 201);
}

TEST_F(ApiLimits, LeaseOfAClaim) {
  Configure([](Config& config) { config.limits.lease_ms_max = 60'000; });
  const auto begin = [&](int seconds) {
    return Begin("k", R"("request":1,"leaseSeconds":)" + std::to_string(seconds));
  };
  ExpectRefused(begin(61), "leaseSeconds");
  EXPECT_EQ(Records('s'), 0u);
  EXPECT_EQ(begin(60).status, 201);
}

TEST_F(ApiLimits, HeadersOfAnOutcome) {
  Configure([](Config& config) { config.limits.stored_headers_max = 70; });
  const auto outcome = [](int headers) {
    std::string text = R"({"status":200,"headers":{"Set-Cookie":"does not count")";
    for (int i = 0; i < headers; ++i) text += R"(,"X-)" + std::to_string(i) + R"(":"v")";
    return text + "}}";
  };
  const Reply claim = Begin("k", R"("request":1)");
  ExpectRefused(Settle(claim, outcome(71)), "70 headers");
  EXPECT_EQ(Get("/v1/claims/" + claim.Text("/claimId")).Text("/state"), "pending");
  EXPECT_EQ(Settle(claim, outcome(70)).status, 200);
}

TEST_F(ApiLimits, BytesOfAnOutcome) {
  Outcome largest;
  largest.set_status(200);
  largest.set_body(Text(3000));
  Configure(
      [&](Config& config) { config.limits.stored_answer_bytes_max = largest.ByteSizeLong(); });
  const auto outcome = [](std::size_t bytes) {
    return R"({"status":200,"body":")" + Text(bytes) + R"("})";
  };
  const Reply claim = Begin("k", R"("request":1)");
  EXPECT_EQ(Settle(claim, outcome(3001)).Text("/error"), "outcome_too_large");
  EXPECT_EQ(Get("/v1/claims/" + claim.Text("/claimId")).Text("/state"), "pending");
  EXPECT_EQ(Settle(claim, outcome(3000)).status, 200);
}

TEST_F(ApiLimits, ReasonOfACancel) {
  Configure([](Config& config) { config.limits.reason_bytes_max = 2000; });
  const std::string run = Run(R"({"workflowId":"approval"})");
  const auto cancel = [&](std::size_t bytes) {
    return Post("/v1/runs/" + run + "/cancel", "", R"({"reason":")" + Text(bytes) + R"("})");
  };
  ExpectRefused(cancel(2001), "2000 bytes");
  EXPECT_EQ(Get("/v1/runs/" + run).Text("/status"), "waiting-approval");
  EXPECT_EQ(cancel(2000).status, 200);
  EXPECT_EQ(Get("/v1/runs/" + run).Text("/reason"), Text(2000));
}

TEST_F(ApiLimits, InputsOfTheBuiltInWorkflows) {
  Configure([](Config& config) { config.limits.delay_ms_max = 1000; });
  const auto create = [&](const std::string& workflow, const std::string& input,
                          std::int64_t number) {
    return Post("/v1/runs", "",
                R"({"workflowId":")" + workflow + R"(","inputs":{")" + input + R"(":)" +
                    std::to_string(number) + "}}");
  };
  ExpectRefused(create("delay", "delayMs", 1001), "to 1000");
  ExpectRefused(create("fail", "times", kFailTimesMax + 1), "times");
  ExpectRefused(create("noop", "admissionMs", kAdmissionMsMax + 1), "admissionMs");
  EXPECT_EQ(Records('r'), 0u);
  EXPECT_EQ(create("delay", "delayMs", 1000).status, 201);
  EXPECT_EQ(create("fail", "times", kFailTimesMax).status, 503) << "as its inputs asked";
  const auto slow = SendPost(
      "/v1/runs", "slow",
      R"({"workflowId":"noop","inputs":{"admissionMs":)" + std::to_string(kAdmissionMsMax) + "}}");
  Advance(kAdmissionMsMax + 1);
  EXPECT_EQ(slow->status, 201);
}

TEST_F(ApiLimits, AWorkflowIsNamedExactly) {
  ExpectRefused(Post("/v1/runs", "", R"({"workflowId":"noop)" + Text(10'000) + R"("})"),
                "none of noop");
  ExpectRefused(Post("/v1/runs", "", R"({"workflowId":""})"), "none of noop");
  EXPECT_EQ(Records('r'), 0u);
}

TEST_F(ApiLimits, UrlAndEventsOfAWebhook) {
  Configure([](Config& config) {
    config.limits.webhook_url_bytes_max = 100;
    config.limits.webhook_events_max = 3;
  });
  const std::string start = "https://a/";
  const auto create = [&](std::size_t url_bytes, const std::string& events) {
    return Post(
        "/v1/webhooks", "",
        R"({"url":")" + start + Text(url_bytes - start.size()) + R"(","events":)" + events + "}");
  };
  ExpectRefused(create(101, "[]"), "at most 100 bytes");
  ExpectRefused(create(100, Names(4)), "at most 3 names");
  ExpectRefused(create(100, R"([")" + Text(kEventNameBytesMax + 1) + R"("])"), "128 bytes");
  EXPECT_EQ(Records('w'), 0u);
  EXPECT_EQ(create(100, Names(3)).status, 201);
  EXPECT_EQ(create(100, R"([")" + Text(kEventNameBytesMax) + R"("])").status, 201);
}

TEST_F(ApiLimits, WebhooksOfATenant) {
  const auto create = [&] { return Post("/v1/webhooks", "", R"({"url":"https://a/"})"); };
  Reply last;
  for (std::size_t i = 0; i < kWebhooksPerTenantMax; ++i) ASSERT_EQ((last = create()).status, 201);
  const Reply refused = create();
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.Text("/error"), "webhook_limit");
  EXPECT_EQ(Records('w'), kWebhooksPerTenantMax);
  As("globex");
  EXPECT_EQ(create().status, 201) << "another tenant's are not counted";
  As("acme");
  EXPECT_EQ(Delete("/v1/webhooks/" + last.Text("/webhookId"), "").status, 204);
  EXPECT_EQ(create().status, 201);
}

TEST_F(ApiLimits, ConflictsOfAPage) {
  EXPECT_EQ(Get("/v1/conflicts?limit=1000").status, 200);
  ExpectRefused(Get("/v1/conflicts?limit=1001"), "1 to 1000");
}

TEST_F(ApiLimits, EventsOfAPage) {
  const std::string run = Run(R"({"workflowId":"approval"})");
  Tables& tables = replica_->tables();
  auto stored = tables.FindRun(run);
  ASSERT_TRUE(stored);
  const std::size_t before = stored->next_sequence();
  const auto append = [&](std::size_t count, std::size_t payload_bytes) {
    for (std::size_t i = 0; i < count; ++i) {
      RunEvent event;
      event.set_sequence(stored->next_sequence());
      event.set_type("channel.written");
      event.set_payload("\"" + Text(payload_bytes) + "\"");
      tables.AppendEvent(run, event);
      stored->set_next_sequence(stored->next_sequence() + 1);
    }
    tables.PutRun(*stored);
  };
  const auto page = [&](std::uint64_t from) {
    EventRequest request;
    request.set_tenant("acme");
    request.set_run_id(run);
    request.set_from_sequence(from);
    return PageOfEvents(tables, request, "eu").value();
  };
  append(kEventsPerPageMax - before, 1);
  EXPECT_EQ(page(0).events_size(), static_cast<int>(kEventsPerPageMax));
  append(1, 1);
  EXPECT_EQ(page(0).events_size(), static_cast<int>(kEventsPerPageMax)) << "the rest comes later";
  EXPECT_EQ(page(kEventsPerPageMax).events_size(), 1);
  append(30, 100'000);
  const EventPage large = page(kEventsPerPageMax + 1);
  EXPECT_EQ(large.events_size(), 11) << "until it is over a MiB";
  EXPECT_LT(large.ByteSizeLong(), kEventPageBytesMax + 200'000);
}

TEST_F(ApiLimits, ClaimsAndEventsOfTheTestSeams) {
  Configure([](Config& config) { config.test_seams = true; });
  const std::string seams = "/v1/host/sample/test/";
  const auto simulate = [&](std::size_t count) {
    std::string claims;
    for (std::size_t i = 0; i < count; ++i)
      claims += (i ? "," : "") + std::string(R"({"runId":"run-)") + std::to_string(i) +
                R"(","tenantId":"acme","endpoint":"e","key":"k","region":"eu"})";
    return Post(seams + "multi-region/simulate-partition", "", R"({"claims":[)" + claims + "]}");
  };
  ExpectRefused(simulate(kSeamClaimsMax + 1), "2 to 1000");
  EXPECT_EQ(simulate(kSeamClaimsMax).status, 200);
  const auto append = [&] {
    return Post(seams + "cross-engine/append", "", R"({"engineId":"a"})");
  };
  for (std::size_t i = 0; i < kSeamEventsMax; ++i) ASSERT_EQ(append().status, 201);
  ExpectRefused(append(), "as many events as it may");
  EXPECT_EQ(Post(seams + "cross-engine/reset", "", "").status, 200);
  EXPECT_EQ(append().status, 201);
}

TEST_F(ApiLimits, CommentsOnAStreamComeAsOftenAsConfigured) {
  Configure([](Config& config) { config.limits.stream_keep_alive_ms = 2000; });
  const std::string run = Run(R"({"workflowId":"approval"})");
  const Reply reply = Get("/v1/runs/" + run + "/events", {{"Accept", "text/event-stream"}});
  ASSERT_TRUE(reply.stream);
  auto sink = std::make_shared<FakeSink>();
  reply.stream(sink);
  Advance(1000);
  const int before = sink->Count(": keep-alive\n\n");
  Advance(6000);
  EXPECT_EQ(sink->Count(": keep-alive\n\n"), before + 3);
}

}  // namespace
}  // namespace once
