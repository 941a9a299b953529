#include "replica/storage/open_batch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replica/env/random.h"

namespace once {
namespace {

using BatchModel = std::map<std::string, std::optional<std::string>>;

BatchModel Ops(const KvBatch& batch) {
  BatchModel ops;
  for (const KvOp op : batch.ops()) {
    const bool fresh =
        ops.emplace(std::string(op.key), std::optional<std::string>(op.value)).second;
    EXPECT_TRUE(fresh) << "a key comes once";
  }
  EXPECT_EQ(ops.size(), batch.size());
  return ops;
}

BatchModel Changes(const std::vector<OverlaidView::Change>& range) {
  BatchModel changes;
  for (const auto& change : range) changes.emplace(change.key, change.value);
  return changes;
}

TEST(OpenBatch, TheLastOfAKeyCounts) {
  OpenBatch open;
  open.Put("a", "1");
  open.Put("b", "2");
  open.Delete("a");
  open.Put("b", "3");
  EXPECT_EQ(open.size(), 2u);
  EXPECT_FALSE(open.Find("a")->value);
  EXPECT_EQ(open.Find("b")->value, "3");
  EXPECT_FALSE(open.Find("c"));
  EXPECT_EQ(Ops(open.Take()), (BatchModel{{"a", std::nullopt}, {"b", "3"}}));
  EXPECT_TRUE(open.empty());
  EXPECT_FALSE(open.Find("a"));
}

TEST(OpenBatch, RangesAreInOrder) {
  OpenBatch open;
  for (const char* key : {"b3", "a", "b1", "c", "b2"}) open.Put(key, key);
  open.Delete("b2");
  const auto range = open.Range("b", "c");
  ASSERT_EQ(range.size(), 3u);
  EXPECT_EQ(range[0].key, "b1");
  EXPECT_EQ(range[1].key, "b2");
  EXPECT_FALSE(range[1].value);
  EXPECT_EQ(range[2].value, "b3");
}

TEST(OpenBatch, ReplacedBytesDoNotPileUp) {
  OpenBatch open;
  open.Put("kept", "there");
  const std::string large(100'000, 'x');
  for (int i = 0; i < 200; ++i) open.Put("large", large + std::to_string(i));
  EXPECT_EQ(open.Find("kept")->value, "there");
  const KvBatch batch = open.Take();
  EXPECT_EQ(Ops(batch), (BatchModel{{"kept", "there"}, {"large", large + "199"}}));
  EXPECT_LT(batch.bytes().size(), 2 * large.size());
}

// Against a map, with values large enough that what was replaced has to go in between.
RC_GTEST_PROP(OpenBatch, IsAMapOfTheLastChanges, (std::uint64_t seed)) {
  Random random(seed);
  OpenBatch open;
  BatchModel model;
  const auto key = [&random] {
    return std::string(1 + random.Below(3), 'a') + "bc"[random.Below(2)];
  };
  for (int step = 0; step < 300; ++step) {
    switch (random.Below(8)) {
      case 0:
      case 1:
      case 2: {
        const std::string at = key();
        const std::string value(random.Below(20'000), 'v');
        open.Put(at, value);
        model[at] = value;
        break;
      }
      case 3: {
        const std::string at = key();
        open.Delete(at);
        model[at] = std::nullopt;
        break;
      }
      case 4:
      case 5: {
        const std::string at = key();
        const auto found = open.Find(at);
        const auto expected = model.find(at);
        RC_ASSERT(found.has_value() == (expected != model.end()));
        if (found) RC_ASSERT(std::optional<std::string>(found->value) == expected->second);
        break;
      }
      case 6: {
        std::string from = key();
        std::string to = key();
        if (to < from) std::swap(from, to);
        RC_ASSERT(Changes(open.Range(from, to)) ==
                  BatchModel(model.lower_bound(from), model.lower_bound(to)));
        break;
      }
      default:
        if (!random.OneIn(20)) break;
        RC_ASSERT(Ops(open.Take()) == model);
        model.clear();
    }
    RC_ASSERT(open.size() == model.size());
  }
  RC_ASSERT(Ops(open.Take()) == model);
}

}  // namespace
}  // namespace once
