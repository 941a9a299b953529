// The contract of KvStore, sentence by sentence, over every implementation.
#include "replica/env/kv_store.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <tuple>

#include "tests/io/store_worlds.h"

namespace once {
namespace {

template <typename World>
class KvStoreContract : public testing::Test {
 protected:
  KvStore& store() { return world_.store(); }
  World world_;
};

using Worlds = testing::Types<MemoryWorld, RocksWorld, RocksSyncThreadWorld, RocksSmallGroupsWorld,
                              RocksBehindWorld>;
TYPED_TEST_SUITE(KvStoreContract, Worlds);

TYPED_TEST(KvStoreContract, AWriteIsVisibleAtOnce) {
  EXPECT_EQ(this->store().Get("a"), std::nullopt);
  ASSERT_EQ(PutOne(this->store(), "a", "1"), KvStatus::kOk);
  EXPECT_EQ(this->store().Get("a"), "1");
  ASSERT_EQ(PutOne(this->store(), "a", "2"), KvStatus::kOk);
  EXPECT_EQ(this->store().Get("a"), "2");
}

TYPED_TEST(KvStoreContract, KeysAndValuesAreAnyBytes) {
  const std::string key("\0k\xff", 3);
  const std::string value("\0\0v", 3);
  ASSERT_EQ(PutOne(this->store(), key, value), KvStatus::kOk);
  ASSERT_EQ(PutOne(this->store(), "empty", ""), KvStatus::kOk);
  EXPECT_EQ(this->store().Get(key), value);
  EXPECT_EQ(this->store().Get("empty"), "");
}

TYPED_TEST(KvStoreContract, ScanVisitsAHalfOpenRangeInBytewiseOrder) {
  KvBatch batch;
  for (const char* key : {"b", "\xff", "a", "c", "aa", "d"}) batch.Put(key, "v");
  ASSERT_EQ(this->store().Write(batch), KvStatus::kOk);
  EXPECT_EQ(ScanText(this->store(), "a", "c"), "a=v aa=v b=v");
  EXPECT_EQ(ScanText(this->store(), "b", "\xff\xff"), "b=v c=v d=v \xff=v");
  EXPECT_EQ(ScanText(this->store(), "c", "c"), "");
  EXPECT_EQ(ScanText(this->store(), "d", "a"), "");
}

TYPED_TEST(KvStoreContract, ScanStopsWhenToldTo) {
  KvBatch batch;
  for (const char* key : {"a", "b", "c"}) batch.Put(key, "v");
  ASSERT_EQ(this->store().Write(batch), KvStatus::kOk);
  int visited = 0;
  this->store().Scan("a", "z", [&](std::string_view, std::string_view) { return ++visited < 2; });
  EXPECT_EQ(visited, 2);
}

TYPED_TEST(KvStoreContract, OperationsOfABatchApplyInOrder) {
  ASSERT_EQ(PutOne(this->store(), "gone", "1"), KvStatus::kOk);
  KvBatch batch;
  batch.Delete("gone");
  batch.Delete("never there");
  batch.Put("back", "1");
  batch.Delete("back");
  batch.Put("back", "2");
  ASSERT_EQ(this->store().Write(batch), KvStatus::kOk);
  EXPECT_EQ(ScanText(this->store(), "", "z"), "back=2");
}

TYPED_TEST(KvStoreContract, AViewStaysWhatItWasWhateverIsWrittenAndSyncedLater) {
  KvBatch batch;
  for (const char* key : {"a", "b", "c"}) batch.Put(key, "synced");
  ASSERT_EQ(this->store().Write(batch), KvStatus::kOk);
  ASSERT_EQ(SyncNow(this->world_), KvStatus::kOk);
  ASSERT_EQ(PutOne(this->store(), "b", "visible"), KvStatus::kOk);
  ASSERT_EQ(PutOne(this->store(), "d", "visible"), KvStatus::kOk);
  const auto view = this->store().View("a", "e");
  KvBatch later;
  later.Delete("a");
  later.Put("b", "later");
  later.Put("bb", "later");
  later.Delete("d");
  ASSERT_EQ(this->store().Write(later), KvStatus::kOk);
  EXPECT_EQ(ScanText(*view, "a", "e"), "a=synced b=visible c=synced d=visible");
  ASSERT_EQ(SyncNow(this->world_), KvStatus::kOk);
  ASSERT_EQ(PutOne(this->store(), "c", "later"), KvStatus::kOk);
  EXPECT_EQ(ScanText(*view, "a", "e"), "a=synced b=visible c=synced d=visible");
  EXPECT_EQ(ScanText(*view, "b", "d"), "b=visible c=synced");
  EXPECT_EQ(ScanText(*this->store().View("a", "e"), "a", "e"), "b=later bb=later c=later");
}

TYPED_TEST(KvStoreContract, AViewIsScannedUntilToldToStopAndAgainFromThere) {
  KvBatch batch;
  for (const char* key : {"a", "c", "e"}) batch.Put(key, "synced");
  ASSERT_EQ(this->store().Write(batch), KvStatus::kOk);
  ASSERT_EQ(SyncNow(this->world_), KvStatus::kOk);
  for (const char* key : {"b", "d", "f"}) PutOne(this->store(), key, "visible");
  const auto view = this->store().View("", "z");
  std::string keys;
  for (std::optional<std::string> from = ""; from;) {
    int visited = 0;
    std::optional<std::string> next;
    view->Scan(*from, "z", [&](std::string_view key, std::string_view) {
      if (++visited == 3) next = key;
      if (!next) keys += key;
      return !next;
    });
    from = next;
  }
  EXPECT_EQ(keys, "abcdef");
}

TYPED_TEST(KvStoreContract, AStoreMayBeClosedBeforeItsViewsAreGone) {
  ASSERT_EQ(PutOne(this->store(), "a", "1"), KvStatus::kOk);
  const auto view = this->store().View("a", "z");
  ASSERT_EQ(SyncNow(this->world_), KvStatus::kOk);
  this->world_.Restart();
  EXPECT_EQ(this->store().Get("a"), "1");
}

TYPED_TEST(KvStoreContract, SyncReportsLaterAndNeverFromInside) {
  ASSERT_EQ(PutOne(this->store(), "a", "1"), KvStatus::kOk);
  std::optional<KvStatus> outcome;
  this->world_.Sync([&](KvStatus status) { outcome = status; });
  EXPECT_FALSE(outcome.has_value());
  this->world_.RunUntil([&] { return outcome.has_value(); });
  EXPECT_EQ(outcome, KvStatus::kOk);
}

TYPED_TEST(KvStoreContract, ASyncMayFollowFromTheReportOfAnother) {
  std::optional<KvStatus> second;
  this->world_.Sync(
      [&](KvStatus) { this->world_.Sync([&](KvStatus status) { second = status; }); });
  this->world_.RunUntil([&] { return second.has_value(); });
  EXPECT_EQ(second, KvStatus::kOk);
}

TYPED_TEST(KvStoreContract, S_19_WhatASyncReportedSurvivesACrash) {
  ASSERT_EQ(PutOne(this->store(), "a", "1"), KvStatus::kOk);
  ASSERT_EQ(SyncNow(this->world_), KvStatus::kOk);
  ASSERT_EQ(PutOne(this->store(), "a", "unsynced"), KvStatus::kOk);
  ASSERT_EQ(PutOne(this->store(), "b", "unsynced"), KvStatus::kOk);
  this->world_.Crash();
  EXPECT_EQ(ScanText(this->store(), "", "z"), "a=1");
}

TYPED_TEST(KvStoreContract, ARestartKeepsWhatWasSyncedAndItsDeletes) {
  ASSERT_EQ(PutOne(this->store(), "a", "1"), KvStatus::kOk);
  ASSERT_EQ(PutOne(this->store(), "b", "2"), KvStatus::kOk);
  ASSERT_EQ(SyncNow(this->world_), KvStatus::kOk);
  this->world_.Restart();
  KvBatch batch;
  batch.Delete("a");
  ASSERT_EQ(this->store().Write(batch), KvStatus::kOk);
  ASSERT_EQ(SyncNow(this->world_), KvStatus::kOk);
  this->world_.Restart();
  EXPECT_EQ(ScanText(this->store(), "", "z"), "b=2");
}

TYPED_TEST(KvStoreContract, WritesDuringASyncBelongToTheNext) {
  std::optional<KvStatus> outcome;
  for (int i = 0; i < 200; ++i) {
    outcome.reset();
    ASSERT_EQ(PutOne(this->store(), "before", std::to_string(i)), KvStatus::kOk);
    this->world_.Sync([&](KvStatus status) { outcome = status; });
    for (int j = 0; j < 20; ++j) {
      ASSERT_EQ(PutOne(this->store(), "during", std::string(1000, 'x')), KvStatus::kOk);
    }
    this->world_.RunUntil([&] { return outcome.has_value(); });
    ASSERT_EQ(outcome, KvStatus::kOk);
  }
  this->world_.Crash();
  EXPECT_EQ(this->store().Get("before"), "199");
}

/// A step: 0 to 5 write, 6 sync, 7 restart after a sync, 8 crash.
using Step = std::pair<int, std::vector<std::pair<int, std::optional<int>>>>;

rc::Gen<std::vector<Step>> Steps() {
  const auto op = rc::gen::pair(rc::gen::inRange(0, 12), rc::gen::maybe(rc::gen::inRange(0, 100)));
  return rc::gen::container<std::vector<Step>>(rc::gen::pair(
      rc::gen::inRange(0, 9), rc::gen::container<std::vector<std::pair<int, std::optional<int>>>>(
                                  rc::gen::map(op, [](auto drawn) {
                                    std::pair<int, std::optional<int>> made{drawn.first, {}};
                                    if (drawn.second) made.second = *drawn.second;
                                    return made;
                                  }))));
}

using Model = std::map<std::string, std::string>;

std::string ModelText(const Model& model, const std::string& from, const std::string& to) {
  std::string text;
  for (auto at = model.lower_bound(from); at != model.end() && at->first < to; ++at) {
    text += (text.empty() ? "" : " ") + at->first + "=" + at->second;
  }
  return text;
}

KvBatch MakeBatch(const Step& step, Model& model) {
  KvBatch batch;
  for (const auto& [number, value] : step.second) {
    const std::string key = "k" + std::to_string(number);
    if (value) {
      batch.Put(key, std::to_string(*value));
      model[key] = std::to_string(*value);
    } else {
      batch.Delete(key);
      model.erase(key);
    }
  }
  return batch;
}

TYPED_TEST(KvStoreContract, BehavesLikeAMapThatForgetsWhatWasNotSynced) {
  const bool holds = rc::check([] {
    const std::vector<Step> steps = *rc::gen::scale(0.4, Steps());  // a restart costs real syncs
    TypeParam world;
    Model visible, synced;
    for (const Step& step : steps) {
      if (step.first <= 5) {
        RC_ASSERT(world.store().Write(MakeBatch(step, visible)) == KvStatus::kOk);
      } else if (step.first == 8) {
        world.Crash();
        visible = synced;
      } else {
        RC_ASSERT(SyncNow(world) == KvStatus::kOk);
        synced = visible;
        if (step.first == 7) world.Restart();
      }
      RC_ASSERT(ScanText(world.store(), "", "z") == ModelText(visible, "", "z"));
      RC_ASSERT(ScanText(world.store(), "k1", "k3") == ModelText(visible, "k1", "k3"));
    }
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace once
