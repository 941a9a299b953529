// Many regions over HTTP: the capability document, the seams, and runs that belong elsewhere.
#include "replica/ledger/run_id.h"
#include "tests/replica/api_world.h"

namespace once {
namespace {

const std::string kSeams = "/v1/host/sample/test/";

class ApiRegion : public ApiWorld {
 protected:
  void WithPeers(SpecProfile profile = SpecProfile::kV11, bool test_seams = true) {
    Configure([=](Config& config) {
      config.spec_profile = profile;
      config.test_seams = test_seams;
      config.replication_lag_bound_ms = 4000;
      config.peers = {{"ap", "127.0.0.1:1"}, {"us", "127.0.0.1:2"}};
    });
  }
  Reply Simulate(const std::string& claims) {
    return Post(kSeams + "multi-region/simulate-partition", "", R"({"claims":[)" + claims + "]}");
  }
  static std::string Claim(const std::string& run, const std::string& region,
                           const std::string& key = "k1", const std::string& tenant = "acme",
                           const std::string& endpoint = "POST /v1/runs") {
    return R"({"runId":")" + run + R"(","tenantId":")" + tenant + R"(","endpoint":")" + endpoint +
           R"(","key":")" + key + R"(","region":")" + region + "\"}";
  }
};

TEST_F(ApiRegion, OW_CA_01_OW_MB_02_BestEffortAdvertisesItsBoundAndRule) {
  WithPeers(SpecProfile::kV11);
  const Reply reply = Get("/.well-known/openwop");
  EXPECT_EQ(reply.At("/capabilities/idempotency").as_object().size(), 5u);
  EXPECT_EQ(reply.Text("/capabilities/idempotency/crossRegion"), "best-effort");
  EXPECT_EQ(reply.At("/capabilities/idempotency/multiRegion/supported"), true);
  EXPECT_EQ(reply.Number("/capabilities/idempotency/multiRegion/replicationLagBoundMs"), 4000);
  EXPECT_EQ(reply.Text("/capabilities/idempotency/multiRegion/partitionRecoveryStrategy"),
            "x-host-once-lowest-run-id");
}

TEST_F(ApiRegion, OW_N_50_OW_N_51_OW_N_56_TheNewerProfileHasItsOwnWords) {
  WithPeers(SpecProfile::kV17);
  const Reply reply = Get("/.well-known/openwop");
  EXPECT_EQ(reply.Text("/idempotency/crossRegion"), "reconciled-records");
  EXPECT_EQ(reply.Text("/idempotency/multiRegion/partitionRecoveryStrategy"),
            "lexicographic-min-run-id");
  const std::int64_t bound_ms = reply.Number("/idempotency/multiRegion/replicationLagBoundMs");
  EXPECT_GT(bound_ms, 0);
  EXPECT_LE(bound_ms, 60'000);
  EXPECT_EQ(reply.body.find("strict"), std::string::npos);
  EXPECT_EQ(reply.body.find("best-effort"), std::string::npos);
}

TEST_F(ApiRegion, OW_N_54_FencedEffectsAreNotClaimed) {
  for (const SpecProfile profile : {SpecProfile::kV11, SpecProfile::kV17}) {
    WithPeers(profile);
    EXPECT_EQ(Get("/.well-known/openwop").body.find("fenced-effects"), std::string::npos);
  }
}

TEST_F(ApiRegion, OW_N_55_TheConflictCounterIsListed) {
  WithPeers(SpecProfile::kV17);
  const auto names = Get("/.well-known/openwop").At("/observability/metrics/names").as_array();
  for (const char* name : {"openwop_idempotency_cross_region_conflicts_total",
                           "once_late_completions_total", "openwop_idempotency_partition_seconds"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

TEST_F(ApiRegion, OW_MB_06_ARegionAloneAdvertisesNoBoundAndNoRule) {
  const auto block = Get("/.well-known/openwop").At("/idempotency/multiRegion").as_object();
  EXPECT_EQ(block.size(), 1u);
  EXPECT_EQ(block.at("supported"), false);
}

TEST_F(ApiRegion, OW_N_60_CrossEngineOrderingIsAdvertisedWhereTheSeamIs) {
  WithPeers(SpecProfile::kV11, false);
  EXPECT_EQ(Get("/.well-known/openwop").At("/eventLog/crossEngineOrdering/supported"), false);
  WithPeers(SpecProfile::kV11, true);
  const Reply reply = Get("/.well-known/openwop");
  EXPECT_EQ(reply.At("/eventLog/crossEngineOrdering/supported"), true);
  EXPECT_EQ(reply.Text("/eventLog/crossEngineOrdering/orderingModel"), "lamport");
}

TEST_F(ApiRegion, TheSeamsAreNotThereUnlessSwitchedOn) {
  WithPeers(SpecProfile::kV11, false);
  for (const char* seam :
       {"multi-region/simulate-partition", "cross-engine/append", "cross-engine/reset"}) {
    const Reply reply = Post(kSeams + seam, "", "{}");
    EXPECT_EQ(reply.status, 404) << seam;
    EXPECT_EQ(reply.Text("/error"), "not_found");
  }
  EXPECT_EQ(Get(kSeams + "cross-engine/read").status, 404);
}

TEST_F(ApiRegion, OW_MB_05_ASimulatedPartitionHasTheSameSurvivorAgainAndAfterARestart) {
  WithPeers();
  const std::string claims =
      Claim("run-c", "ap") + "," + Claim("run-a", "us") + "," + Claim("run-b", "eu");
  const Reply first = Simulate(claims);
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.Text("/winner"), "run-a");
  EXPECT_EQ(first.At("/losers"), boost::json::array({"run-b", "run-c"}));
  EXPECT_EQ(first.Text("/loserCancelReason"), "cross_region_dedup_loss");
  const auto redirects = first.At("/cacheRedirects").as_array();
  ASSERT_EQ(redirects.size(), 3u);
  const char* const regions[] = {"ap", "us", "eu"};
  for (std::size_t i = 0; i < redirects.size(); ++i) {
    EXPECT_EQ(redirects[i].at("region"), regions[i]);
    EXPECT_EQ(redirects[i].at("cacheKey"), "POST /v1/runs:k1");
    EXPECT_EQ(redirects[i].at("redirectToRunId"), "run-a");
  }
  EXPECT_EQ(Simulate(claims).body, first.body);
  Restart();
  EXPECT_EQ(Simulate(claims).body, first.body);
  const Reply reversed =
      Simulate(Claim("run-b", "eu") + "," + Claim("run-a", "us") + "," + Claim("run-c", "ap"));
  EXPECT_EQ(reversed.Text("/winner"), "run-a");
  EXPECT_EQ(reversed.At("/losers"), first.At("/losers"));
  EXPECT_EQ(Metric("openwop_idempotency_cross_region_conflicts_total"), 0) << "it is simulated";
}

TEST_F(ApiRegion, S_39_OneRunIdInTwoRegionsDoesNotLoseAgainstItself) {
  WithPeers();
  const Reply reply = Simulate(Claim("run-a", "ap") + "," + Claim("run-a", "us"));
  ASSERT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Text("/winner"), "run-a");
  EXPECT_EQ(reply.At("/losers").as_array().size(), 0u);
  EXPECT_EQ(reply.At("/cacheRedirects").as_array().size(), 2u);
}

TEST_F(ApiRegion, ASimulatedPartitionNeedsTwoClaimsOfOneKey) {
  WithPeers();
  const std::string good = Claim("run-a", "ap");
  for (const std::string& claims :
       {std::string(), good, good + "," + Claim("run-b", "us", "k2"),
        good + "," + Claim("run-b", "us", "k1", "globex"),
        good + "," + Claim("run-b", "us", "k1", "acme", "POST /other"),
        good + "," + Claim("", "us"), good + "," + Claim("run-b", ""), good + ",7"}) {
    const Reply reply = Simulate(claims);
    EXPECT_EQ(reply.status, 400) << claims;
    EXPECT_EQ(reply.Text("/error"), "validation_error");
  }
  for (const char* body : {"{}", "[]", "", R"({"claims":7})", "{"})
    EXPECT_EQ(Post(kSeams + "multi-region/simulate-partition", "", body).status, 400) << body;
}

TEST_F(ApiRegion, OW_N_60_EventsOfSeveralEnginesHaveOneOrder) {
  WithPeers();
  const auto append = [&](const std::string& body) {
    return Post(kSeams + "cross-engine/append", "", body);
  };
  EXPECT_EQ(append(R"({"engineId":"b","payload":{"n":1}})").Number("/lamport"), 1);
  EXPECT_EQ(append(R"({"engineId":"a"})").Number("/lamport"), 1);
  const Reply heard = append(R"({"engineId":"a","lamportHint":7})");
  EXPECT_EQ(heard.status, 201);
  EXPECT_EQ(heard.Number("/lamport"), 8) << "max(1, 7) + 1";
  EXPECT_EQ(heard.Number("/seq"), 1);
  EXPECT_EQ(append(R"({"engineId":"a","lamportHint":3})").Number("/lamport"), 9);
  EXPECT_EQ(append(R"({"engineId":"b","hint":7})").Number("/lamport"), 8);
  const auto events = Get(kSeams + "cross-engine/read").At("/events").as_array();
  std::string order;
  for (const auto& event : events)
    order += std::string(event.at("engineId").as_string()) +
             std::to_string(event.at("lamport").as_int64()) + " ";
  EXPECT_EQ(order, "a1 b1 a8 b8 a9 ");
  EXPECT_EQ(events[1].at("payload"), (boost::json::object{{"n", 1}}));
  EXPECT_EQ(Post(kSeams + "cross-engine/reset", "", "").status, 200);
  EXPECT_EQ(Get(kSeams + "cross-engine/read").At("/events").as_array().size(), 0u);
  EXPECT_EQ(append(R"({"engineId":"a"})").Number("/lamport"), 1) << "clocks start over";
  for (const char* body :
       {"", "{}", R"({"engineId":""})", R"({"engineId":7})", R"({"engineId":"a","lamportHint":-1})",
        R"({"engineId":"a","lamportHint":"x"})"})
    EXPECT_EQ(append(body).status, 400) << body;
}

TEST_F(ApiRegion, AClaimOfAnotherRegionIsToBeSettledThere) {
  WithPeers();
  const std::string own =
      Post("/v1/claims", "k1", R"({"endpoint":"POST /pay","request":{}})").Text("/claimId");
  const std::string foreign = MintRunId(replica_->NowMillis(), "us", 7) + own.substr(own.find('.'));
  const std::string path = "/v1/claims/" + foreign;
  for (const auto& [method, target, body] :
       {std::tuple("PUT", path + "/outcome", R"({"status":200})"),
        std::tuple("POST", path + "/renew", ""), std::tuple("DELETE", path, "")}) {
    const Reply reply = Ask(method, target, {{"If-Match", "\"12\""}}, body);
    EXPECT_EQ(reply.status, 421) << method;
    EXPECT_EQ(reply.Text("/error"), "wrong_region");
    EXPECT_EQ(reply.Text("/details/region"), "us");
  }
}

TEST_F(ApiRegion, ARunOfAnotherRegionIsCancelledAtItsHome) {
  WithPeers();
  std::vector<std::string> asked;
  Answer answer;
  answer.kind = Answer::Kind::kDone;
  answer.outcome.set_status(200);
  answer.outcome.set_body("from home");
  api_->SetForward(
      [&](const std::string& region, const ForwardRequest& request, Replica::Done done) {
        Command command;
        EXPECT_TRUE(command.ParseFromString(request.command()));
        asked.push_back(region + " " + command.mutation().cancel_run().run_id());
        EXPECT_EQ(command.mutation().tenant(), "acme");
        done(answer);
      });
  // Not even heard of here, but its id says whose it is.
  const std::string foreign = MintRunId(replica_->NowMillis(), "us", 7);
  const Reply reply = Post("/v1/runs/" + foreign + "/cancel", "k1", "");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "from home");
  EXPECT_EQ(asked, std::vector<std::string>{"us " + foreign});
  const std::string own = Run(R"({"workflowId":"delay","inputs":{"delayMs":60000}})");
  EXPECT_EQ(Post("/v1/runs/" + own + "/cancel", "", "").status, 200);
  EXPECT_EQ(Post("/v1/runs/nonsense/cancel", "", "").status, 404);
  EXPECT_EQ(asked.size(), 1u) << "what is ours, or nobody's, is not asked elsewhere";
}

TEST_F(ApiRegion, AHomeOutOfReachIs503AndNothingIsStored) {
  WithPeers();
  bool reachable = false;
  api_->SetForward([&](const std::string&, const ForwardRequest&, Replica::Done done) {
    Answer answer;
    answer.kind = reachable ? Answer::Kind::kDone : Answer::Kind::kUnavailable;
    answer.outcome.set_status(200);
    done(answer);
  });
  const std::string foreign = MintRunId(replica_->NowMillis(), "ap", 7);
  // A token says whose it is, too: one that was not heard of yet is no stored 404.
  const std::string token = "int_" + RegionCode("ap") + "_secret";
  for (const std::string& path :
       {"/v1/runs/" + foreign + "/cancel", "/v1/runs/" + foreign + "/approvals/approve",
        "/v1/interrupts/" + token}) {
    reachable = false;
    const Reply refused = Post(path, "k1", R"({"decision":"approved"})");
    EXPECT_EQ(refused.status, 503) << path;
    EXPECT_EQ(refused.Text("/error"), "unavailable");
    EXPECT_EQ(refused.Header("Retry-After"), "1");
    EXPECT_EQ(Records('s'), 0u);
    reachable = true;
    EXPECT_EQ(Post(path, "k1", R"({"decision":"approved"})").status, 200) << path;
  }
}

TEST_F(ApiRegion, ATokenOfThisRegionOrOfNobodyIsDecidedHere) {
  WithPeers();
  api_->SetForward([&](const std::string&, const ForwardRequest&, const Replica::Done&) {
    ADD_FAILURE() << "asked elsewhere";
  });
  const std::string run = Run(R"({"workflowId":"approval"})");
  const std::string token = Get("/v1/runs/" + run).Text("/interruptToken");
  EXPECT_TRUE(token.starts_with("int_" + RegionCode("eu") + "_")) << token;
  const char* const approve = R"({"decision":"approved"})";
  EXPECT_EQ(Post("/v1/interrupts/" + token, "k1", approve).status, 200);
  for (const std::string& unknown :
       {std::string("nonsense"), "int_" + RegionCode("eu") + "_other", "int_" + RegionCode("ap"),
        "int_" + RegionCode("elsewhere") + "_x"})
    EXPECT_EQ(Post("/v1/interrupts/" + unknown, "", approve).status, 404) << unknown;
}

TEST_F(ApiRegion, EventsOfAForeignRunAreToldByItsHome) {
  WithPeers();
  EventPage page;
  page.add_events()->set_type("run.started");
  page.add_events()->set_type("run.completed");
  page.mutable_events(1)->set_sequence(1);
  for (RunEvent& event : *page.mutable_events()) event.set_payload("{}");
  page.set_complete(true);
  std::string asked;
  Answer::Kind kind = Answer::Kind::kDone;
  api_->SetForward(
      [&](const std::string& region, const ForwardRequest& request, const Replica::Done& done) {
        asked = region + " " + request.events().tenant() + " " + request.events().run_id() + " " +
                std::to_string(request.events().from_sequence());
        Answer answer;
        answer.kind = kind;
        answer.outcome.set_body(page.SerializeAsString());
        done(answer);
      });
  const std::string foreign = MintRunId(replica_->NowMillis(), "us", 7);
  const std::string path = "/v1/runs/" + foreign + "/events";
  Reply reply = Get(path);
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(asked, "us acme " + foreign + " 0");
  EXPECT_EQ(reply.Text("/events/1/type"), "run.completed");
  EXPECT_EQ(reply.Text("/events/1/runId"), foreign);
  EXPECT_EQ(reply.At("/isComplete"), true);
  EXPECT_EQ(reply.Text("/homeRegion"), "us");
  reply = Get(path, {{"Accept", "text/event-stream"}, {"Last-Event-ID", "4"}});
  EXPECT_EQ(asked, "us acme " + foreign + " 5");
  EXPECT_EQ(reply.Header("Content-Type"), "text/event-stream");
  EXPECT_NE(reply.body.find("id: 1\nevent: run.completed\ndata: {"), std::string::npos);
  kind = Answer::Kind::kNotFound;
  EXPECT_EQ(Get(path).Text("/error"), "run_not_found");
  kind = Answer::Kind::kUnavailable;
  reply = Get(path);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.Header("Retry-After"), "1");
}

TEST_F(ApiRegion, CutIsThereOnlyWithFaultInjection) {
  WithPeers();
  EXPECT_EQ(Ask("PUT", "/v1/admin/cut", {}, R"({"regions":[]})").status, 403);
  As("admin");
  EXPECT_EQ(Ask("PUT", "/v1/admin/cut", {}, R"({"regions":[]})").status, 404);
  EXPECT_EQ(Get("/v1/admin/cut").status, 404);
  std::vector<std::string> cut;
  api_->SetCut([&](const std::vector<std::string>& regions) { cut = regions; });
  EXPECT_EQ(Get("/v1/admin/cut").body, R"({"region":"eu","cutFrom":[]})");
  const Reply reply = Ask("PUT", "/v1/admin/cut", {}, R"({"regions":["us","ap","us"]})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Text("/region"), "eu");
  EXPECT_EQ(cut, (std::vector<std::string>{"ap", "us"}));
  for (const char* body : {"", "{}", R"({"regions":"ap"})", R"({"regions":[1]})",
                           R"({"regions":["us","mars"]})", R"({"regions":["eu"]})"})
    EXPECT_EQ(Ask("PUT", "/v1/admin/cut", {}, body).status, 400) << body;
  EXPECT_EQ(cut.size(), 2u);
  EXPECT_EQ(Get("/v1/admin/cut").body, R"({"region":"eu","cutFrom":["ap","us"]})");
}

}  // namespace
}  // namespace once
