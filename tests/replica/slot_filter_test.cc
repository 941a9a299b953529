#include "replica/storage/slot_filter.h"

#include <gtest/gtest.h>

#include <string>

#include "replica/storage/keys.h"
#include "simulator/memory_store.h"
#include "simulator/virtual_scheduler.h"

namespace once {
namespace {

std::string Hash(int i) {
  return "slot-" + std::to_string(i);
}

class SlotFilterTest : public testing::Test {
 protected:
  void Store(int from, int to) {
    KvBatch batch;
    for (int i = from; i < to; ++i) batch.Put(keys::Slot(Hash(i)), "");
    ASSERT_EQ(store_.Write(std::move(batch)), KvStatus::kOk);
  }

  // As often as it takes for one step.
  void LearnStep(SlotFilter& filter, std::uint64_t slots) {
    for (int calls = 0; calls < 16; ++calls) filter.Learn(store_, slots);
  }

  VirtualScheduler scheduler_;
  MemoryDisk disk_;
  MemoryStore store_{disk_, scheduler_};
};

TEST_F(SlotFilterTest, WhatWasAddedMayBeThereAndAlmostNothingElse) {
  SlotFilter filter(0);
  filter.Learn(store_, 0);
  constexpr int kSlots = 300'000;  // more than the first layers hold
  for (int i = 0; i < kSlots; ++i) filter.Add(Hash(i));
  for (int i = 0; i < kSlots; ++i) ASSERT_TRUE(filter.MayHave(Hash(i))) << i;
  int wrong = 0;
  for (int i = kSlots; i < 2 * kSlots; ++i) wrong += filter.MayHave(Hash(i)) ? 1 : 0;
  EXPECT_LT(wrong, kSlots / 100);
}

TEST_F(SlotFilterTest, EverythingMayBeThereUntilItHasSeenAllThatIsStored) {
  Store(0, 5000);
  SlotFilter filter(5000);
  int calls = 0;
  for (; !filter.knows(); ++calls) {
    ASSERT_TRUE(filter.MayHave("absent"));
    ASSERT_LT(calls, 100);
    filter.Add(Hash(5000 + calls));  // meanwhile others come
    Store(5000 + calls, 5001 + calls);
    filter.Learn(store_, 5001);
  }
  EXPECT_GT(calls, 16) << "in steps, and not with every call";
  for (int i = 0; i < 5000 + calls; ++i) ASSERT_TRUE(filter.MayHave(Hash(i))) << i;
  EXPECT_FALSE(filter.MayHave("absent"));
}

TEST_F(SlotFilterTest, OneThatWasToldOfTooManyLearnsAgainWhatIsThere) {
  SlotFilter filter(0);
  filter.Learn(store_, 0);
  Store(0, 10);
  int told = 0;
  for (; filter.knows(); ++told) filter.Add(Hash(told));  // most of them are gone again
  EXPECT_GT(told, 4'000'000);
  EXPECT_TRUE(filter.MayHave("absent"));
  for (int steps = 0; !filter.knows() && steps < 10; ++steps) LearnStep(filter, 10);
  ASSERT_TRUE(filter.knows());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(filter.MayHave(Hash(i)));
  EXPECT_FALSE(filter.MayHave(Hash(11)));
}

TEST_F(SlotFilterTest, ItLearnsFasterThanSlotsCome) {
  Store(0, 10'000);
  SlotFilter filter(10'000);
  int next = 10'000;
  for (int calls = 0; !filter.knows(); ++calls) {
    ASSERT_LT(calls, 200);
    for (int i = 0; i < 250; ++i) filter.Add(Hash(next + i));
    Store(next, next + 250);
    next += 250;
    filter.Learn(store_, static_cast<std::uint64_t>(next));
  }
  for (int i = 0; i < next; ++i) ASSERT_TRUE(filter.MayHave(Hash(i))) << i;
}

TEST_F(SlotFilterTest, AStepEndsWithLargeSlots) {
  KvBatch batch;
  for (int i = 0; i < 10; ++i) batch.Put(keys::Slot(Hash(i)), std::string(800'000, 'v'));
  ASSERT_EQ(store_.Write(std::move(batch)), KvStatus::kOk);
  SlotFilter filter(10);
  for (int steps = 0; steps < 4; ++steps) {
    LearnStep(filter, 10);
    EXPECT_FALSE(filter.knows());
  }
  for (int steps = 0; steps < 2; ++steps) LearnStep(filter, 10);
  EXPECT_TRUE(filter.knows());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(filter.MayHave(Hash(i)));
}

TEST_F(SlotFilterTest, OfAStoreThatIsTooLargeOrCannotBeReadEverythingMayBeThere) {
  SlotFilter large(3'000'000);
  large.Add(Hash(1));
  large.Learn(store_, 3'000'000);
  EXPECT_TRUE(large.MayHave("absent"));
  large.Learn(store_, 0);
  EXPECT_FALSE(large.MayHave("absent")) << "it is small now";

  Store(0, 3);
  disk_.SetUnreadable(keys::Slot(Hash(1)));
  SlotFilter broken(3);
  for (int steps = 0; steps < 3; ++steps) LearnStep(broken, 3);
  EXPECT_TRUE(broken.MayHave(Hash(2)));
  EXPECT_TRUE(broken.MayHave("absent"));
}

}  // namespace
}  // namespace once
