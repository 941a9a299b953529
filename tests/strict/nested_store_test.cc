#include "replica/strict/nested_store.h"

#include <gtest/gtest.h>

#include "simulator/memory_store.h"
#include "simulator/virtual_scheduler.h"

namespace once {
namespace {

class NestedStoreTest : public testing::Test {
 protected:
  void Write(const std::string& key, const std::string& value) {
    KvBatch batch;
    batch.Put(key, value);
    nested_.Write(std::move(batch));
  }

  VirtualScheduler scheduler_;
  MemoryDisk disk_;
  MemoryStore store_{disk_, scheduler_};
  Tables outer_{store_, 1 << 20};
  NestedStore nested_{outer_, "S"};
};

TEST_F(NestedStoreTest, WhatWasLookedForInVainIsFoundOnceItIsWritten) {
  EXPECT_FALSE(nested_.Get("a-key"));
  EXPECT_FALSE(nested_.Get("a-key"));
  Write("a-key", "value");
  EXPECT_EQ(nested_.Get("a-key"), "value");
  EXPECT_EQ(outer_.ReadRaw("Sa-key"), "value");
}

TEST_F(NestedStoreTest, WhatOthersPutIntoTheOuterTablesIsFoundAfterAMove) {
  EXPECT_FALSE(nested_.Get("a-key"));
  outer_.PutRaw("Na-key", "of a snapshot");
  nested_.MoveTo("N");
  EXPECT_EQ(nested_.Get("a-key"), "of a snapshot");
}

TEST_F(NestedStoreTest, AViewStaysWhatItWasWhateverIsWrittenAndWhereverTheStoreMoves) {
  Write("a", "1");
  outer_.Flush();
  Write("b", "2");  // in the open batch
  const auto view = nested_.View("", "z");
  Write("a", "later");
  Write("c", "later");
  nested_.MoveTo("N");
  std::string seen;
  view->Scan("", "z", [&seen](std::string_view key, std::string_view value) {
    seen.append(key).append("=").append(value).append(" ");
    return true;
  });
  EXPECT_EQ(seen, "a=1 b=2 ");
}

}  // namespace
}  // namespace once
