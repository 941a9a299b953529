#include "replica/storage/commit.h"

#include <gtest/gtest.h>

#include "simulator/memory_store.h"
#include "simulator/virtual_scheduler.h"

namespace once {
namespace {

constexpr std::int64_t kSyncMs = 10;

class CommitTest : public testing::Test {
 protected:
  CommitTest() { disk_.SetSyncDelay(kSyncMs); }

  /// A change, and a caller that waits for it under `name`.
  void Change(const std::string& name) {
    tables_.PutInterrupt(name, "");
    commit_.WhenDurable(tables_.open_batch(), Note(name));
  }
  Commit::Done Note(const std::string& name) {
    return [this, name](Durable durable) {
      static constexpr const char* kWords[] = {"yes", "full", "unknown"};
      answers_.push_back(name + " " + kWords[static_cast<int>(durable)]);
    };
  }
  using Answers = std::vector<std::string>;

  VirtualScheduler scheduler_;
  MemoryDisk disk_;
  MemoryStore store_{disk_, scheduler_};
  Tables tables_{store_, 1 << 20};
  Commit commit_{tables_, store_, scheduler_};
  Answers answers_;
};

TEST_F(CommitTest, NothingIsSaidBeforeTheSync) {
  Change("a");
  scheduler_.RunFor(kSyncMs - 1);
  EXPECT_EQ(answers_, Answers{});
  EXPECT_EQ(commit_.waiting(), 1u);
  scheduler_.RunFor(1);
  EXPECT_EQ(answers_, Answers{"a yes"});
  EXPECT_EQ(disk_.unsynced_batches(), 0u);
}

TEST_F(CommitTest, WhatArrivesInOneTurnSharesOneSync) {
  Change("a");
  Change("b");
  scheduler_.RunUntilIdle();
  EXPECT_EQ(disk_.unsynced_batches(), 1u);
  scheduler_.RunFor(kSyncMs);
  EXPECT_EQ(answers_, (Answers{"a yes", "b yes"}));
}

TEST_F(CommitTest, WhatArrivesDuringASyncSharesTheNextOne) {
  Change("a");
  scheduler_.RunUntilIdle();
  for (const char* name : {"b", "c", "d"}) {
    scheduler_.RunFor(1);
    Change(name);
  }
  scheduler_.RunFor(kSyncMs - 3);
  EXPECT_EQ(answers_, Answers{"a yes"});
  scheduler_.RunFor(kSyncMs);
  EXPECT_EQ(answers_, (Answers{"a yes", "b yes", "c yes", "d yes"}));
  EXPECT_EQ(tables_.open_batch(), 3u) << "two batches for four changes";
}

TEST_F(CommitTest, WhatIsDurableIsAnsweredFromInside) {
  Change("a");
  scheduler_.RunFor(kSyncMs);
  commit_.WhenDurable(1, Note("again"));
  commit_.WhenAllDurable(Note("all"));
  EXPECT_EQ(answers_, (Answers{"a yes", "again yes", "all yes"}));
}

TEST_F(CommitTest, AReaderOfTheBatchBeingSyncedGoesBeforeThoseOfTheNext) {
  Change("a");
  scheduler_.RunUntilIdle();
  Change("b");
  commit_.WhenDurable(1, Note("reader of a"));
  commit_.WhenAllDurable(Note("reader of all"));
  scheduler_.RunFor(kSyncMs);
  EXPECT_EQ(answers_, (Answers{"a yes", "reader of a yes"}));
  scheduler_.RunFor(kSyncMs);
  EXPECT_EQ(answers_, (Answers{"a yes", "reader of a yes", "b yes", "reader of all yes"}));
}

TEST_F(CommitTest, S47_AFullDiskRefusesItsBatchAndNoOlderOne) {
  Change("a");
  scheduler_.RunUntilIdle();
  disk_.SetFull(true);
  Change("b");
  commit_.WhenDurable(1, Note("reader of a"));
  scheduler_.RunFor(2 * kSyncMs);
  EXPECT_EQ(answers_, (Answers{"a yes", "reader of a yes", "b full"}));
  EXPECT_TRUE(commit_.full());
  EXPECT_FALSE(tables_.FindInterrupt("b"));
  disk_.SetFull(false);
  Change("c");
  scheduler_.RunFor(kSyncMs);
  EXPECT_EQ(answers_.back(), "c yes");
  EXPECT_FALSE(commit_.full());
  EXPECT_FALSE(commit_.failed());
}

TEST_F(CommitTest, S46_AfterAFailedSyncNothingIsAcknowledged) {
  Change("before");
  scheduler_.RunFor(kSyncMs);
  Change("a");
  scheduler_.RunUntilIdle();
  Change("b");
  disk_.FailNextSync();
  scheduler_.RunFor(kSyncMs);
  EXPECT_EQ(answers_, (Answers{"before yes", "a unknown", "b unknown"}));
  EXPECT_TRUE(commit_.failed());
  Change("c");
  commit_.WhenDurable(1, Note("durable"));
  commit_.WhenAllDurable(Note("all"));
  scheduler_.RunFor(10 * kSyncMs);
  EXPECT_EQ(answers_, (Answers{"before yes", "a unknown", "b unknown", "c unknown", "durable yes",
                               "all unknown"}));
}

TEST_F(CommitTest, AnAnswerMayAskForMore) {
  tables_.PutInterrupt("a", "");
  commit_.WhenDurable(tables_.open_batch(), [this](Durable) { Change("from inside"); });
  scheduler_.RunFor(kSyncMs);
  EXPECT_EQ(answers_, Answers{});
  scheduler_.RunFor(kSyncMs);
  EXPECT_EQ(answers_, Answers{"from inside yes"});
}

}  // namespace
}  // namespace once
