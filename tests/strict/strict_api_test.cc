// Strict routes and the group over HTTP.
#include <boost/json.hpp>

#include "replica/api/api.h"
#include "tests/strict/strict_story.h"

namespace once {
namespace {

namespace json = boost::json;

/// A cluster whose regions are asked over HTTP. Everybody is the tenant "dev", which is strict.
class StrictApi : public testing::Test {
 protected:
  struct Reply {
    int status = 0;
    std::string body;
    std::map<std::string, std::string> headers;
    json::value Json() const { return json::parse(body); }
  };

  StrictApi() {
    for (const char* region : {"ap", "eu", "us"}) MakeApi(region);
  }
  void MakeApi(const std::string& region) {
    Config config;
    config.region = region;
    config.insecure_dev = true;
    config.strict_routes = {{"dev", "*"}};
    for (const char* peer : {"ap", "eu", "us"})
      if (peer != region) config.peers.push_back({peer, "127.0.0.1:1"});
    apis_[region] =
        std::make_unique<Api>(story_.cluster.replica(region), config, Credentials(), metrics_,
                              [](Severity, std::string_view, std::string_view) {});
  }

  Reply Ask(const std::string& region, const std::string& method, const std::string& target,
            const std::string& key = "", const std::string& body = "",
            const std::string& fence = "") {
    HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = body;
    request.headers.emplace_back("Content-Type", "application/json");
    if (!key.empty()) request.headers.emplace_back("Idempotency-Key", key);
    if (!fence.empty()) request.headers.emplace_back("If-Match", fence);
    Reply reply;
    apis_.at(region)->Serve(request, [&reply](HttpReply given) {
      reply.status = given.status;
      reply.body = given.body;
      for (const auto& [name, value] : given.headers) reply.headers[name] = value;
    });
    EXPECT_TRUE(story_.cluster.time().RunUntil([&] { return reply.status != 0; }, 10'000));
    return reply;
  }
  static std::string Text(const json::value& object, const char* name) {
    return std::string(object.at(name).as_string());
  }

  StrictStory story_;
  Metrics metrics_{16};
  std::map<std::string, std::unique_ptr<Api>> apis_;
};

TEST_F(StrictApi, AClaimIsBegunSettledReadAndReplayedInThreeRegions) {
  const std::string body = R"({"endpoint":"POST /pay","request":{"amount":1}})";
  const Reply begun = Ask("eu", "POST", "/v1/claims", "k", body);
  ASSERT_EQ(begun.status, 201) << begun.body;
  const std::string id = Text(begun.Json(), "claimId");
  const Reply pending = Ask("ap", "GET", "/v1/claims/" + id);
  ASSERT_EQ(pending.status, 200) << pending.body;
  EXPECT_EQ(Text(pending.Json(), "state"), "pending");
  const Reply settled = Ask("us", "PUT", "/v1/claims/" + id + "/outcome", "", R"({"status":201})",
                            begun.headers.at("ETag"));
  ASSERT_EQ(settled.status, 200) << settled.body;
  const Reply again = Ask("ap", "POST", "/v1/claims", "k", body);
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.headers.at("openwop-Idempotent-Replay"), "true");
}

TEST_F(StrictApi, ARunIsMadeInOneRegionAndSeenAndCancelledInAnother) {
  const Reply made =
      Ask("eu", "POST", "/v1/runs", "k", R"({"workflowId":"delay","inputs":{"delayMs":3600000}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string run = Text(made.Json(), "runId");
  EXPECT_EQ(Ask("us", "GET", "/v1/runs/" + run).status, 200);
  EXPECT_EQ(Ask("ap", "POST", "/v1/runs/" + run + "/cancel", "c", "{}").status, 200);
  const Reply seen = Ask("us", "GET", "/v1/runs/" + run);
  EXPECT_EQ(Text(seen.Json(), "status"), "cancelled");
  EXPECT_EQ(Text(seen.Json(), "region"), "*");
  EXPECT_EQ(Ask("us", "GET", "/v1/runs/" + run + "/events").status, 200);
  EXPECT_EQ(
      Ask("us", "POST", "/v1/runs", "k", R"({"workflowId":"delay","inputs":{"delayMs":3600000}})")
          .headers.at("openwop-Idempotent-Replay"),
      "true");
}

TEST_F(StrictApi, OW_MR_11_TheMinorityAnswers503WithRetryAfterAndDoesNotRead) {
  const std::string body = R"({"endpoint":"POST /pay","request":{"amount":1}})";
  const Reply begun = Ask("eu", "POST", "/v1/claims", "old", body);
  ASSERT_EQ(begun.status, 201);
  story_.CutAll();
  const Reply refused = Ask("eu", "POST", "/v1/claims", "k", body);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("Retry-After"), "1");
  const Reply read = Ask("eu", "GET", "/v1/claims/" + Text(begun.Json(), "claimId"));
  EXPECT_EQ(read.status, 503);
  EXPECT_EQ(Text(read.Json(), "message"), "This cannot be read now; ask again.");
}

TEST_F(StrictApi, S_21_AReadyAnswerIsNotGivenWhereTheClockIsKnownToDiffer) {
  const std::string ahead = story_.Followers()[0];
  const auto create = [&] {
    return Ask(ahead, "POST", "/v1/runs", "k", R"({"workflowId":"noop"})");
  };
  story_.cluster.Crash(ahead);
  story_.cluster.JumpWall(ahead, 5000);
  story_.cluster.Restart(ahead);
  MakeApi(ahead);
  story_.Run(3000);
  ASSERT_EQ(create().status, 201);
  EXPECT_EQ(create().headers.at("openwop-Idempotent-Replay"), "true")
      << "the leader knows the time";
  story_.cluster.Partition({ahead}, story_.Others(ahead));
  EXPECT_EQ(create().status, 503);
}

TEST_F(StrictApi, OW_MB_01_OW_MR_11_WhereAllIsStrictTheDocumentSaysSoWithBoundZero) {
  const auto family = [this](std::vector<StrictRoute> routes, SpecProfile profile) {
    Config config;
    config.peers = {{"us", "127.0.0.1:1"}};
    config.strict_routes = std::move(routes);
    config.spec_profile = profile;
    apis_["eu"] =
        std::make_unique<Api>(story_.cluster.replica("eu"), config, Credentials(), metrics_,
                              [](Severity, std::string_view, std::string_view) {});
    return Ask("eu", "GET", "/.well-known/openwop").Json().at("idempotency");
  };
  const json::value all = family({{"*", "*"}}, SpecProfile::kV11);
  EXPECT_EQ(Text(all, "crossRegion"), "strict");
  EXPECT_EQ(all.at("multiRegion").at("supported"), true);
  EXPECT_EQ(all.at("multiRegion").at("replicationLagBoundMs"), 0);
  EXPECT_EQ(Text(family({{"vault", "*"}}, SpecProfile::kV11), "crossRegion"), "best-effort");
  // The newer vocabulary has no word for it; the bound is the same, and no rule is applied.
  const json::value newer = family({{"*", "*"}}, SpecProfile::kV17);
  EXPECT_EQ(Text(newer, "crossRegion"), "reconciled-records");
  EXPECT_EQ(newer.at("multiRegion"), all.at("multiRegion"));
  EXPECT_FALSE(newer.at("multiRegion").as_object().contains("partitionRecoveryStrategy"));
}

TEST_F(StrictApi, OW_MR_11_TheDocumentListsStrictRoutesAndNoTenant) {
  Config config;
  config.peers = {{"us", "127.0.0.1:1"}};
  config.strict_routes = {{"vault", "*"}, {"vault", "POST /pay"}, {"*", "POST /pay"}};
  apis_["eu"] = std::make_unique<Api>(story_.cluster.replica("eu"), config, Credentials(), metrics_,
                                      [](Severity, std::string_view, std::string_view) {});
  const Reply document = Ask("eu", "GET", "/.well-known/openwop");
  EXPECT_EQ(document.Json().at("implementation").at("strictRoutes"),
            json::parse(R"([{"endpoint":"*","tenants":"some"},)"
                        R"({"endpoint":"POST /pay","tenants":"all"}])"));
  EXPECT_EQ(document.body.find("vault"), std::string::npos);
}

TEST_F(StrictApi, OW_N_10_EveryAdvertisedMetricOfTheGroupIsOnTheLeadersPage) {
  const std::string leader = story_.Leader();
  const std::string follower = story_.Followers()[0];
  for (const std::string& region : {leader, follower})
    ASSERT_EQ(Ask(region, "POST", "/v1/claims", region,
                  R"({"endpoint":"POST /pay","request":{"amount":1}})")
                  .status,
              201);
  const std::string page = Ask(leader, "GET", "/metrics").body;
  int of_group = 0;
  const json::value document = Ask(leader, "GET", "/.well-known/openwop").Json();
  for (const json::value& name : document.at_pointer("/observability/metrics/names").as_array()) {
    const std::string text(name.as_string());
    if (!text.starts_with("once_strict_") || text == "once_strict_other_rules") continue;
    ++of_group;
    EXPECT_NE(page.find("# TYPE " + text + " "), std::string::npos) << text;
  }
  EXPECT_EQ(of_group, 15);
  EXPECT_NE(page.find("once_strict_role{role=\"leader\"} 1"), std::string::npos);
  EXPECT_NE(page.find("once_strict_commands_total 2"), std::string::npos);
  EXPECT_NE(page.find("once_strict_lag_entries{peer=\"" + follower + "\"}"), std::string::npos);
  EXPECT_NE(Ask(follower, "GET", "/metrics").body.find("once_strict_forwarded_total 1"),
            std::string::npos);
}

TEST_F(StrictApi, OW_N_10_AMemberWithoutARuleStillAdvertisesTheMetricsOfTheGroup) {
  Config config;
  config.insecure_dev = true;
  apis_["eu"] = std::make_unique<Api>(story_.cluster.replica("eu"), config, Credentials(), metrics_,
                                      [](Severity, std::string_view, std::string_view) {});
  for (const char* target : {"/metrics", "/.well-known/openwop"})
    EXPECT_NE(Ask("eu", "GET", target).body.find("once_strict_role"), std::string::npos) << target;
}

TEST_F(StrictApi, TheGroupIsShownAndLeadershipHandedOver) {
  const std::string leader = story_.Leader();
  const std::string next = story_.Followers()[0];
  const json::value shown = Ask(leader, "GET", "/v1/cluster").Json();
  EXPECT_EQ(Text(shown, "role"), "leader");
  ASSERT_EQ(shown.at("members").as_array().size(), 3u);
  for (const json::value& member : shown.at("members").as_array())
    EXPECT_TRUE(member.as_object().contains("lag"));
  const std::string transfer = R"({"transfer":")" + next + R"(/0"})";
  EXPECT_EQ(Ask(next, "POST", "/v1/cluster", "", transfer).status, 409);
  EXPECT_EQ(Ask(leader, "POST", "/v1/cluster", "", R"({"transfer":1})").status, 400);
  EXPECT_EQ(Ask(leader, "POST", "/v1/cluster", "", transfer).status, 202);
  EXPECT_EQ(story_.AwaitLeader(leader), next);
  EXPECT_EQ(Ask(next, "POST", "/v1/cluster", "", R"({"found":["eu/0"]})").status, 409);
}

TEST_F(StrictApi, AGroupIsFoundedOnlyByOneIdentityOfEachConfiguredRegion) {
  for (const char* founders :
       {R"(["eu/0","us"])", R"(["eu/0","xx/1"])", R"(["eu/0","us/"])", R"(["eu/0","/1"])",
        R"(["eu/0","eu/0"])", R"(["eu/0","us/0","us/1"])"}) {
    const Reply refused =
        Ask("eu", "POST", "/v1/cluster", "", R"({"found":)" + std::string(founders) + "}");
    EXPECT_EQ(refused.status, 400) << founders;
    const std::string why = Text(refused.Json(), "message");
    EXPECT_TRUE(why.ends_with("is not region/identity of a region in this node's configuration") ||
                why.ends_with("is named twice"))
        << why;
  }
}

TEST_F(StrictApi, OnlyAnIdentityOfAConfiguredRegionIsAdded) {
  const std::string leader = story_.Leader();
  for (const char* member : {"xx", "xx/1", "eu/", "/1"})
    EXPECT_EQ(Ask(leader, "POST", "/v1/cluster", "", R"({"add":")" + std::string(member) + R"("})")
                  .status,
              409)
        << member;
  const auto added = [&] {
    return Ask(leader, "POST", "/v1/cluster", "", R"({"add":")" + leader + R"(/1"})").status == 202;
  };
  EXPECT_TRUE(story_.cluster.time().RunUntil(added, 5000));
}

TEST_F(StrictApi, AnUnknownOutcomeIsSaidToBeUnknownAndARefusalToBeOne) {
  const std::string away = story_.Followers()[0];
  const std::string body = R"({"endpoint":"POST /pay","request":{"amount":1}})";
  story_.Run(500);  // all have heard who leads
  story_.cluster.Partition({away}, story_.Others(away));
  const Reply sent = Ask(away, "POST", "/v1/claims", "k", body);  // to the leader it still knows of
  EXPECT_EQ(sent.status, 503);
  EXPECT_NE(sent.body.find("outcome is unknown"), std::string::npos) << sent.body;
  story_.Run(3000);
  const Reply refused = Ask(away, "POST", "/v1/claims", "k", body);
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("nothing was done"), std::string::npos) << refused.body;
}

/// A key that was settled, is kept for two minutes, and whose answer a follower holds ready.
class ReadyAnswer : public StrictApi {
 protected:
  void SetUp() override {
    const Reply begun = Claim("eu");
    ASSERT_EQ(begun.status, 201) << begun.body;
    const std::string outcome = "/v1/claims/" + Text(begun.Json(), "claimId") + "/outcome";
    ASSERT_EQ(Ask("eu", "PUT", outcome, "", R"({"status":201})", begun.headers.at("ETag")).status,
              200);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(Claim(holder_).status, 200);
  }
  Reply Claim(const std::string& region) {
    return Ask(region, "POST", "/v1/claims", "k",
               R"({"endpoint":"POST /pay","request":{"amount":1},"retentionSeconds":120})");
  }

  const std::string holder_ = story_.Followers()[0];
};

TEST_F(ReadyAnswer, IsGivenNoLongerThanTheClockBoundBeforeItsEnd) {
  story_.cluster.Partition({holder_}, story_.Others(holder_));
  story_.Run(118'500);
  EXPECT_EQ(Claim(holder_).status, 200);
  story_.Run(600);
  EXPECT_EQ(Claim(holder_).status, 503);
}

// Monotonic time stands still in a suspended machine, and the clock on the wall does not.
TEST_F(ReadyAnswer, S_22_IsNotGivenByAMemberThatWasSuspended) {
  story_.cluster.Partition({holder_}, story_.Others(holder_));
  for (const std::string& region : story_.cluster.regions())
    story_.cluster.JumpWall(region, 300'000);
  for (const std::string& region : story_.Others(holder_)) {
    story_.cluster.Crash(region);
    apis_.erase(region);
    story_.cluster.Restart(region);
    MakeApi(region);
  }
  const std::string leader = story_.AwaitLeader(holder_);
  Reply anew;
  ASSERT_TRUE(
      story_.cluster.time().RunUntil([&] { return (anew = Claim(leader)).status == 201; }, 20'000))
      << anew.body;
  EXPECT_EQ(Claim(holder_).status, 503);
}

}  // namespace
}  // namespace once
