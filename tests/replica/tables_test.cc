#include "replica/storage/tables.h"

#include <gtest/gtest.h>

#include "simulator/memory_store.h"
#include "simulator/virtual_scheduler.h"

namespace once {
namespace {

class TablesTest : public testing::Test {
 protected:
  void Fill(Tables& tables, const std::string& hash, const std::string& key = "key") {
    Slot& slot = tables.NewSlot(hash);
    slot.set_key(key);
    tables.Touch(hash);
  }
  KvStatus FlushAndSync(Tables& tables) {
    const KvStatus status = tables.Flush();
    tables.Synced(tables.open_batch() - 1);
    return status;
  }
  static RunEvent Event(std::uint64_t sequence) {
    RunEvent event;
    event.set_sequence(sequence);
    return event;
  }

  VirtualScheduler scheduler_;
  MemoryDisk disk_;
  MemoryStore store_{disk_, scheduler_};
};

TEST_F(TablesTest, ChangesAreSeenBeforeAndAfterTheFlush) {
  Tables tables(store_, 1 << 20);
  Fill(tables, "h1", "one");
  EXPECT_EQ(tables.FindSlot("h1")->key(), "one");
  EXPECT_TRUE(disk_.visible().empty());
  FlushAndSync(tables);
  EXPECT_EQ(tables.FindSlot("h1")->key(), "one");
  Tables reopened(store_, 1 << 20);
  EXPECT_EQ(reopened.FindSlot("h1")->key(), "one");
  EXPECT_EQ(reopened.head().slots(), 1u);
}

TEST_F(TablesTest, AScanMergesWhatIsPendingOverTheStore) {
  Tables tables(store_, 1 << 20);
  for (const char* key : {"t1", "t3", "t5"}) tables.PutRaw(key, "stored");
  FlushAndSync(tables);
  tables.PutRaw("t2", "pending");
  tables.PutRaw("t5", "changed");
  tables.EraseRaw("t3");
  tables.EraseRaw("t4");
  std::vector<std::pair<std::string, std::string>> seen;
  tables.ScanRaw("t", keys::After("t"), [&seen](std::string_view key, std::string_view value) {
    seen.emplace_back(key, value);
    return true;
  });
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, std::string>>{
                      {"t1", "stored"}, {"t2", "pending"}, {"t5", "changed"}}));
}

TEST_F(TablesTest, TheHotTableIsBoundedByDurableSlotsOnly) {
  Tables tables(store_, 3'500);
  for (int i = 0; i < 100; ++i) Fill(tables, "slot-" + std::to_string(i));
  EXPECT_EQ(tables.hot().size(), 100u) << "dirty slots stay";
  ASSERT_EQ(tables.Flush(), KvStatus::kOk);
  for (int i = 100; i < 150; ++i) tables.FindSlot("slot-" + std::to_string(i % 100));
  EXPECT_EQ(tables.hot().size(), 100u) << "written but not synced slots stay";
  tables.Synced(tables.open_batch() - 1);
  for (int i = 100; i < 200; ++i) Fill(tables, "slot-" + std::to_string(i));
  FlushAndSync(tables);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(tables.FindSlot("slot-" + std::to_string(i)));
  EXPECT_LT(tables.hot().size(), 13u);
}

TEST_F(TablesTest, ASlotThatIsWrittenButNotSyncedNeverPassesForDurable) {
  Tables tables(store_, 0);
  Fill(tables, "h1");
  const std::uint64_t batch = tables.open_batch();
  ASSERT_EQ(tables.Flush(), KvStatus::kOk);
  for (int i = 0; i < 20; ++i) Fill(tables, "other-" + std::to_string(i));
  ASSERT_TRUE(tables.FindSlot("h1"));
  EXPECT_EQ(tables.BatchOf("h1"), batch);
}

TEST_F(TablesTest, AnErasedSlotIsGoneAtOnceAndMayBeMadeAnew) {
  Tables tables(store_, 1 << 20);
  Fill(tables, "h1", "old");
  FlushAndSync(tables);
  tables.EraseSlot("h1");
  EXPECT_EQ(tables.FindSlot("h1"), nullptr) << "the store still has it";
  EXPECT_EQ(tables.head().slots(), 0u);
  Fill(tables, "h1", "new");
  FlushAndSync(tables);
  Tables reopened(store_, 1 << 20);
  EXPECT_EQ(reopened.FindSlot("h1")->key(), "new");
  EXPECT_EQ(reopened.head().slots(), 1u);
  tables.EraseSlot("h1");
  FlushAndSync(tables);
  EXPECT_EQ(tables.FindSlot("h1"), nullptr);
  EXPECT_EQ(tables.hot().size(), 0u);
}

TEST_F(TablesTest, SlotBytesReturnToZero) {
  Tables tables(store_, 3'000);
  Random random(5);
  for (int step = 0; step < 2000; ++step) {
    const std::string hash = "slot-" + std::to_string(random.Below(30));
    if (Slot* slot = tables.FindSlot(hash); !slot) {
      Fill(tables, hash, std::string(random.Below(300), 'x'));
    } else if (random.OneIn(2)) {
      slot->set_key(std::string(random.Below(300), 'y'));
      tables.Touch(hash);
    } else {
      tables.EraseSlot(hash);
    }
    if (random.OneIn(5)) FlushAndSync(tables);
  }
  EXPECT_GT(tables.head().slot_bytes(), 0u);
  for (int i = 0; i < 30; ++i) tables.EraseSlot("slot-" + std::to_string(i));
  FlushAndSync(tables);
  EXPECT_EQ(tables.head().slot_bytes(), 0u);
  EXPECT_EQ(tables.head().slots(), 0u);
  EXPECT_EQ(disk_.visible().size(), 1u);
}

TEST_F(TablesTest, S47_AFullDiskRollsMemoryBack) {
  Tables tables(store_, 1 << 20);
  Fill(tables, "kept", "before");
  tables.head().set_fence(7);
  tables.PutInterrupt("token", "run");
  FlushAndSync(tables);
  disk_.SetFull(true);
  tables.FindSlot("kept")->set_key("after");
  tables.Touch("kept");
  Fill(tables, "refused");
  tables.head().set_fence(9);
  tables.EraseInterrupt("token");
  EXPECT_EQ(tables.Flush(), KvStatus::kFull);
  EXPECT_FALSE(tables.dirty());
  EXPECT_EQ(tables.FindSlot("kept")->key(), "before");
  EXPECT_EQ(tables.FindSlot("refused"), nullptr);
  EXPECT_EQ(tables.FindInterrupt("token"), "run");
  EXPECT_EQ(tables.head().fence(), 7u);
  EXPECT_EQ(tables.head().slots(), 1u);
  disk_.SetFull(false);
  Fill(tables, "refused");
  EXPECT_EQ(FlushAndSync(tables), KvStatus::kOk);
  EXPECT_EQ(tables.head().slots(), 2u);
}

TEST_F(TablesTest, EventsComeInOrderFromWhereverTheyAre) {
  Tables tables(store_, 1 << 20);
  const std::string run(26, 'A');
  const std::string other = std::string(25, 'A') + 'B';
  for (const std::uint64_t sequence : {0u, 1u}) tables.AppendEvent(run, Event(sequence));
  tables.AppendEvent(other, Event(0));
  FlushAndSync(tables);
  for (const std::uint64_t sequence : {2u, 256u}) tables.AppendEvent(run, Event(sequence));
  const auto events = tables.Events(run, 1, 10);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].sequence(), 1u);
  EXPECT_EQ(events[2].sequence(), 256u);
  EXPECT_EQ(tables.Events(run, 0, 2).size(), 2u);
}

TEST_F(TablesTest, OnlyUnfinishedRunsAreActive) {
  Tables tables(store_, 1 << 20);
  once::Run run;
  for (const auto& [id, status] : {std::pair{"a", RUNNING},
                                   {"b", WAITING_APPROVAL},
                                   {"c", RUN_COMPLETED},
                                   {"d", RUN_FAILED},
                                   {"e", RUN_CANCELLED}}) {
    run.set_run_id(id);
    run.set_status(status);
    tables.PutRun(run);
  }
  EXPECT_EQ(tables.ActiveRuns(), (std::vector<std::string>{"a", "b"}));
  FlushAndSync(tables);
  run.set_run_id("a");
  run.set_status(RUN_COMPLETED);
  tables.PutRun(run);
  EXPECT_EQ(tables.ActiveRuns(), std::vector<std::string>{"b"});
}

TEST_F(TablesTest, WebhooksOfOneTenantAreNotAnothers) {
  Tables tables(store_, 1 << 20);
  Webhook webhook;
  webhook.set_tenant("a");
  webhook.set_id("1");
  tables.PutWebhook(webhook);
  webhook.set_tenant("ab");
  tables.PutWebhook(webhook);
  EXPECT_EQ(tables.CountWebhooks("a", 10), 1u);
  EXPECT_FALSE(tables.FindWebhook("a", "2"));
  tables.EraseWebhook("a", "1");
  EXPECT_EQ(tables.CountWebhooks("a", 10), 0u);
  EXPECT_EQ(tables.CountWebhooks("ab", 10), 1u);
}

TEST_F(TablesTest, ARecordThatDoesNotParseIsUnreadable) {
  Head head;
  head.set_slots(1);
  KvBatch batch;
  batch.Put(keys::Head(), head.SerializeAsString());
  batch.Put(keys::Slot("h1"), "\xff\xff");
  ASSERT_EQ(store_.Write(batch), KvStatus::kOk);
  Tables tables(store_, 1 << 20);
  EXPECT_THROW(tables.FindSlot("h1"), KvUnreadable);
  EXPECT_EQ(tables.hot().size(), 0u);
}

}  // namespace
}  // namespace once
