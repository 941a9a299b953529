// Power cuts. kill -9 cannot show a missing sync, because the kernel keeps what was written; here
// only what was synced survives. A control without syncs must lose data, or the test proves
// nothing.
#include <gmock/gmock.h>

#include <csignal>
#include <random>

#include "tests/system/node_process.h"
#include "tests/system/promises.h"
#include "tests/system/strict_cluster.h"
#include "tests/system/sync_fault.h"
#include "tests/system/volume.h"

namespace once {
namespace {

// Sparse. The node keeps 128 MB of a disk free, so the disk must be larger than that.
constexpr std::size_t kDiskMegabytes = 2048;

// Loads a started node, stops it in the middle, and gives what a power cut at that moment leaves.
std::unique_ptr<Volume> CutPower(const Volume& disk, NodeProcess& node, Load& load,
                                 const Promises& promises, std::size_t enough, std::string& why) {
  EXPECT_TRUE(WaitUntil([&] { return promises.size() >= enough; }));
  node.Signal(SIGSTOP);
  auto after = disk.AfterPowerCut(why);
  node.Kill();
  load.Join();
  return after;
}

struct Disk {
  const char* name;
  const char* settings;
  std::size_t answer_bytes;  // large ones make the store turn its log and compact under the load
  int cuts;
};

void PrintTo(const Disk& disk, std::ostream* out) {
  *out << disk.name;
}

class PowerCutWith : public testing::TestWithParam<Disk> {};

TEST_P(PowerCutWith, S_44_NothingAcknowledgedIsLost) {
  std::string why;
  auto disk = Volume::Ext4(kDiskMegabytes, why);
  if (!disk) GTEST_SKIP() << "no loop-mounted ext4 here: " << why;
  NodeProcess node({.settings = GetParam().settings});
  const std::string key = node.AddKey("acme");
  std::mt19937 random(44);
  Promises all;
  for (int cut = 0; cut < GetParam().cuts; ++cut) {
    node.setup.data_dir = disk->path() + "/data";
    ASSERT_TRUE(node.Start());
    Promises fresh;
    Load load(node.port(), key, "cut" + std::to_string(cut) + "-", fresh, GetParam().answer_bytes);
    auto after = CutPower(*disk, node, load, fresh, 1 + random() % 200, why);
    ASSERT_TRUE(after) << why;
    disk = std::move(after);
    node.setup.data_dir = disk->path() + "/data";
    ASSERT_TRUE(node.Start());
    ASSERT_THAT(fresh.Broken(node.port(), key), testing::IsEmpty()) << "after cut " << cut;
    all.Add(fresh);
    node.Kill();
  }
  ASSERT_TRUE(node.Start());
  EXPECT_GE(all.size(), static_cast<std::size_t>(GetParam().cuts));
  EXPECT_THAT(all.Broken(node.port(), key), testing::IsEmpty());
  node.Kill();
}

INSTANTIATE_TEST_SUITE_P(
    Disks, PowerCutWith,
    testing::Values(Disk{"Inline", "[storage]\ninline_sync_us_max = 1000000000\n", 32, 10},
                    Disk{"SyncThread", "[storage]\ninline_sync_us_max = 0\n", 32, 10},
                    Disk{"LargeAnswers", "", 400'000, 5}),
    [](const auto& disk) { return disk.param.name; });

TEST(PowerCut, S_44_ControlWithoutSyncsLosesWhatWasAcknowledged) {
  std::string why;
  auto disk = Volume::Ext4(kDiskMegabytes, why);
  if (!disk) GTEST_SKIP() << "no loop-mounted ext4 here: " << why;
  NodeProcess node({.data_dir = disk->path() + "/data"});
  const std::string fault_file = node.scratch() / "nothing-is-synced";
  node.setup.environment = SyncFault("skip:" + fault_file);
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  Promises synced;
  Caller caller(node.port(), key);
  synced.Begun("before", ClaimOf(caller.Begin("before", 600)));
  WriteFile(fault_file, "");
  Promises promises;
  Load load(node.port(), key, "control-", promises);
  auto after = CutPower(*disk, node, load, promises, 100, why);
  ASSERT_TRUE(after) << why;
  node.setup.data_dir = after->path() + "/data";
  node.setup.environment.clear();
  ASSERT_TRUE(node.Start());
  EXPECT_THAT(synced.Broken(node.port(), key), testing::IsEmpty());
  EXPECT_THAT(promises.Broken(node.port(), key), testing::Not(testing::IsEmpty()));
  node.Kill();
}

// What us and eu acknowledged while ap was away, us tells ap when eu is away: from its disk alone.
class StrictPowerCut : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    disk_ = Volume::Ext4(kDiskMegabytes, why);
    if (!disk_) GTEST_SKIP() << "no loop-mounted ext4 here: " << why;
    node("us").setup.data_dir = disk_->path() + "/data";
    node("us").setup.environment = SyncFault("skip:" + fault_file());
    ASSERT_TRUE(cluster_.Start());
    ASSERT_EQ(node("ap").Stop(), 0);
    ASSERT_TRUE(cluster_.AwaitAgreement({"us", "eu"}));
  }

  NodeProcess& node(const std::string& region) { return cluster_.nodes().node(region); }
  std::string fault_file() { return node("us").scratch() / "nothing-is-synced"; }

  void CutPowerOfUsAndLoseEu() {
    std::string why;
    Load load(node("eu").port(), cluster_.nodes().AcmeKey("eu"), "cut-", promises_);
    auto after = CutPower(*disk_, node("us"), load, promises_, 100, why);
    ASSERT_TRUE(after) << why;
    disk_ = std::move(after);
    node("eu").Kill();
    node("us").setup.data_dir = disk_->path() + "/data";
    node("us").setup.environment.clear();
    for (const std::string region : {"us", "ap"}) ASSERT_TRUE(cluster_.nodes().Start(region));
    ASSERT_TRUE(cluster_.AwaitAgreement({"us", "ap"}));
  }
  std::vector<std::string> BrokenIn(const std::string& region) {
    return promises_.Broken(node(region).port(), cluster_.nodes().AcmeKey(region));
  }

  std::unique_ptr<Volume> disk_;
  StrictCluster cluster_;
  Promises promises_;
};

TEST_F(StrictPowerCut, S_44_AMemberStillHasWhatItAcknowledged) {
  ASSERT_NO_FATAL_FAILURE(CutPowerOfUsAndLoseEu());
  for (const std::string region : {"us", "ap"}) {
    std::vector<std::string> broken;
    // A request that waits too long is no loss; what is lost stays lost.
    EXPECT_TRUE(WaitUntil([&] { return (broken = BrokenIn(region)).empty(); }))
        << region << ": " << testing::PrintToString(broken);
  }
  node("us").Kill();
}

TEST_F(StrictPowerCut, S_44_ControlOfAMemberWithoutSyncsLosesWhatItAcknowledged) {
  WriteFile(fault_file(), "");
  ASSERT_NO_FATAL_FAILURE(CutPowerOfUsAndLoseEu());
  EXPECT_THAT(BrokenIn("us"), testing::Not(testing::IsEmpty()));
  node("us").Kill();
}

}  // namespace
}  // namespace once
