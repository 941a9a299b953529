// What an operator sees of runs that lost, and of many regions in the capability document.
#include "replica/ledger/run_id.h"
#include "tests/replica/api_world.h"
#include "tests/replica/event_sink.h"

namespace once {
namespace {

constexpr const char* kDelay = R"({"workflowId":"delay","inputs":{"delayMs":3600000}})";

class ApiConflict : public ApiWorld {
 protected:
  ApiConflict() {
    Configure([](Config& config) {
      config.peers = {{"ap", "127.0.0.1:1"}, {"us", "127.0.0.1:2"}};
    });
  }

  /// What region ap says of a run under that key of a tenant; lower than any made here.
  std::string HearOfLower(const std::string& tenant, const std::string& key,
                          std::int64_t older_ms = 1000, Surface surface = ROUTE,
                          const std::string& endpoint = "POST /v1/runs",
                          const std::string& fingerprint = "another",
                          const Conflict* conflict = nullptr) {
    const std::int64_t now_ms = replica_->NowMillis();
    Command command;
    Change& change = *command.mutable_merge_frame()->mutable_frame()->add_changes();
    change.set_surface(surface);
    change.set_tenant(tenant);
    change.set_endpoint(endpoint);
    change.set_key(key);
    Claim& claim = *change.mutable_claim();
    claim.set_run_id(MintRunId(now_ms - older_ms, "ap", 7));
    claim.set_region("ap");
    claim.set_version(2);
    claim.set_state(COMPLETED);
    claim.set_fingerprint(fingerprint);
    claim.set_created_ms(now_ms - older_ms);
    claim.set_taken_up_ms(now_ms - older_ms);
    claim.set_finalised_ms(now_ms - older_ms);
    claim.set_expires_ms(now_ms + 3'600'000);
    claim.mutable_outcome()->set_status(201);
    claim.mutable_outcome()->set_body("winner");
    if (conflict) {
      *change.mutable_conflict() = *conflict;
      change.mutable_conflict()->set_loser(claim.run_id());
    }
    replica_->Submit(command, [](const Answer&) {});
    RunUntilIdle();
    return claim.run_id();
  }
  /// A run of this region that lost; its id.
  std::string Lost(const std::string& tenant, const std::string& key) {
    As(tenant);
    const std::string run = Post("/v1/runs", key, kDelay).Text("/runId");
    HearOfLower(tenant, key);
    return run;
  }
};

// The duplicate is answered by the ledger, then waits for its sync; meanwhile its claim loses.
TEST_F(ApiConflict, S_40_AnAnswerThatLostWhileItWaitedIsNotKept) {
  As("acme");
  const auto first = SendPost("/v1/runs", "k", kDelay);
  const auto duplicate = SendPost("/v1/runs", "k", kDelay);
  const std::string winner = HearOfLower("acme", "k");
  ASSERT_EQ(first->status, 201);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(Post("/v1/runs", "k", kDelay).Text("/details/existingRunId"), winner);
}

TEST_F(ApiConflict, S_40_ReadyAnswersOfALoserAreNeverServedAgain) {
  As("acme");
  const std::string run = Post("/v1/runs", "k", kDelay).Text("/runId");
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Post("/v1/runs", "k", kDelay).Text("/runId"), run);
  const std::string winner = HearOfLower("acme", "k");
  for (int i = 0; i < 3; ++i) {
    const Reply retry = Post("/v1/runs", "k", kDelay);
    EXPECT_EQ(retry.status, 409);
    EXPECT_EQ(retry.Text("/details/existingRunId"), winner);
  }
}

TEST_F(ApiConflict, OW_N_57_AConflictNamesWhoAgainstWhomAndNoContent) {
  As("acme");
  const std::string loser = Post("/v1/runs", "secret-key", kDelay).Text("/runId");
  const std::string winner = HearOfLower("acme", "secret-key");
  const Reply reply = Get("/v1/conflicts");
  ASSERT_EQ(reply.status, 200);
  ASSERT_EQ(reply.At("/conflicts").as_array().size(), 1u);
  EXPECT_EQ(reply.Text("/conflicts/0/winner"), winner);
  EXPECT_EQ(reply.Text("/conflicts/0/survivor"), winner);
  EXPECT_EQ(reply.Text("/conflicts/0/loser"), loser);
  EXPECT_EQ(reply.Text("/conflicts/0/regionPair"), "ap|eu");
  EXPECT_EQ(reply.Text("/conflicts/0/route"), "POST /v1/runs");
  EXPECT_EQ(reply.Text("/conflicts/0/strategy"), "x-host-once-lowest-run-id");
  EXPECT_EQ(reply.At("/conflicts/0/payloadDivergent"), true);
  EXPECT_EQ(reply.At("/conflicts/0/loserHadCompleted"), false);
  EXPECT_TRUE(reply.At("/conflicts/0/effectIds").as_array().empty());
  EXPECT_EQ(reply.body.find("secret-key"), std::string::npos);
  EXPECT_EQ(reply.body.find("delayMs"), std::string::npos);
}

TEST_F(ApiConflict, OW_N_54_TheEffectsOfALoserAreClassifiedAsARisk) {
  Lost("acme", "k");
  EXPECT_EQ(Get("/v1/conflicts").Text("/conflicts/0/effectClass"), "at-least-once-risk");
}

TEST_F(ApiConflict, OW_MR_08_TheLoserIsCancelledOnceAndSaysWhy) {
  const std::string loser = Lost("acme", "k");
  HearOfLower("acme", "k", 2000);
  const Reply run = Get("/v1/runs/" + loser);
  EXPECT_EQ(run.Text("/status"), "cancelled");
  EXPECT_EQ(run.Text("/reason"), "cross_region_dedup_loss");
  EXPECT_EQ(run.At("/completedBefore"), nullptr);
  const std::string events = Get("/v1/runs/" + loser + "/events").body;
  const auto first = events.find("run.cancelled");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(events.find("run.cancelled", first + 1), std::string::npos);
}

TEST_F(ApiConflict, S_33_ALoserThatHadCompletedSaysSo) {
  const std::string loser = Post("/v1/runs", "k", kNoop).Text("/runId");
  ASSERT_EQ(Get("/v1/runs/" + loser).Text("/status"), "completed");
  HearOfLower("acme", "k");
  const Reply run = Get("/v1/runs/" + loser);
  EXPECT_EQ(run.Text("/status"), "cancelled");
  EXPECT_EQ(run.At("/completedBefore"), true);
  EXPECT_EQ(Get("/v1/conflicts").At("/conflicts/0/loserHadCompleted"), true);
}

TEST_F(ApiConflict, S_40_ARetryWithTheLosersBodyGetsTheSurvivorNamed) {
  Post("/v1/runs", "k", kNoop);
  const std::string winner = HearOfLower("acme", "k");
  const Reply retry = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(retry.status, 409);
  EXPECT_EQ(retry.Text("/error"), "idempotency_key_mismatch");
  EXPECT_EQ(retry.Text("/details/existingRunId"), winner);
}

TEST_F(ApiConflict, S_42_ALateCompletionIsToldTheWinnerAndKept) {
  As("acme");
  const Reply begun = Post("/v1/claims", "k", R"({"endpoint":"POST /pay","request":{}})");
  const std::string claim = begun.Text("/claimId");
  const std::string winner = HearOfLower("acme", "k", 1000, CLAIM, "POST /pay");
  const auto settle = [&](int status) {
    return Ask("PUT", "/v1/claims/" + claim + "/outcome", {{"If-Match", begun.Header("ETag")}},
               R"({"status":)" + std::to_string(status) + R"(,"body":"charged twice"})");
  };
  for (const int status : {200, 200, 402}) {
    const Reply late = settle(status);
    EXPECT_EQ(late.status, 409);
    EXPECT_EQ(late.Text("/error"), "stale_fence");
    EXPECT_EQ(late.Text("/details/existingRunId"), winner);
  }
  const Reply renewed =
      Ask("POST", "/v1/claims/" + claim + "/renew", {{"If-Match", begun.Header("ETag")}});
  EXPECT_EQ(renewed.Text("/details/existingRunId"), winner);
  const Reply list = Get("/v1/conflicts");
  ASSERT_EQ(list.At("/conflicts").as_array().size(), 1u);
  EXPECT_EQ(list.Text("/conflicts/0/kind"), "late-completion");
  EXPECT_EQ(list.Text("/conflicts/0/winner"), winner);
  EXPECT_EQ(list.Text("/conflicts/0/loser"), begun.Text("/runId"));
  EXPECT_EQ(list.Number("/conflicts/0/lateStatus"), 200);
  EXPECT_EQ(list.body.find("charged twice"), std::string::npos);
  const Reply kept = Get("/v1/claims/" + claim);
  EXPECT_EQ(kept.Text("/state"), "superseded");
  EXPECT_EQ(kept.Text("/outcome/body"), "charged twice");
  EXPECT_EQ(Metric("openwop_idempotency_cross_region_conflicts_total"), 0);
  EXPECT_EQ(Metric("once_stale_fences_total"), 4);
  for (const char* label : {R"(tenant="acme")", R"(route="POST /pay")", R"(region_pair="ap|eu")"})
    EXPECT_EQ(Metric("once_late_completions_total", label), 1) << label;
  Restart();
  EXPECT_EQ(Metric("once_late_completions_total"), 1) << "goes on where it was";
}

TEST_F(ApiConflict, S_42_ALateFailureIsNoDuplicate) {
  As("acme");
  const Reply begun = Post("/v1/claims", "k", R"({"endpoint":"POST /pay","request":{}})");
  HearOfLower("acme", "k", 1000, CLAIM, "POST /pay");
  const std::string path = "/v1/claims/" + begun.Text("/claimId") + "/outcome";
  EXPECT_EQ(Ask("PUT", path, {{"If-Match", begun.Header("ETag")}}, R"({"status":402})").status,
            409);
  EXPECT_EQ(Get("/v1/conflicts").Number("/conflicts/0/lateStatus"), 402);
  EXPECT_EQ(Metric("once_late_completions_total"), 0);
}

TEST_F(ApiConflict, S_42_ALateCompletionOfAnotherRegionIsListedAndNotCounted) {
  Conflict conflict;
  conflict.set_kind(LATE_COMPLETION);
  conflict.set_region("ap");
  conflict.set_winner(MintRunId(replica_->NowMillis(), "us", 1));
  conflict.set_region_pair("ap|us");
  conflict.set_late_status(200);
  HearOfLower("acme", "k", 1000, CLAIM, "POST /pay", "f", &conflict);
  As("acme");
  EXPECT_EQ(Get("/v1/conflicts").Text("/conflicts/0/kind"), "late-completion");
  EXPECT_EQ(Metric("once_late_completions_total"), 0);
}

TEST_F(ApiConflict, S_39_ARunIdUsedTwiceIsCountedLoggedAndListed) {
  As("admin");
  const std::string run = HearOfLower("acme", "canary-key", 1000);
  HearOfLower("acme", "canary-key", 1000, ROUTE, "POST /v1/runs", "yet another");
  EXPECT_EQ(Metric("once_run_id_collisions_total", R"(region="ap")"), 1);
  EXPECT_EQ(warnings_, 1);
  EXPECT_TRUE(log_.back().starts_with("dedup.run-id-collision ")) << log_.back();
  EXPECT_NE(log_.back().find(run), std::string::npos);
  EXPECT_EQ(log_.back().find("canary-key"), std::string::npos);
  Restart();
  const Reply list = Get("/v1/conflicts");
  ASSERT_EQ(list.At("/conflicts").as_array().size(), 1u);
  EXPECT_EQ(list.Text("/conflicts/0/kind"), "run-id-collision");
  EXPECT_EQ(list.Text("/conflicts/0/region"), "ap");
  EXPECT_EQ(list.Text("/conflicts/0/loser"), run);
  EXPECT_EQ(list.Text("/conflicts/0/fingerprints/0"), Hex("another"));
  EXPECT_EQ(list.Text("/conflicts/0/fingerprints/1"), Hex("yet another"));
  EXPECT_EQ(list.body.find("canary-key"), std::string::npos);
  EXPECT_EQ(Metric("openwop_idempotency_cross_region_conflicts_total"), 0);
}

TEST_F(ApiConflict, OW_OP_01_AConflictOfAnotherRegionIsListedAndNotCounted) {
  Conflict conflict;
  conflict.set_region("ap");
  conflict.set_winner(MintRunId(replica_->NowMillis(), "us", 1));
  conflict.set_region_pair("ap|us");
  const std::string loser = HearOfLower("acme", "k", 1000, ROUTE, "POST /v1/runs", "f", &conflict);
  HearOfLower("acme", "k", 1000, ROUTE, "POST /v1/runs", "f", &conflict);
  const Reply list = Get("/v1/conflicts");
  ASSERT_EQ(list.At("/conflicts").as_array().size(), 1u) << list.body;
  EXPECT_EQ(list.Text("/conflicts/0/loser"), loser);
  EXPECT_EQ(list.Text("/conflicts/0/region"), "ap");
  EXPECT_EQ(list.Text("/conflicts/0/route"), "POST /v1/runs");
  EXPECT_EQ(list.Text("/conflicts/0/tenant"), "acme");
  Restart();
  EXPECT_EQ(Metric("openwop_idempotency_cross_region_conflicts_total"), 0);
  EXPECT_TRUE(log_.empty()) << "its home says so";
}

TEST_F(ApiConflict, TheListIsLimitedByTheTenantsRate) {
  Configure([](Config& config) {
    config.limits.tenant_requests_per_second = 1;
    config.limits.tenant_burst = 2;
  });
  EXPECT_EQ(Get("/v1/conflicts").status, 200);
  EXPECT_EQ(Get("/v1/conflicts").status, 200);
  const Reply limited = Get("/v1/conflicts");
  EXPECT_EQ(limited.status, 429);
  EXPECT_EQ(limited.Header("Retry-After"), "1");
  As("globex");
  EXPECT_EQ(Get("/v1/conflicts").status, 200);
}

TEST_F(ApiConflict, ALaterLowerSurvivorIsShownWithoutANewConflict) {
  As("acme");
  Post("/v1/runs", "k", kNoop);
  const std::string first = HearOfLower("acme", "k", 1000);
  const std::string lower = HearOfLower("acme", "k", 5000);
  const Reply reply = Get("/v1/conflicts");
  ASSERT_EQ(reply.At("/conflicts").as_array().size(), 1u);
  EXPECT_EQ(reply.Text("/conflicts/0/winner"), first);
  EXPECT_EQ(reply.Text("/conflicts/0/survivor"), lower);
}

TEST_F(ApiConflict, ATenantSeesItsOwnAndAnAdministratorAll) {
  const std::string acme = Lost("acme", "k");
  const std::string globex = Lost("globex", "k");
  As("acme");
  Reply reply = Get("/v1/conflicts");
  ASSERT_EQ(reply.At("/conflicts").as_array().size(), 1u);
  EXPECT_EQ(reply.Text("/conflicts/0/loser"), acme);
  EXPECT_EQ(reply.body.find(globex), std::string::npos);
  As("admin");
  reply = Get("/v1/conflicts");
  ASSERT_EQ(reply.At("/conflicts").as_array().size(), 2u);
  EXPECT_EQ(reply.Text("/conflicts/1/tenant"), "globex");
  As("claims-only");
  EXPECT_EQ(Get("/v1/conflicts").status, 403);
  As("");
  EXPECT_EQ(Get("/v1/conflicts").status, 401);
}

TEST_F(ApiConflict, ATenantLearnsNothingOfHowManyTheOthersHave) {
  const auto page = [this](const std::string& who, const std::string& query) {
    As(who);
    const Reply reply = Get("/v1/conflicts?" + query);
    const boost::json::value conflicts = reply.At("/conflicts");
    std::string shown;
    for (const auto& conflict : conflicts.as_array())
      shown += std::to_string(conflict.at("sequence").as_int64()) + ":" +
               std::string(conflict.at("tenant").as_string()) + " ";
    return shown + "next " + std::to_string(reply.Number("/next")) +
           (reply.At("/more").as_bool() ? " more" : "");
  };
  for (int i = 0; i < 3; ++i) Lost("globex", "k" + std::to_string(i));
  for (const char* query : {"", "limit=1", "after=0"}) EXPECT_EQ(page("acme", query), "next 0");
  EXPECT_EQ(page("acme", "after=2&limit=1"), "next 2");
  Lost("acme", "a1");
  Lost("globex", "k4");
  EXPECT_EQ(page("acme", "limit=1"), "1:acme next 1");
  Lost("acme", "a2");
  Lost("globex", "k5");
  EXPECT_EQ(page("acme", ""), "1:acme 2:acme next 2");
  EXPECT_EQ(page("acme", "limit=1"), "1:acme next 1 more");
  EXPECT_EQ(page("acme", "limit=1&after=1"), "2:acme next 2");
  EXPECT_EQ(page("acme", "after=2"), "next 2");
  EXPECT_EQ(page("globex", "limit=4&after=1"), "2:globex 3:globex 4:globex 5:globex next 5");
  EXPECT_EQ(page("admin", "limit=3&after=3"), "4:acme 5:globex 6:acme next 6 more");
  As("acme");
  const Reply reply = Get("/v1/conflicts", {{"Accept", "text/event-stream"}});
  const auto sink = std::make_shared<FakeSink>();
  reply.stream(sink);
  RunUntilIdle();
  EXPECT_EQ(sink->Count("id: "), 2);
  for (const char* own : {"id: 1\n", "id: 2\n", R"("sequence":1,)", R"("sequence":2,)"})
    EXPECT_EQ(sink->Count(own), 1) << own;
}

TEST_F(ApiConflict, PagesFollowEachOtherAndSurviveARestart) {
  for (int i = 0; i < 5; ++i) Lost("acme", "k" + std::to_string(i));
  Restart();
  std::string after = "0";
  std::vector<std::int64_t> seen;
  for (bool more = true; more;) {
    const Reply page = Get("/v1/conflicts?limit=2&after=" + after);
    ASSERT_EQ(page.status, 200);
    const boost::json::value conflicts = page.At("/conflicts");
    ASSERT_LE(conflicts.as_array().size(), 2u);
    for (const auto& conflict : conflicts.as_array())
      seen.push_back(conflict.at("sequence").as_int64());
    more = page.At("/more").as_bool();
    ASSERT_NE(after, std::to_string(page.Number("/next")));
    after = std::to_string(page.Number("/next"));
  }
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  for (const char* query : {"limit=0", "limit=1001", "limit=x", "after=-1", "after=1x",
                            "after=", "after=18446744073709551615"})
    EXPECT_EQ(Get(std::string("/v1/conflicts?") + query).status, 400) << query;
}

TEST_F(ApiConflict, AStreamBeginsWithWhatIsThereAndGoesOn) {
  Lost("acme", "k1");
  As("acme");
  const auto follow = [&](Headers headers) {
    headers.emplace_back("Accept", "text/event-stream");
    const Reply reply = Get("/v1/conflicts", headers);
    EXPECT_EQ(reply.Header("Content-Type"), "text/event-stream");
    auto sink = std::make_shared<FakeSink>();
    EXPECT_TRUE(reply.stream);
    reply.stream(sink);
    RunUntilIdle();
    return sink;
  };
  const auto all = follow({});
  const auto later = follow({{"Last-Event-ID", "1"}});
  EXPECT_TRUE(all->text.starts_with("id: 1\nevent: dedup.conflict-resolved\ndata: {")) << all->text;
  EXPECT_EQ(later->text, "");
  const std::string other = Lost("globex", "k1");
  const std::string second = Lost("acme", "k2");
  EXPECT_EQ(all->Count("event: dedup.conflict-resolved\n"), 2);
  EXPECT_EQ(later->Count("event: dedup.conflict-resolved\n"), 1);
  EXPECT_EQ(later->Count(second), 1);
  EXPECT_EQ(all->Count(other), 0) << "another tenant's";
  all->gone = true;
  Lost("acme", "k3");
  EXPECT_EQ(later->Count("event: dedup.conflict-resolved\n"), 2);
  api_->CloseStreams();
  EXPECT_TRUE(later->closed);
  EXPECT_FALSE(all->closed) << "let go when it went";
}

TEST_F(ApiConflict, OW_OP_01_OW_MR_05_TheCounterHasItsLabelsAndCountsOnce) {
  const std::string name = "openwop_idempotency_cross_region_conflicts_total";
  Lost("acme", "k1");
  HearOfLower("acme", "k1", 3000);
  HearOfLower("acme", "k1", 3000);
  Lost("globex", "k1");
  for (int times = 0; times < 2; ++times) EXPECT_EQ(Get("/v1/conflicts").status, 200);
  EXPECT_EQ(Metric(name), 2) << "listing counts nothing";
  const std::string labels[] = {R"(tenant="acme")", R"(route="POST /v1/runs")",
                                R"(region_pair="ap|eu")"};
  for (const std::string& label : labels) EXPECT_GE(Metric(name, label), 1) << label;
  EXPECT_EQ(Metric(name, labels[0]), 1);
  Restart();
  EXPECT_EQ(Metric(name), 2) << "goes on where it was";
}

TEST_F(ApiConflict, OW_OP_02_ThePartitionGaugeIsOnThePageByPeer) {
  api_->SetClusterGauges([](Metrics::Gauges& gauges) {
    gauges.peers = {{.name = "ap", .partition_seconds = 12.5}, {.name = "us"}};
  });
  const std::string name = "openwop_idempotency_partition_seconds";
  EXPECT_EQ(Metric(name, R"(peer="ap")"), 12.5);
  EXPECT_EQ(Metric(name, R"(peer="us")"), 0);
}

TEST_F(ApiConflict, WhatAPeerDidWrongIsOnThePageAndOnlyRises) {
  Metrics::Gauges::Peer peer{.name = "ap", .unacknowledged = 5, .refused = 1, .ignored = 2};
  api_->SetClusterGauges([&peer](Metrics::Gauges& gauges) { gauges.peers = {peer}; });
  const std::string label = R"(peer="ap")";
  EXPECT_EQ(Metric("once_peer_unacknowledged_frames", label), 5);
  EXPECT_EQ(Metric("once_peer_refused_messages_total", label), 1);
  EXPECT_EQ(Metric("once_peer_ignored_frames_total", label), 2);
  EXPECT_EQ(Metric("once_peer_repairs_total", label), 0);
  EXPECT_EQ(Metric("once_peer_queued_bytes", label), 0);
  EXPECT_EQ(Metric("once_peer_dropped_messages_total", label), 0);
  peer.ignored = 7, peer.repaired = 1, peer.unacknowledged = 0;
  peer.queued_bytes = 1000, peer.dropped = 3, peer.oversize = 4, peer.connects = 5;
  peer.refused_certificates = 6, peer.sent_bytes = 7, peer.received_bytes = 8;
  EXPECT_EQ(Metric("once_peer_queued_bytes", label), 1000);
  EXPECT_EQ(Metric("once_peer_dropped_messages_total", label), 3);
  EXPECT_EQ(Metric("once_peer_unacknowledged_frames", label), 0);
  EXPECT_EQ(Metric("once_peer_refused_messages_total", label), 1);
  EXPECT_EQ(Metric("once_peer_ignored_frames_total", label), 7);
  EXPECT_EQ(Metric("once_peer_repairs_total", label), 1);
  EXPECT_EQ(Metric("once_peer_oversize_messages_total", label), 4);
  EXPECT_EQ(Metric("once_peer_connects_total", label), 5);
  EXPECT_EQ(Metric("once_peer_refused_certificates_total", label), 6);
  EXPECT_EQ(Metric("once_peer_sent_bytes_total", label), 7);
  EXPECT_EQ(Metric("once_peer_received_bytes_total", label), 8);
}

TEST_F(ApiConflict, OW_N_10_OW_N_55_EveryAdvertisedMetricOfManyRegionsIsOnThePage) {
  Lost("acme", "k");
  metrics_->Lag("ap", 20);
  api_->SetClusterGauges([](Metrics::Gauges& gauges) {
    gauges.peers = {{.name = "ap"}, {.name = "us"}};
  });
  const std::string page = MetricsPage();
  const boost::json::value names = Get("/.well-known/openwop").At("/observability/metrics/names");
  int of_regions = 0;
  for (const auto& name : names.as_array()) {
    const std::string text(name.as_string());
    if (text.starts_with("openwop_") || text.starts_with("once_peer_") ||
        text.find("replication") != std::string::npos) {
      ++of_regions;
      EXPECT_NE(page.find("# TYPE " + text + " "), std::string::npos) << text;
    }
  }
  EXPECT_EQ(of_regions, 15);
}

TEST_F(ApiConflict, TheResolutionIsLogged) {
  const std::string loser = Lost("acme", "canary-key");
  const auto line = std::find_if(log_.begin(), log_.end(), [](const std::string& text) {
    return text.starts_with("dedup.conflict-resolved ");
  });
  ASSERT_NE(line, log_.end());
  EXPECT_NE(line->find(loser), std::string::npos);
  EXPECT_EQ(line->find("canary-key"), std::string::npos);
}

}  // namespace
}  // namespace once
