#include "replica/io/pending_writes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

namespace once {
namespace {

std::string Text(const std::vector<KvOp>& ops) {
  std::string text;
  for (const KvOp& op : ops) text.append(op.key).append("=").append(op.value.value_or("-")) += " ";
  return text;
}

PendingWrites::Batch Changes(const std::vector<KvOp>& ops) {
  auto batch = std::make_shared<KvBatch>();
  for (const KvOp& op : ops)
    if (op.value)
      batch->Put(op.key, *op.value);
    else
      batch->Delete(op.key);
  return batch;
}

/// So many that the next batch begins a generation.
PendingWrites::Batch Many(const std::string& first_letter) {
  auto batch = std::make_shared<KvBatch>();
  for (int i = 0; i < 4096; ++i) batch->Put(first_letter + std::to_string(i), "");
  return batch;
}

TEST(PendingWrites, TheNewestOfAKeyIsFoundUntilItsBatchIsDropped) {
  PendingWrites pending;
  for (const char* value : {"1", "2"}) pending.Add(Changes({{"k", value}}));
  EXPECT_EQ(pending.Find("k")->value, "2");
  pending.Drop(1);
  EXPECT_EQ(pending.Find("k")->value, "2");
  pending.Drop(2);
  EXPECT_FALSE(pending.Find("k"));
}

TEST(PendingWrites, TheNewestCountsWhateverGenerationItIsOf) {
  PendingWrites pending;
  pending.Add(Changes({{"k", "1"}, {"old", ""}}));
  pending.Add(Many("m"));
  pending.Add(Changes({{"k", std::nullopt}}));
  ASSERT_TRUE(pending.Find("k"));
  EXPECT_EQ(pending.Find("k")->value, std::nullopt);
  EXPECT_EQ(Text(pending.Range("k", "l")), "k=- ");
  pending.Drop(2);
  EXPECT_FALSE(pending.Find("old"));
  EXPECT_FALSE(pending.Find("m7"));
  EXPECT_EQ(pending.Find("k")->value, std::nullopt);
}

TEST(PendingWrites, WhileTheTablesAreFarBehindNothingIsForgotten) {
  PendingWrites pending;
  for (char letter = 'a'; letter < 'k'; ++letter) pending.Add(Many(std::string(1, letter)));
  for (char letter = 'a'; letter < 'k'; ++letter)
    EXPECT_TRUE(pending.Find(std::string(1, letter) + "511")) << letter;
  pending.Drop(10);
  for (char letter = 'a'; letter < 'k'; ++letter)
    EXPECT_FALSE(pending.Find(std::string(1, letter) + "511")) << letter;
  pending.Add(Changes({{"a511", "again"}}));
  EXPECT_EQ(Text(pending.Range("", "z")), "a511=again ");
}

TEST(PendingWrites, LargeBatchesThatTheTablesHaveGoSoon) {
  PendingWrites pending;
  std::vector<std::weak_ptr<const KvBatch>> batches;
  for (std::uint64_t added = 1; added <= 100; ++added) {
    auto batch = std::make_shared<KvBatch>();
    batch->Put("s" + std::to_string(added), std::string(300 << 10, 'v'));
    batches.push_back(batch);
    pending.Add(std::move(batch));
    if (added > 2) pending.Drop(added - 2);  // they are two behind
  }
  const auto kept = std::count_if(batches.begin(), batches.end(),
                                  [](const auto& batch) { return !batch.expired(); });
  EXPECT_LE(kept, 4);
  EXPECT_TRUE(pending.Find("s99"));
}

RC_GTEST_PROP(PendingWrites, TablesUnderThemLookTheSameHoweverFarTheyHaveCome, ()) {
  PendingWrites pending;
  std::vector<std::shared_ptr<const KvBatch>> batches;
  std::map<std::string, std::string> visible;
  std::map<std::string, std::string> tables;
  const auto apply = [](const KvBatch& batch, std::map<std::string, std::string>& to) {
    for (const KvOp op : batch.ops())
      if (op.value)
        to[std::string(op.key)] = *op.value;
      else
        to.erase(std::string(op.key));
  };
  std::uint64_t dropped = 0;
  for (int step = 0; step < 30; ++step) {
    if (*rc::gen::inRange(0, 3) > 0) {
      auto batch = std::make_shared<KvBatch>();
      const int ops = *rc::gen::inRange(1, 5);
      if (*rc::gen::inRange(0, 2) == 0) batch = std::make_shared<KvBatch>(*Many("y"));
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
      pending.Drop(++dropped);
    }
    auto merged = tables;
    for (const KvOp& op : pending.Range("a", "z"))
      if (op.value)
        merged[std::string(op.key)] = *op.value;
      else
        merged.erase(std::string(op.key));
    RC_ASSERT(merged == visible);
    for (char c = 'a'; c < 'g'; ++c) {
      const std::string key(1, c);
      const auto op = pending.Find(key);
      const auto below = tables.find(key);
      const auto expected = visible.find(key);
      const auto found = op ? std::optional<std::string>(op->value)
                            : (below == tables.end() ? std::nullopt : std::optional(below->second));
      RC_ASSERT(found ==
                (expected == visible.end() ? std::nullopt : std::optional(expected->second)));
    }
  }
}

TEST(PendingWrites, ARangeIsHalfOpenAndInOrder) {
  PendingWrites pending;
  pending.Add(Changes({{"c", "c"}, {"a", "a"}, {"b", "b"}, {"d", "d"}, {"b", std::nullopt}}));
  EXPECT_EQ(Text(pending.Range("a", "d")), "a=a b=- c=c ");
}

}  // namespace
}  // namespace once
