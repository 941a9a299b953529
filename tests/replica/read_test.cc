// Reads show what is durable, and nothing else.
#include <gtest/gtest.h>

#include "tests/replica/node_story.h"

namespace once {
namespace {

using Shown = std::shared_ptr<std::optional<ClaimState>>;

class Read : public testing::Test {
 protected:
  /// What a GET of the key's claim shows, once it is answered.
  Shown Get(const std::string& key) {
    auto seen = std::make_shared<std::optional<ClaimState>>();
    node_.replica->Read(
        [seen, key](Tables& tables) {
          const Slot* slot = tables.FindSlot(HashOfKey(key));
          *seen = slot ? slot->claims(0).state() : CLAIM_STATE_UNSPECIFIED;
        },
        [] { ADD_FAILURE() << "the read failed"; });
    return seen;
  }
  /// Until the sync under way is reported, and no further.
  void FinishSync() {
    while (node_.disk.unsynced_batches() > 0) ASSERT_TRUE(node_.scheduler->RunOne());
  }

  NodeStory node_;
};

TEST_F(Read, AChangeOfTheNextBatchIsNotShownBeforeItIsDurable) {
  const Answer owned = node_.Ask(BeginKey("k"));
  node_.disk.SetSyncDelay(50);
  node_.Submit(BeginKey("other"));
  node_.scheduler->RunFor(10);  // written, not synced
  const Shown read = Get("k");
  const auto settled = node_.Submit(SettleAs(owned, COMPLETED));
  FinishSync();
  ASSERT_TRUE(read->has_value()) << "what it waited for is durable";
  ASSERT_FALSE(settled->has_value()) << "the settlement is not";
  EXPECT_EQ(**read, PENDING);
  node_.disk.SetSyncDelay(0);
  node_.CrashAndBoot();
  const Shown later = Get("k");
  node_.scheduler->RunUntilIdle();
  EXPECT_EQ(*later, *read) << "a crash takes nothing back that was shown";
}

TEST_F(Read, WhatWasAppliedBeforeItIsShown) {
  node_.disk.SetSyncDelay(50);
  const auto begun = node_.Submit(BeginKey("k"));
  const Shown read = Get("k");
  EXPECT_FALSE(read->has_value());
  node_.scheduler->RunFor(100);
  ASSERT_TRUE(begun->has_value());
  EXPECT_EQ(*read, PENDING);
}

TEST_F(Read, OnAFullDiskItShowsWhatWasThereBefore) {
  const Answer owned = node_.Ask(BeginKey("k"));
  node_.disk.SetFull(true);
  node_.Submit(SettleAs(owned, COMPLETED));
  const Shown read = Get("k");
  node_.scheduler->RunUntilIdle();
  EXPECT_EQ(*read, PENDING);
}

}  // namespace
}  // namespace once
