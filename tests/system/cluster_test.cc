// Three regions as real processes; the network between them is cut by the development switch.
#include <boost/json.hpp>
#include <set>

#include "tests/system/conflict_story.h"

namespace once {
namespace {

namespace json = boost::json;

class Cluster : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cluster_.StartAll()); }

  Parting Switch() {
    return {[this] { cluster_.Cut({"us"}, {"eu", "ap"}); }, [this] { cluster_.Heal(); }};
  }
  void KillAndStartAll() {
    for (const std::string& region : cluster_.regions()) cluster_.node(region).Kill();
    ASSERT_TRUE(cluster_.StartAll());
  }
  // Every page of the region's conflicts: no loser twice, and each lost against a lower run id.
  void ExpectDistinctLosers(const std::string& region, std::size_t count) {
    Caller caller = cluster_.Acme(region);
    std::set<std::string> losers;
    std::string after = "0";
    for (bool more = true; more;) {
      const HttpResult page = caller.Get("/v1/conflicts?limit=1000&after=" + after);
      ASSERT_EQ(page.status, 200) << page.body;
      const json::value listed = json::parse(page.body);
      for (const json::value& one : listed.at("conflicts").as_array()) {
        ASSERT_TRUE(losers.insert(std::string(one.at("loser").as_string())).second);
        ASSERT_LT(one.at("winner").as_string(), one.at("loser").as_string());
        ASSERT_EQ(one.at("survivor"), one.at("winner"));
      }
      after = std::to_string(listed.at("next").to_number<std::uint64_t>());
      more = listed.at("more").as_bool();
    }
    EXPECT_EQ(losers.size(), count);
  }

  ClusterProcess cluster_;
};

TEST_F(Cluster, OW_MB_03_WhatOneRegionAdmittedTheOthersReplay) {
  const HttpResult run = cluster_.Acme("us").CreateRun("order", "approval");
  ASSERT_EQ(run.status, 201) << run.body;
  ASSERT_TRUE(cluster_.IsEverywhere(Member(run, "runId")));
  for (const std::string& region : cluster_.regions()) {
    const HttpResult again = cluster_.Acme(region).CreateRun("order", "approval");
    EXPECT_TRUE(again.replayed()) << region << again.body;
    EXPECT_EQ(again.body, run.body) << region;
  }
  EXPECT_EQ(cluster_.TotalMetric(kConflictsTotal), 0);
}

TEST_F(Cluster, OW_MB_03_AnOutcomeIsReplayedInTheOtherRegions) {
  Caller us = cluster_.Acme("us");
  const BegunClaim claim = ClaimOf(us.Begin("charge-1"));
  ASSERT_EQ(us.Settle(claim, "paid").status, 200);
  ASSERT_TRUE(cluster_.IsQuiet());
  for (const std::string& region : cluster_.regions()) {
    const HttpResult again = cluster_.Acme(region).Begin("charge-1");
    EXPECT_TRUE(again.replayed()) << region << again.body;
    EXPECT_EQ(AnswerOf(again), "paid") << region;
    EXPECT_EQ(ClaimOf(again).run_id, claim.run_id) << region;
  }
}

TEST_F(Cluster, S_01_OW_MR_04_OneSurvivorAfterACutByTheSwitch) {
  const ResolvedConflict conflict = PlayConflict(cluster_, Switch());
  ExpectResolved(cluster_, conflict);
}

TEST_F(Cluster, OW_MB_05_TheResolutionOutlivesRestartsOfAllRegions) {
  const ResolvedConflict conflict = PlayConflict(cluster_, Switch());
  for (int restart = 0; restart < 2; ++restart) {
    KillAndStartAll();
    ASSERT_TRUE(cluster_.IsQuiet());
    ExpectResolved(cluster_, conflict);
  }
}

TEST_F(Cluster, S_33_ALoserThatHadCompletedIsSaidToHave) {
  ASSERT_TRUE(cluster_.IsQuiet());
  cluster_.Cut({"us"}, {"eu", "ap"});
  std::map<std::string, std::string> homes;  // by run id: the lowest, which wins, comes first
  for (const std::string region : {"us", "eu"}) {
    Caller caller = cluster_.Acme(region);
    const std::string run_id = Member(caller.CreateRun("order"), "runId");
    homes[run_id] = region;
    ASSERT_TRUE(WaitUntil(
        [&] { return Member(caller.Get("/v1/runs/" + run_id), "status") == "completed"; }));
  }
  ASSERT_EQ(homes.size(), 2u);
  cluster_.Heal();
  const auto& [loser, home] = *homes.rbegin();
  Caller caller = cluster_.Acme(home);
  ASSERT_TRUE(
      WaitUntil([&] { return Member(caller.Get("/v1/runs/" + loser), "status") == "cancelled"; }));
  EXPECT_EQ(Member(caller.CreateRun("order"), "runId"), homes.begin()->first);
  const json::value listed = json::parse(caller.Get("/v1/conflicts").body);
  ASSERT_EQ(listed.at("conflicts").as_array().size(), 1u) << json::serialize(listed);
  EXPECT_TRUE(listed.at("conflicts").as_array()[0].at("loserHadCompleted").as_bool());
}

TEST_F(Cluster, OW_MR_09_ALosersKeyAnswersWithTheWinnersOutcome) {
  ASSERT_TRUE(cluster_.IsQuiet());
  cluster_.Cut({"us"}, {"eu", "ap"});
  Caller us = cluster_.Acme("us");
  Caller eu = cluster_.Acme("eu");
  const BegunClaim of_us = ClaimOf(us.Begin("charge-1"));
  const BegunClaim of_eu = ClaimOf(eu.Begin("charge-1"));
  ASSERT_EQ(us.Settle(of_us, "by us").status, 200);
  ASSERT_EQ(eu.Settle(of_eu, "by eu").status, 200);
  EXPECT_EQ(AnswerOf(eu.Begin("charge-1")), "by eu") << "OW_MR_01: its own answer while cut off";
  cluster_.Heal();
  const std::string winning = of_us.run_id < of_eu.run_id ? "by us" : "by eu";
  ASSERT_TRUE(cluster_.IsQuiet());
  for (const std::string& region : cluster_.regions()) {
    Caller caller = cluster_.Acme(region);
    EXPECT_EQ(AnswerOf(caller.Begin("charge-1")), winning) << region;
  }
}

TEST_F(Cluster, S_25_ARegionKilledDuringCatchUpCountsEveryConflictOnce) {
  constexpr int kShared = 10'000;
  ASSERT_TRUE(cluster_.IsQuiet());
  cluster_.Cut({"us"}, {"eu", "ap"});
  ASSERT_TRUE(cluster_.SettleMany("us", kShared, 1));
  ASSERT_TRUE(cluster_.SettleMany("eu", kShared, 1));
  cluster_.Heal();
  int interrupted = 0;
  for (double counted = 0; counted < kShared;) {
    const double before = counted;
    ASSERT_TRUE(WaitUntil([&] { return cluster_.Metric("eu", kConflictsTotal) > before; }));
    cluster_.node("eu").Kill();
    ASSERT_TRUE(cluster_.Start("eu"));
    counted = cluster_.Metric("eu", kConflictsTotal);
    interrupted += counted > 0 && counted < kShared;
  }
  EXPECT_GT(interrupted, 0) << "it was never killed while it caught up";
  ASSERT_TRUE(cluster_.IsQuiet());
  EXPECT_EQ(cluster_.TotalMetric(kConflictsTotal), kShared);
  ExpectDistinctLosers("eu", kShared);
}

TEST_F(Cluster, ARunIsCancelledFromAnotherRegionWhenItsHomeCanBeReached) {
  const std::string run_id = Member(cluster_.Acme("us").CreateRun("order", "approval"), "runId");
  ASSERT_TRUE(cluster_.IsEverywhere(run_id));
  const std::string target = "/v1/runs/" + run_id + "/cancel";
  Caller eu = cluster_.Acme("eu");
  cluster_.Cut({"us"}, {"eu", "ap"});
  const HttpResult refused = eu.Post(target, "{}", "cancel-1");
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_FALSE(refused.Header("retry-after").empty());
  EXPECT_EQ(Member(eu.Get("/v1/runs/" + run_id), "status"), "waiting-approval");

  cluster_.Heal();
  HttpResult cancelled;
  EXPECT_TRUE(WaitUntil([&] {
    cancelled = eu.Post(target, "{}", "cancel-1");
    return cancelled.status != 503;
  }));
  EXPECT_EQ(cancelled.status, 200) << cancelled.body;
  EXPECT_EQ(Member(cluster_.Acme("us").Get("/v1/runs/" + run_id), "status"), "cancelled");
  EXPECT_TRUE(
      WaitUntil([&] { return Member(eu.Get("/v1/runs/" + run_id), "status") == "cancelled"; }));
}

TEST_F(Cluster, ARollingRestartLosesNothingAndMakesNoConflict) {
  ASSERT_TRUE(cluster_.IsQuiet());
  std::map<std::string, std::string> bodies;
  for (const std::string& down : cluster_.regions()) {
    EXPECT_EQ(cluster_.node(down).Stop(), 0);
    for (const std::string& up : cluster_.regions()) {
      if (up == down) continue;
      Caller caller = cluster_.Acme(up);
      for (int i = 0; i < 20; ++i) {
        const std::string key = down + "-down-" + up + "-" + std::to_string(i);
        const HttpResult run = caller.CreateRun(key);
        ASSERT_EQ(run.status, 201) << run.body;
        bodies[key] = run.body;
      }
    }
    ASSERT_TRUE(cluster_.Start(down));
  }
  ASSERT_TRUE(cluster_.IsQuiet());
  for (const std::string& region : cluster_.regions()) {
    Caller caller = cluster_.Acme(region);
    for (const auto& [key, body] : bodies) {
      const HttpResult again = caller.CreateRun(key);
      EXPECT_TRUE(again.replayed()) << region << key;
      EXPECT_EQ(again.body, body) << region << key;
    }
  }
  EXPECT_EQ(cluster_.TotalMetric(kConflictsTotal), 0);
}

}  // namespace
}  // namespace once
