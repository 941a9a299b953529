// Power cuts. kill -9 cannot show a missing sync, because the kernel keeps what was written; here
// only what was synced survives. A control without syncs must lose data, or the test proves
// nothing.
#include <gmock/gmock.h>

#include <csignal>
#include <random>

#include "tests/system/node_process.h"
#include "tests/system/promises.h"
#include "tests/system/sync_fault.h"
#include "tests/system/volume.h"

namespace once {
namespace {

// The node keeps 128 MB of a disk free, so the disk must be larger than that.
constexpr std::size_t kDiskMegabytes = 320;

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

class PowerCutWith : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(PowerCutWith, S_44_NothingAcknowledgedIsLost) {
  constexpr int kCuts = 10;
  std::string why;
  auto disk = Volume::Ext4(kDiskMegabytes, why);
  if (!disk) GTEST_SKIP() << "no loop-mounted ext4 here: " << why;
  NodeProcess node({.settings = GetParam().second});
  const std::string key = node.AddKey("acme");
  std::mt19937 random(44);
  Promises promises;
  for (int cut = 0; cut < kCuts; ++cut) {
    node.setup.data_dir = disk->path() + "/data";
    ASSERT_TRUE(node.Start());
    ASSERT_THAT(promises.Broken(node.port(), key), testing::IsEmpty()) << "after cut " << cut;
    const std::size_t enough = promises.size() + 1 + random() % 200;
    Load load(node.port(), key, "cut" + std::to_string(cut) + "-", 4, promises);
    auto after = CutPower(*disk, node, load, promises, enough, why);
    ASSERT_TRUE(after) << why;
    disk = std::move(after);
  }
  node.setup.data_dir = disk->path() + "/data";
  ASSERT_TRUE(node.Start());
  EXPECT_GE(promises.size(), std::size_t{kCuts});
  EXPECT_THAT(promises.Broken(node.port(), key), testing::IsEmpty());
  node.Kill();
}

INSTANTIATE_TEST_SUITE_P(
    Syncs, PowerCutWith,
    testing::Values(std::pair("Inline", "[storage]\ninline_sync_us_max = 1000000000\n"),
                    std::pair("CommitThread", "[storage]\ninline_sync_us_max = 0\n")),
    [](const auto& where) { return where.param.first; });

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
  Load load(node.port(), key, "control-", 4, promises);
  auto after = CutPower(*disk, node, load, promises, 100, why);
  ASSERT_TRUE(after) << why;
  node.setup.data_dir = after->path() + "/data";
  node.setup.environment.clear();
  ASSERT_TRUE(node.Start());
  EXPECT_THAT(synced.Broken(node.port(), key), testing::IsEmpty());
  EXPECT_THAT(promises.Broken(node.port(), key), testing::Not(testing::IsEmpty()));
  node.Kill();
}

}  // namespace
}  // namespace once
