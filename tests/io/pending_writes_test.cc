#include "replica/io/pending_writes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace once {
namespace {

std::string Text(const std::vector<const KvBatch::Op*>& ops) {
  std::string text;
  for (const KvBatch::Op* op : ops) text += op->key + "=" + op->value.value_or("-") + " ";
  return text;
}

TEST(PendingWrites, TheNewestOfAKeyIsFoundUntilItsBatchIsDropped) {
  PendingWrites pending;
  for (const char* value : {"1", "2"}) {
    auto batch = std::make_shared<KvBatch>();
    batch->Put("k", value);
    pending.Add(batch);
  }
  EXPECT_EQ(pending.Find("k")->value, "2");
  pending.DropFirst(1, 100);
  EXPECT_EQ(pending.Find("k")->value, "2");
  pending.DropFirst(2, 100);
  EXPECT_EQ(pending.Find("k"), nullptr);
}

TEST(PendingWrites, ManyAreDroppedWithSeveralCalls) {
  PendingWrites pending;
  for (const char* key : {"a", "b", "c", "d"}) {
    auto batch = std::make_shared<KvBatch>();
    batch->Put(key, "");
    batch->Put("x", key);
    pending.Add(batch);
  }
  pending.DropFirst(4, 3);
  EXPECT_EQ(Text(pending.Range("", "\xff")), "c= d= x=d ");
  pending.DropFirst(4, 0);
  EXPECT_EQ(Text(pending.Range("", "\xff")), "c= d= x=d ");
  pending.DropFirst(4, 3);
  EXPECT_EQ(Text(pending.Range("", "\xff")), "");
}

RC_GTEST_PROP(PendingWrites, TablesUnderThemLookTheSameHoweverFarTheyHaveCome, ()) {
  PendingWrites pending;
  std::vector<std::shared_ptr<const KvBatch>> batches;
  std::map<std::string, std::string> visible;
  std::map<std::string, std::string> tables;
  const auto apply = [](const KvBatch& batch, std::map<std::string, std::string>& to) {
    for (const auto& op : batch.ops())
      if (op.value)
        to[op.key] = *op.value;
      else
        to.erase(op.key);
  };
  std::uint64_t dropped = 0;
  for (int step = 0; step < 30; ++step) {
    if (*rc::gen::inRange(0, 3) > 0) {
      auto batch = std::make_shared<KvBatch>();
      const int ops = *rc::gen::inRange(1, 5);
      for (int i = 0; i < ops; ++i) {
        const std::string key(1, static_cast<char>('a' + *rc::gen::inRange(0, 6)));
        if (*rc::gen::inRange(0, 4) == 0)
          batch->Delete(key);
        else
          batch->Put(key, std::to_string(step * 10 + i));
      }
      apply(*batch, visible);
      batches.push_back(batch);
      pending.Add(batch);
    } else if (dropped < batches.size()) {
      apply(*batches[dropped], tables);
      pending.DropFirst(++dropped, 1);
    }
    auto merged = tables;
    for (const KvBatch::Op* op : pending.Range("a", "z"))
      if (op->value)
        merged[op->key] = *op->value;
      else
        merged.erase(op->key);
    RC_ASSERT(merged == visible);
    for (char c = 'a'; c < 'g'; ++c) {
      const std::string key(1, c);
      const KvBatch::Op* op = pending.Find(key);
      const auto below = tables.find(key);
      const auto expected = visible.find(key);
      const auto found =
          op ? op->value : (below == tables.end() ? std::nullopt : std::optional(below->second));
      RC_ASSERT(found ==
                (expected == visible.end() ? std::nullopt : std::optional(expected->second)));
    }
  }
}

TEST(PendingWrites, ARangeIsHalfOpenAndInOrder) {
  PendingWrites pending;
  auto batch = std::make_shared<KvBatch>();
  for (const char* key : {"c", "a", "b", "d"}) batch->Put(key, key);
  batch->Delete("b");
  pending.Add(batch);
  EXPECT_EQ(Text(pending.Range("a", "d")), "a=a b=- c=c ");
}

}  // namespace
}  // namespace once
