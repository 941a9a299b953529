// What RocksStore promises beyond the contract: recovery, damage, a failing and a full disk.
#include "replica/io/rocks_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/io/faulty_file_system.h"
#include "tests/io/store_worlds.h"

namespace once {
namespace {

namespace fs = std::filesystem;

/// The newest file with that ending: RocksDB numbers them.
fs::path NewestFile(const fs::path& directory, const std::string& ending) {
  fs::path newest;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ending && entry.path() > newest) newest = entry.path();
  }
  return newest;
}

void FlipByte(const fs::path& file, std::streamoff at) {
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekg(at);
  const int byte = bytes.get();
  bytes.seekp(at);
  bytes.put(static_cast<char>(byte ^ 0x40));
}

/// Ten synced batches, one key each, whose only copy is the log.
void WriteTen(RocksWorld& world) {
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(PutOne(world.store(), "k" + std::to_string(i), std::string(100, 'v')), KvStatus::kOk);
    ASSERT_EQ(SyncNow(world), KvStatus::kOk);
  }
  world.Close();
}

std::size_t CountKeys(KvStore& store) {
  std::size_t keys = 0;
  store.Scan("", "\xff", [&](std::string_view, std::string_view) { return ++keys > 0; });
  return keys;
}

TEST(RocksStore, S_45_ATornLastRecordIsCutBackToTheLastWholeBatch) {
  RocksWorld world;
  WriteTen(world);
  const fs::path log = NewestFile(world.path(), ".log");
  fs::resize_file(log, fs::file_size(log) - 5);
  ASSERT_EQ(world.TryOpen(), std::nullopt);
  EXPECT_EQ(CountKeys(world.store()), 9u);
  EXPECT_EQ(world.store().Get("k9"), std::nullopt);
  ASSERT_EQ(PutOne(world.store(), "k9", "again"), KvStatus::kOk);
  ASSERT_EQ(SyncNow(world), KvStatus::kOk);
  world.Restart();
  EXPECT_EQ(world.store().Get("k9"), "again");
}

TEST(RocksStore, S_48_AFlippedByteInTheMiddleOfTheLogIsRefused) {
  RocksWorld world;
  WriteTen(world);
  const fs::path log = NewestFile(world.path(), ".log");
  FlipByte(log, static_cast<std::streamoff>(fs::file_size(log) / 2));
  const auto error = world.TryOpen();
  ASSERT_TRUE(error.has_value());
  EXPECT_NE(error->find("Corruption"), std::string::npos) << *error;
}

TEST(RocksStore, S_48_AFlippedByteInATableIsNeverServed) {
  RocksWorld world;
  WriteTen(world);
  world.Restart();  // recovery writes the log's contents into a table
  world.Close();
  const fs::path table = NewestFile(world.path(), ".sst");
  ASSERT_FALSE(table.empty());
  FlipByte(table, 20);
  ASSERT_EQ(world.TryOpen(), std::nullopt);
  EXPECT_THROW(world.store().Get("k3"), KvUnreadable);
  EXPECT_THROW(CountKeys(world.store()), KvUnreadable);
}

TEST(RocksStore, S_49_AStoreThatMustBeThereIsNotMadeAnew) {
  ScratchDirectory scratch;
  EventLoop loop;
  const auto opened = RocksStore::Open(scratch / "db", {.create = false}, loop.scheduler());
  ASSERT_TRUE(std::holds_alternative<std::string>(opened));
  EXPECT_FALSE(fs::exists(scratch.path() / "db" / "CURRENT"));
}

TEST(RocksStore, TwoProcessesCannotOpenOneStore) {
  RocksWorld world;
  const auto second = RocksStore::Open(world.path(), {}, world.loop().scheduler());
  EXPECT_TRUE(std::holds_alternative<std::string>(second));
}

TEST(RocksStore, CloseKeepsWhatNoSyncHasReported) {
  RocksWorld world;
  ASSERT_EQ(PutOne(world.store(), "a", "1"), KvStatus::kOk);
  EXPECT_EQ(world.rocks().Close(), KvStatus::kOk);
  world.Restart();
  EXPECT_EQ(world.store().Get("a"), "1");
}

TEST(RocksStore, CloseWaitsForTheSyncUnderWayWhichStillReports) {
  RocksCommitThreadWorld world;
  std::optional<KvStatus> outcome;
  ASSERT_EQ(PutOne(world.store(), "a", "1"), KvStatus::kOk);
  world.Sync([&](KvStatus status) { outcome = status; });
  world.Close();
  world.RunUntil([&] { return outcome.has_value(); });
  EXPECT_EQ(outcome, KvStatus::kOk);
}

TEST(RocksStore, EverySyncIsObserved) {
  int observed = 0;
  RocksWorld world({.on_sync = [&](std::int64_t sync_us) { observed += sync_us >= 0; }});
  ASSERT_EQ(SyncNow(world), KvStatus::kOk);
  ASSERT_EQ(SyncNow(world), KvStatus::kOk);
  EXPECT_EQ(observed, 2);
}

TEST(RocksStore, S_19_NothingSyncedIsLostWhenMemtablesAndLogsSwitch) {
  RocksWorld world({.inline_sync_max_us = 0, .write_buffer_bytes = 64u << 10});
  std::optional<KvStatus> outcome = KvStatus::kOk;
  int reported = -1;
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(PutOne(world.store(), "k" + std::to_string(i), std::string(500, 'v')), KvStatus::kOk);
    if (i % 10 != 0) continue;
    world.RunUntil([&] { return outcome.has_value(); });
    ASSERT_EQ(outcome, KvStatus::kOk);
    outcome.reset();
    world.Sync([&, i](KvStatus status) {
      outcome = status;
      reported = i;
    });
  }
  world.RunUntil([&] { return outcome.has_value(); });
  ASSERT_EQ(reported, 1990);
  world.Restart();
  EXPECT_EQ(CountKeys(world.store()), 2000u);
}

/// A store on a disk with faults; the disk outlives it.
struct FaultyWorld {
  explicit FaultyWorld(RocksStore::Options options = {}) {
    options.env = env.get();
    world.emplace(std::move(options));
  }
  KvStore& store() { return world->store(); }

  DiskFaults faults;
  std::unique_ptr<rocksdb::Env> env =
      rocksdb::NewCompositeEnv(std::make_shared<FaultyFileSystem>(faults));
  std::optional<RocksWorld> world;
};

class FailingRocksStore : public testing::TestWithParam<std::int64_t> {};

TEST_P(FailingRocksStore, AFailedSyncLatchesEvenWhenTheDiskRecovers) {
  FaultyWorld faulty({.inline_sync_max_us = GetParam()});
  ASSERT_EQ(PutOne(faulty.store(), "a", "1"), KvStatus::kOk);
  ASSERT_EQ(SyncNow(*faulty.world), KvStatus::kOk);
  EXPECT_EQ(faulty.world->rocks().failure(), "");
  faulty.faults.log_sync_fails = true;
  ASSERT_EQ(PutOne(faulty.store(), "a", "2"), KvStatus::kOk);
  EXPECT_EQ(SyncNow(*faulty.world), KvStatus::kFailed);
  faulty.faults.log_sync_fails = false;
  EXPECT_EQ(SyncNow(*faulty.world), KvStatus::kFailed);
  EXPECT_EQ(PutOne(faulty.store(), "b", "1"), KvStatus::kFailed);
  EXPECT_EQ(faulty.store().Get("b"), std::nullopt);
  EXPECT_NE(faulty.world->rocks().failure().find("injected"), std::string::npos);
  EXPECT_EQ(faulty.world->rocks().Close(), KvStatus::kFailed);
}

TEST_P(FailingRocksStore, S_47_ALogThatMeetsTheEndOfTheDiskLatches) {
  FaultyWorld faulty({.inline_sync_max_us = GetParam()});
  ASSERT_EQ(PutOne(faulty.store(), "a", "1"), KvStatus::kOk);
  faulty.faults.log_is_full = true;
  EXPECT_EQ(SyncNow(*faulty.world), KvStatus::kFailed);
  faulty.faults.log_is_full = false;
  EXPECT_EQ(PutOne(faulty.store(), "b", "1"), KvStatus::kFailed);
}

INSTANTIATE_TEST_SUITE_P(InlineAndCommitThread, FailingRocksStore,
                         testing::Values(1'000'000'000, 0));

TEST(RocksStore, S_47_AWriteThatOverflowsTheLogBufferOntoAFullDiskLatches) {
  FaultyWorld faulty;
  faulty.faults.log_is_full = true;
  EXPECT_EQ(PutOne(faulty.store(), "a", std::string(4u << 20, 'x')), KvStatus::kFailed);
  EXPECT_NE(faulty.world->rocks().failure(), "");
  EXPECT_EQ(SyncNow(*faulty.world), KvStatus::kFailed);
}

TEST(RocksStore, S_47_BelowTheReserveWritesAreRefusedAndReadsGoOn) {
  FaultyWorld faulty({.space_reserve_bytes = 1000});
  ASSERT_EQ(PutOne(faulty.store(), "a", "1"), KvStatus::kOk);
  faulty.faults.free_bytes = 999;
  EXPECT_EQ(PutOne(faulty.store(), "a", "2"), KvStatus::kFull);
  EXPECT_EQ(faulty.store().Get("a"), "1");
  EXPECT_EQ(SyncNow(*faulty.world), KvStatus::kOk);
  faulty.faults.free_bytes = 1000;
  EXPECT_EQ(PutOne(faulty.store(), "a", "2"), KvStatus::kOk);
  EXPECT_EQ(faulty.store().Get("a"), "2");
}

TEST(RocksStore, S_47_AFullDiskUnderABackgroundFlushRecoversWithoutARestart) {
  FaultyWorld faulty({.write_buffer_bytes = 64u << 10});
  faulty.faults.tables_are_full = true;
  faulty.faults.free_bytes = 1u << 30;
  // A flush fails in the background, sooner or later; until then writes are taken.
  int written = 0;
  KvStatus status = KvStatus::kOk;
  while (status == KvStatus::kOk && written < 10'000) {
    status = PutOne(faulty.store(), "k" + std::to_string(written), std::string(1000, 'v'));
    if (status == KvStatus::kOk) ++written;
  }
  ASSERT_EQ(status, KvStatus::kFull);
  EXPECT_EQ(faulty.store().Get("k0"), std::string(1000, 'v'));
  faulty.faults.tables_are_full = false;
  // RocksDB looks for space every few seconds; nothing but its recovery ends this loop.
  while (status == KvStatus::kFull) status = PutOne(faulty.store(), "after", "1");
  ASSERT_EQ(status, KvStatus::kOk);
  ASSERT_EQ(SyncNow(*faulty.world), KvStatus::kOk);
  faulty.world->Restart();
  EXPECT_EQ(CountKeys(faulty.store()), static_cast<std::size_t>(written) + 1);
}

}  // namespace
}  // namespace once
