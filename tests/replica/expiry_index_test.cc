#include "replica/storage/expiry_index.h"

#include <gtest/gtest.h>

#include "replica/storage/tables.h"
#include "simulator/memory_store.h"
#include "simulator/virtual_scheduler.h"

namespace once {
namespace {

constexpr auto kSlot = keys::Expiring::kSlot;
constexpr auto kRun = keys::Expiring::kRun;
using Ids = std::vector<std::string>;

class ExpiryIndexTest : public testing::Test {
 protected:
  static Ids IdsOf(const std::vector<ExpiryIndex::Due>& due) {
    Ids ids;
    for (const ExpiryIndex::Due& each : due) ids.push_back(each.id);
    return ids;
  }
  Ids Oldest(std::int64_t until_ms, std::size_t limit = 100) {
    return IdsOf(tables_.expiry().Oldest(kSlot, until_ms, limit));
  }
  void Put(std::int64_t at_ms, const std::string& id) { tables_.expiry().Put(kSlot, at_ms, id); }
  std::size_t Entries() const {
    std::size_t entries = 0;
    for (const auto& [key, value] : disk_.visible())
      if (key.front() == 'x') ++entries;
    return entries;
  }

  VirtualScheduler scheduler_;
  MemoryDisk disk_;
  MemoryStore store_{disk_, scheduler_};
  Tables tables_{store_, 1 << 20};
};

TEST_F(ExpiryIndexTest, WhatIsStoredAndWhatIsPendingComeInOrderOfTime) {
  Put(50, "c"), Put(10, "a");
  tables_.Flush();
  Put(60, "d"), Put(20, "b");
  const auto due = tables_.expiry().Oldest(kSlot, 100, 100);
  EXPECT_EQ(IdsOf(due), (Ids{"a", "b", "c", "d"}));
  EXPECT_EQ(due[1].at_ms, 20);
  EXPECT_EQ(Oldest(50), (Ids{"a", "b", "c"}));
  EXPECT_EQ(Oldest(100, 2), (Ids{"a", "b"}));
  EXPECT_TRUE(tables_.expiry().Oldest(kRun, 100, 100).empty());
}

TEST_F(ExpiryIndexTest, FromATimeOnThoseOfOneMillisecondStayTogether) {
  Put(10, "a"), Put(20, "b"), Put(20, "c"), Put(30, "d");
  EXPECT_EQ(IdsOf(tables_.expiry().From(kSlot, 0, 1)), (Ids{"a"}));
  EXPECT_EQ(IdsOf(tables_.expiry().From(kSlot, 0, 2)), (Ids{"a", "b", "c"}));
  EXPECT_EQ(IdsOf(tables_.expiry().From(kSlot, 21, 9)), (Ids{"d"}));
  EXPECT_TRUE(tables_.expiry().From(kSlot, 31, 9).empty());
}

TEST_F(ExpiryIndexTest, NothingIsDueBeforeTimeBegan) {
  Put(10, "a");
  EXPECT_TRUE(Oldest(-1).empty());
}

TEST_F(ExpiryIndexTest, ABatchPutsAllOfAMillisecondIntoOneEntry) {
  for (int i = 0; i < 50; ++i) Put(10 + i / 25, "slot-" + std::to_string(i));
  EXPECT_TRUE(tables_.dirty());
  tables_.Flush();
  EXPECT_FALSE(tables_.dirty());
  EXPECT_EQ(Entries(), 2u);
  EXPECT_EQ(Oldest(100).size(), 50u);
  EXPECT_EQ(Oldest(100, 1), (Ids{"slot-0"}));
}

TEST_F(ExpiryIndexTest, TheNextBatchAddsToTheEntryOfTheSameMillisecond) {
  Put(10, "a");
  tables_.Flush();
  Put(10, "b");
  tables_.Flush();
  Tables reopened(store_, 1 << 20);
  reopened.expiry().Put(kSlot, 10, "c");
  EXPECT_EQ(IdsOf(reopened.expiry().Oldest(kSlot, 10, 100)), (Ids{"a", "b", "c"}));
  reopened.Flush();
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(ExpiryIndexTest, S_48_AnEntryThatCannotBeReadForAWhileMakesNoOtherDouble) {
  for (const std::int64_t at_ms : {10, 20, 30}) Put(at_ms, "a" + std::to_string(at_ms));
  tables_.Flush();
  for (const std::int64_t at_ms : {10, 20, 30}) Put(at_ms, "b" + std::to_string(at_ms));
  disk_.SetUnreadable(keys::ExpiryTime(kSlot, 20));
  EXPECT_THROW(Oldest(100), KvUnreadable);
  disk_.SetReadable(keys::ExpiryTime(kSlot, 20));
  EXPECT_EQ(Oldest(100), (Ids{"a10", "b10", "a20", "b20", "a30", "b30"}));
}

TEST_F(ExpiryIndexTest, ACrowdedMillisecondIsSplitAndStillWhole) {
  Ids put;
  for (int i = 0; i < 3000; ++i) {
    put.push_back("slot-" + std::to_string(10'000 + i));
    Put(10, put.back());
    if (i % 100 == 0) tables_.Flush();
  }
  Put(11, "later");
  tables_.Flush();
  for (const auto& [key, value] : disk_.visible()) EXPECT_LT(value.size(), 9000u);
  EXPECT_EQ(Oldest(10, 5000), put);
  tables_.expiry().Erase(kSlot, 10, put.front());
  tables_.expiry().Erase(kSlot, 10, put.back());
  Ids taken;
  while (true) {
    const auto some = IdsOf(tables_.expiry().Take(kSlot, 10, 700));
    if (some.empty()) break;
    EXPECT_LE(some.size(), 700u);
    taken.insert(taken.end(), some.begin(), some.end());
    tables_.Flush();
  }
  EXPECT_EQ(taken, Ids(put.begin() + 1, put.end() - 1));
  EXPECT_EQ(Entries(), 1u);
  EXPECT_EQ(Oldest(100), (Ids{"later"}));
}

TEST_F(ExpiryIndexTest, AnErasedIdLeavesTheOthersOfItsEntry) {
  Put(10, "a"), Put(10, "b"), Put(10, "c");
  tables_.expiry().Erase(kSlot, 10, "a");
  EXPECT_EQ(Oldest(10), (Ids{"b", "c"})) << "before the flush";
  tables_.Flush();
  tables_.expiry().Erase(kSlot, 10, "c");
  tables_.expiry().Erase(kSlot, 10, "never there");
  tables_.expiry().Erase(kSlot, 11, "b");
  EXPECT_EQ(Oldest(100), (Ids{"b"}));
  tables_.expiry().Erase(kSlot, 10, "b");
  tables_.Flush();
  EXPECT_EQ(Entries(), 0u);
}

TEST_F(ExpiryIndexTest, WhatIsTakenIsGone) {
  Put(10, "a"), Put(20, "b"), Put(30, "c");
  tables_.Flush();
  EXPECT_EQ(IdsOf(tables_.expiry().Take(kSlot, 20, 100)), (Ids{"a", "b"}));
  EXPECT_EQ(Oldest(100), (Ids{"c"}));
  Put(30, "d"), Put(30, "e");
  EXPECT_EQ(IdsOf(tables_.expiry().Take(kSlot, 100, 2)), (Ids{"c", "d"}));
  EXPECT_EQ(Oldest(100), (Ids{"e"}));
  EXPECT_TRUE(tables_.expiry().Take(kSlot, 100, 0).empty());
  EXPECT_EQ(IdsOf(tables_.expiry().Take(kSlot, 100, 1)), (Ids{"e"}));
  tables_.Flush();
  EXPECT_EQ(Entries(), 0u);
}

TEST_F(ExpiryIndexTest, ARolledBackBatchTakesItsEntriesWithIt) {
  Put(10, "a");
  tables_.Rollback();
  EXPECT_FALSE(tables_.dirty());
  EXPECT_TRUE(Oldest(100).empty());
}

TEST_F(ExpiryIndexTest, EntriesOfTheFormerFormatAreReadAndErased) {
  for (const char* id : {"a", "b"})
    tables_.PutRaw(keys::ExpiryTime(kSlot, 10) + std::string(id), "");
  Put(10, "c");
  tables_.Flush();
  EXPECT_EQ(Oldest(10).size(), 3u);
  tables_.expiry().Erase(kSlot, 10, "b");
  const auto taken = tables_.expiry().Take(kSlot, 10, 100);
  EXPECT_EQ(taken.size(), 2u);
  tables_.Flush();
  EXPECT_EQ(Entries(), 0u);
}

TEST_F(ExpiryIndexTest, AnEntryThatDoesNotParseIsSaid) {
  tables_.PutRaw(keys::ExpiryTime(kSlot, 10), "abc");
  EXPECT_THROW(Oldest(10), KvUnreadable);
}

}  // namespace
}  // namespace once
