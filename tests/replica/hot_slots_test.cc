#include "replica/storage/hot_slots.h"

#include <gtest/gtest.h>

namespace once {
namespace {

constexpr std::size_t kRoomForThree = 3 * 400;

HotSlot& Add(HotSlots& slots, const std::string& hash, std::size_t bytes = 100) {
  HotSlot& hot = slots.Insert(hash);
  slots.SlotOf(hot).set_key("key of " + hash);
  slots.SetBytes(hot, bytes);
  return hot;
}

TEST(HotSlots, TheOneNotUsedForLongestMakesRoom) {
  HotSlots slots(kRoomForThree);
  for (const char* hash : {"a", "b", "c"}) Add(slots, hash);
  ASSERT_TRUE(slots.Find("a"));
  Add(slots, "d");
  EXPECT_TRUE(slots.Find("a"));
  EXPECT_FALSE(slots.Find("b"));
  EXPECT_TRUE(slots.Find("d"));
  EXPECT_EQ(slots.bytes(), kRoomForThree);
}

TEST(HotSlots, LookingWithoutUsingKeepsNothing) {
  HotSlots slots(kRoomForThree);
  for (const char* hash : {"a", "b", "c"}) Add(slots, hash);
  ASSERT_TRUE(slots.Peek("a"));
  Add(slots, "d");
  EXPECT_FALSE(slots.Peek("a"));
}

TEST(HotSlots, WhatIsNotDurableStays) {
  HotSlots slots(0);
  slots.Stay(Add(slots, "first"), 7);
  slots.Stay(Add(slots, "second"), 8);
  Add(slots, "clean");
  Add(slots, "clean too");
  EXPECT_FALSE(slots.Find("clean"));
  EXPECT_EQ(slots.durable(), 1u) << "the one used last is in somebody's hands";
  slots.Stay(*slots.Find("first"), 8);  // changed again
  slots.Synced(7);
  EXPECT_TRUE(slots.Find("first"));
  EXPECT_TRUE(slots.Find("second"));
  slots.Synced(8);
  EXPECT_EQ(slots.size(), 1u);
}

TEST(HotSlots, OneLargeSlotTakesTheRoomOfManySmallOnes) {
  HotSlots slots(20 * 400);
  for (int i = 0; i < 20; ++i) Add(slots, std::to_string(i));
  ASSERT_EQ(slots.size(), 20u);
  Add(slots, "large", 20 * 400 - 300 - 400);
  EXPECT_EQ(slots.size(), 2u);
  EXPECT_LE(slots.bytes(), slots.bytes_max());
}

TEST(HotSlots, ASlotThatGrowsMakesOthersGo) {
  HotSlots slots(kRoomForThree);
  for (const char* hash : {"a", "b", "c"}) Add(slots, hash);
  slots.SetBytes(*slots.Find("a"), 500);
  EXPECT_TRUE(slots.Peek("a"));
  EXPECT_FALSE(slots.Peek("b"));
  EXPECT_TRUE(slots.Peek("c")) << "no more than it takes";
}

TEST(HotSlots, ASlotInUsedMemoryIsEmpty) {
  HotSlots slots(1 << 20);
  HotSlot& first = Add(slots, "a");
  slots.SlotOf(first).add_claims()->set_run_id("run");
  slots.Stay(first, 3);
  first.erased = first.dirty = true;
  slots.Erase(first);
  HotSlot& second = slots.Insert("b");
  EXPECT_EQ(second.hash, "b");
  EXPECT_EQ(slots.SlotOf(second).SerializeAsString(), "");
  EXPECT_EQ(second.bytes, 0u);
  EXPECT_EQ(second.batch, 0u);
  EXPECT_FALSE(second.dirty || second.erased);
  EXPECT_FALSE(slots.Find("a"));
  EXPECT_EQ(slots.size(), 1u);
}

TEST(HotSlots, APackedSlotIsTheSameWhenItIsUsedAgain) {
  HotSlots slots(1 << 20);
  for (const char* hash : {"a", "b"}) {
    HotSlot& hot = Add(slots, hash);
    hot.dirty = true;
    slots.Pack(hot, slots.SlotOf(hot).SerializeAsString());
    hot.dirty = false;
  }
  EXPECT_EQ(slots.SlotOf(*slots.Find("a")).key(), "key of a");
  EXPECT_EQ(slots.SlotOf(*slots.Find("b")).key(), "key of b") << "in the memory of the other";
  EXPECT_EQ(slots.SlotOf(*slots.Find("a")).key(), "key of a");
}

TEST(HotSlots, TheMemoryOfALargeSlotIsNotUsedAgain) {
  constexpr std::size_t kLarge = 1 << 20;
  HotSlots slots(8 * kLarge);
  HotSlot& hot = slots.Insert("a");
  hot.dirty = true;
  slots.SlotOf(hot).set_key(std::string(kLarge, 'k'));
  slots.SetBytes(hot, kLarge);
  slots.SlotOf(hot).set_key("k");  // keeps the capacity
  slots.SetBytes(hot, 1);
  slots.Pack(hot, slots.SlotOf(hot).SerializeAsString());
  Slot& next = slots.SlotOf(slots.Insert("b"));
  EXPECT_LT(next.SpaceUsedLong(), kLarge);
}

TEST(HotSlots, AChangedSlotStaysAsItIsUntilItIsPacked) {
  HotSlots slots(1 << 20);
  HotSlot& changed = Add(slots, "a");
  changed.dirty = true;
  slots.SlotOf(Add(slots, "b"));
  EXPECT_EQ(slots.SlotOf(changed).key(), "key of a");
  slots.Erase(changed);
  EXPECT_EQ(slots.SlotOf(*slots.Find("b")).key(), "") << "never packed, nor dirty: not kept";
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
