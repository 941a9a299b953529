// Disks that fail and disks that are full.
#include <filesystem>

#include "tests/system/node_process.h"
#include "tests/system/promises.h"
#include "tests/system/strict_cluster.h"
#include "tests/system/sync_fault.h"
#include "tests/system/volume.h"

namespace once {
namespace {

// A node with one settled claim and one pending one, whose syncs fail from Fail() on.
class FailingDisk : public testing::Test {
 protected:
  void SetUp() override {
    key_ = node_.AddKey("acme");
    admin_ = node_.AddKey("operator", "admin", {"admin"});
    node_.setup.environment = SyncFault("error:" + fault_file());
    ASSERT_TRUE(node_.Start());
    Caller caller(node_.port(), key_);
    pending_ = ClaimOf(caller.Begin("pending", 600));
    const BegunClaim settled = ClaimOf(caller.Begin("settled"));
    ASSERT_EQ(caller.Settle(settled, "paid").status, 200);
    ASSERT_EQ(AnswerOf(caller.Begin("settled")), "paid");
  }

  std::string fault_file() const { return node_.scratch() / "the-disk-fails"; }
  void Fail() {
    WriteFile(fault_file(), "");
    Caller caller(node_.port(), key_);
    EXPECT_EQ(caller.Begin("at the moment of the fault").status, 503);
  }

  NodeProcess node_;
  std::string key_;
  std::string admin_;
  BegunClaim pending_;
};

TEST_F(FailingDisk, S_46_NodeStopsWritingAndSaysSo) {
  Fail();
  Caller caller(node_.port(), key_);
  for (const HttpResult& refused :
       {caller.Begin("new"), caller.CreateRun("run"), caller.Settle(pending_, "never stored")}) {
    EXPECT_EQ(refused.status, 503) << refused.body;
    EXPECT_EQ(Member(refused, "error"), "unavailable");
    EXPECT_FALSE(refused.Header("retry-after").empty());
  }
  const HttpResult ready = caller.Get("/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(Member(ready, "error"), "not_ready");
  EXPECT_EQ(caller.Get("/healthz").status, 200);
  EXPECT_EQ(Caller(node_.port(), admin_).Metric("once_store_failed"), 1);
}

TEST_F(FailingDisk, S_46_ItNeverWritesAgainEvenWhenSyncsWork) {
  Fail();
  std::filesystem::remove(fault_file());
  Caller caller(node_.port(), key_);
  EXPECT_EQ(caller.Begin("after").status, 503) << "a failed sync may have dropped what it covered";
  EXPECT_EQ(caller.Get("/readyz").status, 503);
  EXPECT_EQ(node_.Stop(), 1) << "its end says that it did not keep everything";
  ASSERT_TRUE(node_.Start());
  Caller again(node_.port(), key_);
  EXPECT_EQ(AnswerOf(again.Begin("settled")), "paid");
  EXPECT_EQ(again.Settle(pending_, "after the restart").status, 200);
  EXPECT_EQ(again.Get("/readyz").status, 200);
}

TEST_F(FailingDisk, S_46_SettledAnswersStillReplay) {
  Fail();
  Caller caller(node_.port(), key_);
  const HttpResult replay = caller.Begin("settled");
  EXPECT_EQ(replay.status, 200) << replay.body;
  EXPECT_EQ(AnswerOf(replay), "paid");
}

TEST(DiskFault, S_46_NodeThatCannotSyncDoesNotStart) {
  NodeProcess node;
  const std::string fault_file = node.scratch() / "the-disk-fails";
  const std::string key = node.AddKey("acme");
  node.setup.environment = SyncFault("error:" + fault_file);
  ASSERT_TRUE(node.Start());
  EXPECT_EQ(Caller(node.port(), key).Begin("order", 600).status, 201);
  ASSERT_EQ(node.Stop(), 0);
  WriteFile(fault_file, "");
  EXPECT_EQ(node.StartAndExit(), 1);
  EXPECT_TRUE(node.Logged("start-failed")) << node.Log();
  std::filesystem::remove(fault_file);
  ASSERT_TRUE(node.Start());
  EXPECT_EQ(Member(Caller(node.port(), key).Begin("order"), "error"), "idempotency_in_flight");
}

TEST(Disk, EverySyncIsOnTheMetricsPage) {
  for (const char* settings :
       {"[storage]\ninline_sync_us_max = 1000000000\n", "[storage]\ninline_sync_us_max = 0\n"}) {
    NodeProcess node({.node_settings = "metrics_public = true", .settings = settings});
    const std::string key = node.AddKey("acme");
    ASSERT_TRUE(node.Start());
    Caller caller(node.port(), key);
    const double before = caller.Metric("once_sync_seconds_count");
    ASSERT_EQ(caller.Begin("order").status, 201);
    EXPECT_GT(caller.Metric("once_sync_seconds_count"), before) << settings;
    EXPECT_GT(caller.Metric("once_sync_seconds_sum"), 0) << settings;
  }
}

constexpr std::size_t kDiskMegabytes = 256;

// The node keeps 128 MB free; leaves less.
void Fill(const Volume& disk) {
  const std::size_t free_bytes = std::filesystem::space(disk.path()).available;
  WriteFile(disk.path() + "/filler", std::string(free_bytes - (100 << 20), 'x'));
}

TEST(FullDisk, S_47_NewClaimsAreRefusedReadsGoOnAndSpaceHeals) {
  std::string why;
  const auto disk = Volume::Memory(kDiskMegabytes, why);
  if (!disk) GTEST_SKIP() << "no tmpfs may be mounted here: " << why;
  NodeProcess node({.data_dir = disk->path() + "/data"});
  const std::string key = node.AddKey("acme");
  const std::string admin = node.AddKey("operator", "admin", {"admin"});
  ASSERT_TRUE(node.Start());
  Caller caller(node.port(), key);
  const BegunClaim settled = ClaimOf(caller.Begin("settled"));
  ASSERT_EQ(caller.Settle(settled, "paid").status, 200);
  const BegunClaim pending = ClaimOf(caller.Begin("pending", 600));
  const HttpResult run = caller.CreateRun("run");

  Fill(*disk);
  const HttpResult refused = caller.Begin("new");
  EXPECT_EQ(refused.status, 507) << refused.body;
  EXPECT_EQ(Member(refused, "error"), "insufficient_storage");
  EXPECT_FALSE(refused.Header("retry-after").empty());
  EXPECT_EQ(caller.CreateRun("new run").status, 507);
  EXPECT_EQ(caller.Settle(pending, "no room").status, 507);
  EXPECT_EQ(caller.Get("/readyz").status, 503);
  EXPECT_EQ(Caller(node.port(), admin).Metric("once_store_full"), 1);
  EXPECT_EQ(AnswerOf(caller.Begin("settled")), "paid");
  EXPECT_EQ(caller.CreateRun("run").body, run.body);
  EXPECT_EQ(caller.Get("/v1/claims/" + settled.id).status, 200);
  EXPECT_EQ(caller.Get("/v1/runs/" + Member(run, "runId")).status, 200);

  std::filesystem::remove(disk->path() + "/filler");
  EXPECT_EQ(caller.Begin("new").status, 201) << "nothing of the refused claim may have stayed";
  EXPECT_EQ(caller.Settle(pending, "room again").status, 200);
  EXPECT_TRUE(WaitUntil([&] { return caller.Get("/readyz").status == 200; }));
  node.Kill();
  ASSERT_TRUE(node.Start());
  Caller again(node.port(), key);
  EXPECT_EQ(AnswerOf(again.Begin("pending")), "room again");
  EXPECT_EQ(Member(again.Begin("new"), "error"), "idempotency_in_flight");
  node.Kill();
}

TEST(FullDisk, S_47_NodeBecomesReadyAgainWithoutTraffic) {
  std::string why;
  const auto disk = Volume::Memory(kDiskMegabytes, why);
  if (!disk) GTEST_SKIP() << "no tmpfs may be mounted here: " << why;
  NodeProcess node({.data_dir = disk->path() + "/data"});
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  Caller caller(node.port(), key);
  Fill(*disk);
  EXPECT_EQ(caller.Begin("new").status, 507);
  EXPECT_EQ(caller.Get("/readyz").status, 503);
  std::filesystem::remove(disk->path() + "/filler");
  // A load balancer sends nothing to a node that is not ready; only that node can change that.
  EXPECT_TRUE(
      WaitUntil([&] { return caller.Get("/readyz").status == 200; }, std::chrono::seconds(10)));
  node.Kill();
}

TEST(FullDisk, S_47_RestartOnAFullDiskKeepsEverything) {
  std::string why;
  const auto disk = Volume::Memory(kDiskMegabytes, why);
  if (!disk) GTEST_SKIP() << "no tmpfs may be mounted here: " << why;
  NodeProcess node({.data_dir = disk->path() + "/data"});
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  {
    Caller caller(node.port(), key);
    ASSERT_EQ(caller.Settle(ClaimOf(caller.Begin("settled")), "paid").status, 200);
  }
  ASSERT_EQ(node.Stop(), 0);
  Fill(*disk);
  // Whether it serves replays or refuses to start, it says why and loses nothing.
  if (node.Start()) {
    EXPECT_EQ(AnswerOf(Caller(node.port(), key).Begin("settled")), "paid");
    node.Kill();
  } else {
    EXPECT_TRUE(node.Logged("the disk is full")) << node.Log();
  }
  std::filesystem::remove(disk->path() + "/filler");
  ASSERT_TRUE(node.Start());
  EXPECT_EQ(AnswerOf(Caller(node.port(), key).Begin("settled")), "paid");
  node.Kill();
}

TEST(FullDisk, S_47_AStrictMemberHoldsUpItsRegionAndNoOtherAndComesBackByItself) {
  std::string why;
  const auto disk = Volume::Memory(kDiskMegabytes, why);
  if (!disk) GTEST_SKIP() << "no tmpfs may be mounted here: " << why;
  StrictCluster cluster;
  cluster.nodes().node("us").setup.data_dir = disk->path() + "/data";
  ASSERT_TRUE(cluster.Start());
  const auto lead = R"({"transfer":")" + cluster.View("us").member + "\"}";
  ASSERT_TRUE(WaitUntil([&] {
    const std::string leader = cluster.LeaderAmong(cluster.regions());
    if (!leader.empty() && leader != "us") cluster.Change(leader, lead);
    return leader == "us";
  }));
  const auto begin = [&](const std::string& region, const std::string& key) {
    return cluster.nodes().Acme(region).Begin(key, 600).status;
  };
  const auto given = [&](const std::string& region, const std::string& key) {
    return WaitUntil([&] { return begin(region, key) == 201; });
  };
  EXPECT_TRUE(given("us", "before"));

  Fill(*disk);
  EXPECT_TRUE(given("eu", "meanwhile"));
  EXPECT_EQ(begin("us", "held up"), 503);
  EXPECT_TRUE(WaitUntil([&] { return cluster.View("us").role != "leader"; }));
  EXPECT_EQ(cluster.nodes().Metric("us", "once_store_full"), 1);

  std::filesystem::remove(disk->path() + "/filler");
  EXPECT_TRUE(given("us", "room again"));
  EXPECT_TRUE(cluster.AwaitAgreement(cluster.regions()));
  for (const std::string& region : cluster.regions())
    for (const char* key : {"before", "meanwhile"}) EXPECT_EQ(begin(region, key), 409);
  cluster.nodes().node("us").Kill();
}

}  // namespace
}  // namespace once
