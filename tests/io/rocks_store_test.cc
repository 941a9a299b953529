// What RocksStore promises beyond the contract: recovery, damage, a failing and a full disk.
#include "replica/io/rocks_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/io/faulty_file_system.h"
#include "tests/io/store_worlds.h"

namespace once {
namespace {

namespace fs = std::filesystem;

/// The only file with that ending, or the one that sorts last.
fs::path NewestFile(const fs::path& directory, const std::string& ending) {
  fs::path newest;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
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

std::string Contents(const fs::path& file) {
  std::ifstream bytes(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(bytes), {}};
}

/// Ten synced batches, one key each, whose only copy is the log.
void WriteTen(RocksWorld& world) {
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(PutOne(world.store(), "k" + std::to_string(i), std::string(100, 'v')), KvStatus::kOk);
    ASSERT_EQ(SyncNow(world), KvStatus::kOk);
  }
  world.Abandon();
}

/// Where the records of the log begin and end.
std::pair<std::streamoff, std::streamoff> Records(const fs::path& log) {
  const std::string bytes = Contents(log);
  const std::size_t headers = 8192;
  return {static_cast<std::streamoff>(headers),
          static_cast<std::streamoff>(bytes.find_last_not_of('\0') + 1)};
}

std::size_t CountKeys(KvStore& store) {
  std::size_t keys = 0;
  store.Scan("", "\xff", [&](std::string_view, std::string_view) { return ++keys > 0; });
  return keys;
}

TEST(RocksStore, S_45_ATornLastRecordIsCutBackToTheLastWholeBatch) {
  RocksWorld world;
  WriteTen(world);
  const fs::path log = NewestFile(world.path(), ".segment");
  FlipByte(log, Records(log).second - 5);
  ASSERT_EQ(world.TryOpen(), std::nullopt);
  EXPECT_EQ(CountKeys(world.store()), 9u);
  EXPECT_EQ(world.store().Get("k9"), std::nullopt);
  ASSERT_EQ(PutOne(world.store(), "k9", "again"), KvStatus::kOk);
  ASSERT_EQ(SyncNow(world), KvStatus::kOk);
  world.Crash();
  EXPECT_EQ(world.store().Get("k9"), "again");
  EXPECT_EQ(CountKeys(world.store()), 10u);
}

TEST(RocksStore, S_48_AFlippedByteInTheMiddleOfTheLogIsRefused) {
  RocksWorld world;
  WriteTen(world);
  const fs::path log = NewestFile(world.path(), ".segment");
  const auto begin = Records(log).first;
  // Every part of a record, in several records, but never in the last: there it cannot be told from
  // a torn write.
  const std::streamoff record = 40 + 8 + 2 + 100;
  const std::streamoff distance = (record + 15) / 16 * 16;
  for (std::streamoff at = begin; at < begin + 9 * distance; at += 13) {
    if ((at - begin) % distance >= record) continue;  // between records
    FlipByte(log, at);
    const auto error = world.TryOpen();
    ASSERT_TRUE(error.has_value()) << at;
    EXPECT_NE(error->find("Corruption"), std::string::npos) << *error;
    FlipByte(log, at);
  }
  EXPECT_EQ(world.TryOpen(), std::nullopt);
  EXPECT_EQ(CountKeys(world.store()), 10u);
}

TEST(RocksStore, S_48_AFlippedByteInAHeaderOfTheLogHidesNothing) {
  for (const std::streamoff header : {0, 4096}) {
    RocksWorld world;
    WriteTen(world);
    FlipByte(NewestFile(world.path(), ".segment"), header + 9);
    ASSERT_EQ(world.TryOpen(), std::nullopt);
    EXPECT_EQ(CountKeys(world.store()), 10u);
  }
}

TEST(RocksStore, S_49_AStoreWithoutItsLogIsRefused) {
  RocksWorld world;
  WriteTen(world);
  ASSERT_EQ(world.TryOpen(), std::nullopt);
  world.Close();
  fs::remove_all(world.path() / "log");
  const auto error = world.TryOpen();
  ASSERT_TRUE(error.has_value());
  EXPECT_NE(error->find("log is missing"), std::string::npos) << *error;
}

TEST(RocksStore, S_49_AMissingFileOfTheLogIsRefused) {
  RocksWorld world({.write_buffer_bytes = 64u << 20, .log_segment_bytes = 64u << 10});
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(PutOne(world.store(), "k" + std::to_string(i), std::string(10'000, 'v')),
              KvStatus::kOk);
    ASSERT_EQ(SyncNow(world), KvStatus::kOk);
  }
  world.Abandon();
  ASSERT_TRUE(fs::remove(world.path() / "log" / "000002.segment"));
  const auto error = world.TryOpen();
  ASSERT_TRUE(error.has_value());
  EXPECT_NE(error->find("Corruption"), std::string::npos) << *error;
}

// What a caller stores may look like a record; the salt tells.
TEST(RocksStore, S_48_WhatTheLogHeldBeforeNeverComesBack) {
  RocksWorld world;
  WriteTen(world);
  const std::string old = Contents(NewestFile(world.path(), ".segment"));
  const auto [begin, end] = Records(NewestFile(world.path(), ".segment"));
  ASSERT_EQ(world.TryOpen(), std::nullopt);
  const std::string image =
      old.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  for (std::size_t shift = 0; shift < 16; ++shift)
    ASSERT_EQ(PutOne(world.store(), "image", std::string(shift, 'x') + image), KvStatus::kOk);
  ASSERT_EQ(SyncNow(world), KvStatus::kOk);
  world.Abandon();
  const fs::path log = NewestFile(world.path(), ".segment");
  FlipByte(log, Records(log).second - 5);  // torn: the search for damage reads all of the image
  ASSERT_EQ(world.TryOpen(), std::nullopt);
  EXPECT_EQ(CountKeys(world.store()), 10u);
}

TEST(RocksStore, S_48_AFlippedByteInATableIsNeverServed) {
  RocksWorld world;
  for (int i = 100; i < 200; ++i)
    ASSERT_EQ(PutOne(world.store(), "k" + std::to_string(i), std::string(500, 'v')), KvStatus::kOk);
  world.Restart();  // tables are written when the store closes
  world.Close();
  const fs::path table = NewestFile(world.path(), ".sst");
  ASSERT_FALSE(table.empty());
  FlipByte(table, 20);
  ASSERT_EQ(world.TryOpen(), std::nullopt);
  EXPECT_THROW(world.store().Get("k103"), KvUnreadable);
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
  RocksSyncThreadWorld world;
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

TEST(RocksStore, S_19_NothingSyncedIsLostWhenTablesAndLogsSwitch) {
  RocksWorld world({.inline_sync_max_us = 0,
                    .apply_ops = 100,
                    .write_buffer_bytes = 64u << 10,
                    .log_segment_bytes = 32u << 10});
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
  world.Crash();
  EXPECT_GE(CountKeys(world.store()), 1991u);
  world.Restart();
  EXPECT_GE(CountKeys(world.store()), 1991u);
}

// A group is written in parts, and tables are flushed between them.
TEST(RocksStore, S_19_AGroupThatIsHalfInTheTablesIsAddedAgain) {
  Random random(7);
  RocksWorld world(
      {.apply_ops = 500, .write_buffer_bytes = 64u << 10, .log_segment_bytes = 1u << 20});
  std::map<std::string, std::string> model;
  const auto is_as_it_should = [&] {
    std::map<std::string, std::string> found;
    world.store().Scan("a", "z", [&](std::string_view key, std::string_view value) {
      found.emplace(key, value);
      return true;
    });
    return found == model;
  };
  for (int round = 0; round < 8; ++round) {
    for (std::uint64_t batches = 20 + random.Below(40); batches > 0; --batches) {
      KvBatch batch;
      for (int i = 0; i < 60; ++i) {
        const std::string key = "abcde"[random.Below(5)] + std::to_string(random.Below(3000));
        if (random.Below(3) == 0) {
          batch.Delete(key);
          model.erase(key);
          continue;
        }
        model[key] = std::to_string(i) + std::string(random.Below(200), 'v');
        batch.Put(key, model[key]);
      }
      ASSERT_EQ(world.store().Write(batch), KvStatus::kOk);
      ASSERT_EQ(SyncNow(world), KvStatus::kOk);
    }
    ASSERT_TRUE(is_as_it_should()) << round;
    world.Crash();
    ASSERT_TRUE(is_as_it_should()) << round << ", after the crash";
  }
}

// A crash at any moment finds some of it in the tables and the rest in the log. Every key changes
// twice, mostly within one group that goes into the tables, sometimes half there and half here.
TEST(RocksStore, S_19_NothingSyncedIsLostBetweenTheLogAndTheTables) {
  RocksWorld world(
      {.apply_ops = 20, .write_buffer_bytes = 64u << 10, .log_segment_bytes = 32u << 10});
  const auto value = [](int i) { return std::to_string(i) + std::string(2000, 'v'); };
  int last = -1;
  for (const int more : {7, 50, 133, 21}) {
    for (int i = 0; i < more; ++i) {
      const std::string pair = std::to_string(++last / 2);
      KvBatch batch;
      batch.Put("stays" + pair, value(last));
      if (last % 2 == 0)
        batch.Put("goes" + pair, "");
      else
        batch.Delete("goes" + pair);
      ASSERT_EQ(world.store().Write(std::move(batch)), KvStatus::kOk);
      ASSERT_EQ(SyncNow(world), KvStatus::kOk);
    }
    world.Crash();
    for (int first = 0; first <= last; first += 2) {
      const std::string pair = std::to_string(first / 2);
      EXPECT_EQ(world.store().Get("stays" + pair), value(std::min(first + 1, last)));
      EXPECT_EQ(world.store().Get("goes" + pair).has_value(), first == last);
    }
  }
}

TEST(RocksStore, TheNextFileOfTheLogIsMadeBeforeItIsNeeded) {
  RocksWorld world({.log_segment_bytes = 64u << 10});
  const fs::path next = world.path() / "log" / "000002.segment";
  const auto write = [&](std::size_t bytes) {
    ASSERT_EQ(PutOne(world.store(), "k", std::string(bytes, 'v')), KvStatus::kOk);
    ASSERT_EQ(SyncNow(world), KvStatus::kOk);
  };
  write(20u << 10);
  write(20u << 10);
  EXPECT_FALSE(fs::exists(next));
  write(1);  // finds the first file more than half full
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!fs::exists(next) || fs::file_size(next) < 64u << 10) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  write(30u << 10);  // does not fit into the first
  EXPECT_FALSE(fs::exists(world.path() / "log" / "000003.segment"));
  world.Crash();
  EXPECT_EQ(world.store().Get("k"), std::string(30u << 10, 'v'));
}

TEST(RocksStore, FilesOfTheLogAreUsedAgain) {
  RocksWorld world({.write_buffer_bytes = 64u << 10, .log_segment_bytes = 32u << 10});
  const auto files = [&] {
    const fs::directory_iterator log(world.path() / "log");
    return std::distance(begin(log), end(log));
  };
  const auto write = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      ASSERT_EQ(PutOne(world.store(), "k" + std::to_string(i), std::string(5000, 'v')),
                KvStatus::kOk);
      ASSERT_EQ(SyncNow(world), KvStatus::kOk);
    }
  };
  // Tables are flushed in the background, sooner or later; then fewer files are there than were
  // filled.
  int written = 0;
  do {
    write(written, written + 100);
    written += 100;
  } while (files() * 5 > written && written < 20'000);  // six values fill a file
  EXPECT_LE(files() * 5, written);
  world.Crash();
  EXPECT_EQ(CountKeys(world.store()), static_cast<std::size_t>(written));
  write(written, written + 50);
  world.Crash();
  EXPECT_EQ(CountKeys(world.store()), static_cast<std::size_t>(written) + 50);
}

// Changes of one key fill the log and not the tables; still its files are used again, and deleted
// when there are too many.
TEST(RocksStore, OneKeyThatChangesForEverLeavesASmallLog) {
  RocksWorld world({.write_buffer_bytes = 64u << 10, .log_segment_bytes = 32u << 10});
  const auto files = [&] {
    const fs::directory_iterator log(world.path() / "log");
    return std::distance(begin(log), end(log));
  };
  const auto write = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_EQ(PutOne(world.store(), "k", std::string(5000, static_cast<char>('a' + i % 26))),
                KvStatus::kOk);
      ASSERT_EQ(SyncNow(world), KvStatus::kOk);
    }
  };
  write(1000);  // six fill a file
  // Tables are flushed in the background, sooner or later.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  do {
    write(300);
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << files() << " files";
  } while (files() > 60);
  write(26);
  world.Crash();
  EXPECT_EQ(world.store().Get("k"), std::string(5000, 'z'));
  EXPECT_LE(files(), 60);
}

TEST(RocksStore, ABatchMayBeLargerThanAFileOfTheLog) {
  RocksWorld world({.log_segment_bytes = 16u << 10});
  const std::string large(100'000, 'v');
  for (const char* key : {"a", "b", "c"}) {
    ASSERT_EQ(PutOne(world.store(), key, large), KvStatus::kOk);
    ASSERT_EQ(SyncNow(world), KvStatus::kOk);
    ASSERT_EQ(PutOne(world.store(), "small", key), KvStatus::kOk);
    ASSERT_EQ(SyncNow(world), KvStatus::kOk);
  }
  world.Crash();
  EXPECT_EQ(world.store().Get("b"), large);
  EXPECT_EQ(world.store().Get("small"), "c");
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

TEST_P(FailingRocksStore, S_46_AFailedWriteOfTheLogLatches) {
  FaultyWorld faulty({.inline_sync_max_us = GetParam()});
  ASSERT_EQ(PutOne(faulty.store(), "a", "1"), KvStatus::kOk);
  faulty.faults.log_write_fails = true;
  EXPECT_EQ(SyncNow(*faulty.world), KvStatus::kFailed);
  faulty.faults.log_write_fails = false;
  EXPECT_EQ(PutOne(faulty.store(), "b", "1"), KvStatus::kFailed);
}

INSTANTIATE_TEST_SUITE_P(InlineAndSyncThread, FailingRocksStore, testing::Values(1'000'000'000, 0));

TEST(RocksStore, S_47_WithoutRoomForAnotherFileOfTheLogNothingIsStoredAndLaterWritesSucceed) {
  FaultyWorld faulty;
  ASSERT_EQ(PutOne(faulty.store(), "a", "1"), KvStatus::kOk);
  ASSERT_EQ(SyncNow(*faulty.world), KvStatus::kOk);
  faulty.faults.log_is_full = true;
  const std::string large(17u << 20, 'x');
  EXPECT_EQ(PutOne(faulty.store(), "a", large), KvStatus::kFull);
  EXPECT_EQ(faulty.store().Get("a"), "1");
  EXPECT_EQ(PutOne(faulty.store(), "b", "1"), KvStatus::kOk);  // fits into the file that is there
  EXPECT_EQ(SyncNow(*faulty.world), KvStatus::kOk);
  faulty.faults.log_is_full = false;
  EXPECT_EQ(PutOne(faulty.store(), "a", large), KvStatus::kOk);
  EXPECT_EQ(SyncNow(*faulty.world), KvStatus::kOk);
  EXPECT_EQ(faulty.world->rocks().failure(), "");
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
    ASSERT_EQ(SyncNow(*faulty.world), KvStatus::kOk);
  }
  ASSERT_EQ(status, KvStatus::kFull);
  EXPECT_EQ(faulty.store().Get("k0"), std::string(1000, 'v'));
  EXPECT_EQ(CountKeys(faulty.store()), static_cast<std::size_t>(written));
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
