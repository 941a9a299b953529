#include "tests/system/conflict_story.h"

#include <boost/json.hpp>

namespace once {
namespace {

namespace json = boost::json;

// Well above what a silent moment of an intact cluster on a busy machine shows.
constexpr double kRisenSeconds = 1.5;
constexpr double kFallenSeconds = 0.5;

std::string StatusIn(ClusterProcess& cluster, const std::string& region,
                     const std::string& run_id) {
  return Member(cluster.Acme(region).Get("/v1/runs/" + run_id), "status");
}

json::array ConflictsIn(ClusterProcess& cluster, const std::string& region) {
  const HttpResult listed = cluster.Acme(region).Get("/v1/conflicts");
  EXPECT_EQ(listed.status, 200) << listed.body;
  if (listed.status != 200) return {};
  return json::parse(listed.body).at("conflicts").as_array();
}

// Once in every region, whoever lost there.
void ExpectListedOnce(ClusterProcess& cluster, const ResolvedConflict& conflict) {
  for (const std::string& region : cluster.regions()) {
    SCOPED_TRACE(region);
    const json::array all = ConflictsIn(cluster, region);
    ASSERT_EQ(all.size(), 1u) << json::serialize(all);
    EXPECT_EQ(all[0].at("kind").as_string(), "lost");
    EXPECT_EQ(all[0].at("region").as_string(), conflict.loser_home);
    EXPECT_EQ(all[0].at("winner").as_string(), Member(conflict.winner, "runId"));
    EXPECT_EQ(all[0].at("survivor").as_string(), Member(conflict.winner, "runId"));
    EXPECT_EQ(all[0].at("loser").as_string(), Member(conflict.loser, "runId"));
    EXPECT_EQ(all[0].at("regionPair").as_string(), "eu|us");
    EXPECT_FALSE(all[0].at("payloadDivergent").as_bool());
  }
}

}  // namespace

ResolvedConflict PlayConflict(ClusterProcess& cluster, const Parting& parting) {
  ResolvedConflict conflict;
  conflict.key = "shared";
  EXPECT_TRUE(cluster.IsQuiet()) << "the regions hear each other";
  parting.cut();
  const HttpResult us = cluster.Acme("us").CreateRun(conflict.key, "approval");
  const HttpResult eu = cluster.Acme("eu").CreateRun(conflict.key, "approval");
  for (const HttpResult* admitted : {&us, &eu}) {
    EXPECT_EQ(admitted->status, 201) << admitted->body;
    EXPECT_FALSE(admitted->replayed()) << "both sides of a cut admit";
  }
  const bool us_wins = Member(us, "runId") < Member(eu, "runId");
  conflict.winner = us_wins ? us : eu;
  conflict.loser = us_wins ? eu : us;
  conflict.loser_home = us_wins ? "eu" : "us";

  EXPECT_TRUE(WaitUntil([&] { return cluster.PartitionSeconds("us", "eu") > kRisenSeconds; }));
  EXPECT_TRUE(WaitUntil([&] { return cluster.PartitionSeconds("eu", "us") > kRisenSeconds; }));
  EXPECT_TRUE(WaitUntil([&] {
    return StatusIn(cluster, "ap", Member(eu, "runId")) == "waiting-approval";
  })) << "ap is on eu's side";
  EXPECT_EQ(cluster.Acme("ap").Get("/v1/runs/" + Member(us, "runId")).status, 404);
  EXPECT_EQ(cluster.TotalMetric(kConflictsTotal), 0);

  parting.heal();
  const std::string loser = Member(conflict.loser, "runId");
  for (const std::string& region : cluster.regions())
    EXPECT_TRUE(WaitUntil([&] { return StatusIn(cluster, region, loser) == "cancelled"; }))
        << region;
  EXPECT_TRUE(WaitUntil([&] { return cluster.PartitionSeconds("us", "eu") < kFallenSeconds; }));
  EXPECT_TRUE(WaitUntil([&] { return cluster.PartitionSeconds("eu", "us") < kFallenSeconds; }));
  EXPECT_TRUE(cluster.IsQuiet());
  return conflict;
}

void ExpectResolved(ClusterProcess& cluster, const ResolvedConflict& conflict) {
  const std::string loser = Member(conflict.loser, "runId");
  for (const std::string& region : cluster.regions()) {
    SCOPED_TRACE(region);
    const HttpResult again = cluster.Acme(region).CreateRun(conflict.key, "approval");
    EXPECT_EQ(again.status, 201) << again.body;
    EXPECT_TRUE(again.replayed());
    EXPECT_EQ(Member(again, "runId"), Member(conflict.winner, "runId"));
    EXPECT_EQ(StatusIn(cluster, region, Member(conflict.winner, "runId")), "waiting-approval");
    EXPECT_EQ(StatusIn(cluster, region, loser), "cancelled");
  }
  for (const std::string& region : cluster.regions()) {
    SCOPED_TRACE(region);
    const std::string events = cluster.Acme(region).Get("/v1/runs/" + loser + "/events").body;
    const auto cancelled = events.find("run.cancelled");
    EXPECT_NE(cancelled, std::string::npos) << events;
    EXPECT_EQ(events.find("run.cancelled", cancelled + 1), std::string::npos)
        << "twice: " << events;
    EXPECT_NE(events.find("cross_region_dedup_loss"), std::string::npos) << events;
  }
  EXPECT_EQ(cluster.TotalMetric(kConflictsTotal), 1);
  ExpectListedOnce(cluster, conflict);
}

}  // namespace once
