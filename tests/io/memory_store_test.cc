#include "simulator/memory_store.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/io/store_worlds.h"

namespace once {
namespace {

struct Machine {
  VirtualScheduler scheduler;
  MemoryDisk disk;
  std::unique_ptr<MemoryStore> process = std::make_unique<MemoryStore>(disk, scheduler);

  void Restart() {
    process.reset();
    process = std::make_unique<MemoryStore>(disk, scheduler);
  }
  std::optional<KvStatus> Sync() {
    std::optional<KvStatus> outcome;
    process->Sync([&](KvStatus status) { outcome = status; });
    scheduler.RunUntil([&] { return outcome.has_value(); }, 1000);
    return outcome;
  }
};

TEST(MemoryStore, S_18_ACrashKeepsAPrefixOfTheUnsyncedBatches) {
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Machine machine;
    Random random(seed);
    PutOne(*machine.process, "a", "0");
    ASSERT_EQ(machine.Sync(), KvStatus::kOk);
    for (const char* value : {"1", "2", "3"}) {
      KvBatch batch;
      batch.Put("a", value);
      batch.Put(std::string("b") + value, value);
      ASSERT_EQ(machine.process->Write(batch), KvStatus::kOk);
    }
    machine.disk.Crash(random);
    machine.Restart();
    outcomes.insert(ScanText(*machine.process, "", "z"));
  }
  EXPECT_EQ(outcomes,
            (std::set<std::string>{"a=0", "a=1 b1=1", "a=2 b1=1 b2=2", "a=3 b1=1 b2=2 b3=3"}));
}

TEST(MemoryStore, ACrashRestoresWhatUnsyncedBatchesOverwroteAndDeleted) {
  Machine machine;
  KvBatch before;
  before.Put("deleted", "1");
  before.Put("overwritten", "1");
  machine.process->Write(before);
  ASSERT_EQ(machine.Sync(), KvStatus::kOk);
  KvBatch after;
  after.Delete("deleted");
  after.Put("overwritten", "2");
  after.Delete("overwritten");
  after.Put("fresh", "2");
  machine.process->Write(after);
  machine.disk.CrashLosingUnsynced();
  machine.Restart();
  EXPECT_EQ(ScanText(*machine.process, "", "z"), "deleted=1 overwritten=1");
}

TEST(MemoryStore, S_18_ASyncUnderWayNeverReportsAfterACrash) {
  Machine machine;
  machine.disk.SetSyncDelay(10);
  PutOne(*machine.process, "a", "1");
  bool reported = false;
  machine.process->Sync([&](KvStatus) { reported = true; });
  machine.scheduler.RunFor(9);
  machine.disk.CrashLosingUnsynced();
  machine.Restart();
  machine.scheduler.RunFor(100);
  EXPECT_FALSE(reported);
  EXPECT_EQ(machine.process->Get("a"), std::nullopt);
}

TEST(MemoryStore, ADelayedSyncCoversOnlyWhatWasWrittenBeforeIt) {
  Machine machine;
  machine.disk.SetSyncDelay(10);
  PutOne(*machine.process, "a", "1");
  std::optional<KvStatus> outcome;
  machine.process->Sync([&](KvStatus status) { outcome = status; });
  PutOne(*machine.process, "b", "1");
  machine.scheduler.RunFor(9);
  EXPECT_EQ(outcome, std::nullopt);
  machine.scheduler.RunFor(1);
  EXPECT_EQ(outcome, KvStatus::kOk);
  EXPECT_EQ(machine.disk.unsynced_batches(), 1u);
  machine.disk.CrashLosingUnsynced();
  machine.Restart();
  EXPECT_EQ(ScanText(*machine.process, "", "z"), "a=1");
}

TEST(MemoryStore, AFailedSyncLatchesForTheLifeOfTheProcess) {
  Machine machine;
  machine.disk.FailNextSync();
  PutOne(*machine.process, "a", "1");
  EXPECT_EQ(machine.Sync(), KvStatus::kFailed);
  EXPECT_EQ(machine.Sync(), KvStatus::kFailed);
  EXPECT_EQ(PutOne(*machine.process, "b", "1"), KvStatus::kFailed);
  EXPECT_EQ(machine.process->Get("b"), std::nullopt);
  EXPECT_EQ(machine.disk.unsynced_batches(), 1u);
  machine.disk.CrashLosingUnsynced();
  machine.Restart();
  EXPECT_EQ(PutOne(*machine.process, "b", "1"), KvStatus::kOk);
  EXPECT_EQ(machine.Sync(), KvStatus::kOk);
}

TEST(MemoryStore, S_47_AFullDiskStoresNothingAndRecoversWithoutARestart) {
  Machine machine;
  PutOne(*machine.process, "a", "1");
  machine.disk.SetFull(true);
  EXPECT_EQ(PutOne(*machine.process, "a", "2"), KvStatus::kFull);
  EXPECT_EQ(machine.process->Get("a"), "1");
  EXPECT_EQ(machine.Sync(), KvStatus::kOk);
  machine.disk.SetFull(false);
  EXPECT_EQ(PutOne(*machine.process, "a", "2"), KvStatus::kOk);
}

TEST(MemoryStore, S_48_AnUnreadableKeyIsNeverServed) {
  Machine machine;
  PutOne(*machine.process, "a", "1");
  PutOne(*machine.process, "b", "1");
  machine.disk.SetUnreadable("b");
  EXPECT_EQ(machine.process->Get("a"), "1");
  EXPECT_EQ(ScanText(*machine.process, "a", "b"), "a=1");
  EXPECT_THROW(machine.process->Get("b"), KvUnreadable);
  EXPECT_THROW(ScanText(*machine.process, "a", "c"), KvUnreadable);
  machine.disk.SetReadable("b");
  EXPECT_EQ(machine.process->Get("b"), "1");
}

}  // namespace
}  // namespace once
