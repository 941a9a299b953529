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
  NestedStore nested_{outer_};
};

TEST_F(NestedStoreTest, WhatWasLookedForInVainIsFoundOnceItIsWritten) {
  EXPECT_FALSE(nested_.Get("a-key"));
  EXPECT_FALSE(nested_.Get("a-key"));
  Write("a-key", "value");
  EXPECT_EQ(nested_.Get("a-key"), "value");
  EXPECT_EQ(outer_.ReadRaw(keys::Strict("a-key")), "value");
}

TEST_F(NestedStoreTest, WhatOthersPutIntoTheOuterTablesIsFoundAfterForget) {
  EXPECT_FALSE(nested_.Get("a-key"));
  outer_.PutRaw(keys::Strict("a-key"), "of a snapshot");
  nested_.Forget();
  EXPECT_EQ(nested_.Get("a-key"), "of a snapshot");
}

TEST_F(NestedStoreTest, KeysThatShareAPlaceDoNotHideEachOther) {
  Write("one-zz", "1");
  EXPECT_FALSE(nested_.Get("two-zz"));  // the same end
  EXPECT_EQ(nested_.Get("one-zz"), "1");
  Write("two-zz", "2");
  EXPECT_EQ(nested_.Get("two-zz"), "2");
}

}  // namespace
}  // namespace once
