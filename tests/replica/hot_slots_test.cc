#include "replica/storage/hot_slots.h"

#include <gtest/gtest.h>

namespace once {
namespace {

constexpr std::size_t kRoomForThree = 3 * 1000;

HotSlot& Add(HotSlots& slots, const std::string& hash, std::size_t bytes = 100) {
  HotSlot& hot = slots.Insert(hash);
  hot.slot.set_key("key of " + hash);
  slots.SetBytes(hot, bytes);
  return hot;
}

TEST(HotSlots, TheOneNotUsedForLongestMakesRoom) {
  HotSlots slots(kRoomForThree);
  for (const char* hash : {"a", "b", "c", "d"}) Add(slots, hash);
  ASSERT_TRUE(slots.Find("a"));
  Add(slots, "e");
  EXPECT_TRUE(slots.Find("a"));
  EXPECT_FALSE(slots.Find("b"));
  EXPECT_TRUE(slots.Find("e"));
}

TEST(HotSlots, LookingWithoutUsingKeepsNothing) {
  HotSlots slots(kRoomForThree);
  for (const char* hash : {"a", "b", "c", "d"}) Add(slots, hash);
  ASSERT_TRUE(slots.Peek("a"));
  Add(slots, "e");
  EXPECT_FALSE(slots.Peek("a"));
}

TEST(HotSlots, WhatIsDirtyOrNotDurableStays) {
  HotSlots slots(0);
  Add(slots, "dirty").dirty = true;
  Add(slots, "not durable").batch = 7;
  Add(slots, "clean");
  for (int i = 0; i < 10; ++i) Add(slots, std::to_string(i)).dirty = true;
  EXPECT_TRUE(slots.Find("dirty"));
  EXPECT_TRUE(slots.Find("not durable"));
  EXPECT_FALSE(slots.Find("clean"));
  slots.Synced(7);
  for (int i = 10; i < 20; ++i) Add(slots, std::to_string(i)).dirty = true;
  EXPECT_FALSE(slots.Find("not durable"));
}

TEST(HotSlots, ASlotInUsedMemoryIsEmpty) {
  HotSlots slots(1 << 20);
  HotSlot& first = Add(slots, "a");
  first.slot.add_claims()->set_run_id("run");
  first.batch = 3;
  first.erased = first.dirty = true;
  slots.Erase(first);
  const HotSlot& second = slots.Insert("b");
  EXPECT_EQ(second.hash, "b");
  EXPECT_EQ(second.slot.SerializeAsString(), "");
  EXPECT_EQ(second.bytes, 0u);
  EXPECT_EQ(second.batch, 0u);
  EXPECT_FALSE(second.dirty || second.erased);
  EXPECT_FALSE(slots.Find("a"));
  EXPECT_EQ(slots.size(), 1u);
}

TEST(HotSlots, TheLastOneFoundIsNotFoundAfterItWent) {
  HotSlots slots(1 << 20);
  Add(slots, "a");
  HotSlot* const found = slots.Find("a");
  slots.Erase(*found);
  EXPECT_FALSE(slots.Find("a"));
  Add(slots, "a");
  slots.Clear();
  EXPECT_FALSE(slots.Find("a"));
  EXPECT_EQ(slots.size(), 0u);
}

}  // namespace
}  // namespace once
