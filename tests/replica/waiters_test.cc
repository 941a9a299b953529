// Callers that wait for a claim in flight.
#include "replica/waiters.h"

#include <gtest/gtest.h>

#include "tests/replica/node_story.h"

namespace once {
namespace {

using Woken = std::vector<std::string>;

class WaitersTest : public testing::Test {
 protected:
  void Join(const std::string& slot, std::int64_t timeout_ms, const std::string& name) {
    waiters_.Join(slot, timeout_ms, name.size(), [this, name] { woken_.push_back(name); });
  }
  VirtualScheduler scheduler_;
  Waiters waiters_{scheduler_};
  Woken woken_;
};

TEST_F(WaitersTest, WakesThoseOfTheSlotInOrderOfArrival) {
  Join("s", 100, "first");
  Join("other", 100, "stranger");
  Join("s", 50, "second");
  waiters_.Wake("s");
  EXPECT_EQ(woken_, (Woken{"first", "second"}));
  EXPECT_EQ(waiters_.size(), 1u);
  EXPECT_EQ(scheduler_.timers(), 1u) << "their timers went with them";
}

TEST_F(WaitersTest, EachIsWokenOnce) {
  Join("s", 10, "waiter");
  scheduler_.RunFor(10);
  EXPECT_EQ(woken_, Woken{"waiter"});
  waiters_.Wake("s");
  scheduler_.RunFor(100);
  EXPECT_EQ(woken_, Woken{"waiter"});
}

TEST_F(WaitersTest, OneThatJoinsAgainFromInsideWaitsForTheNextWake) {
  waiters_.Join("s", 100, 0, [this] { Join("s", 100, "again"); });
  waiters_.Wake("s");
  EXPECT_EQ(woken_, Woken{});
  waiters_.Wake("s");
  EXPECT_EQ(woken_, Woken{"again"});
}

TEST_F(WaitersTest, WakeAllLeavesNobody) {
  Join("a", 100, "a");
  Join("b", 100, "b");
  EXPECT_EQ(waiters_.bytes(), 2u);
  waiters_.WakeAll();
  EXPECT_EQ(woken_, (Woken{"a", "b"}));
  EXPECT_EQ(waiters_.size(), 0u);
  EXPECT_EQ(waiters_.bytes(), 0u);
  EXPECT_EQ(scheduler_.timers(), 0u);
}

TEST(SubmitOrWait, AllWaitersGetTheSettledAnswer) {
  NodeStory node;
  const Answer owned = node.Ask(BeginKey("key"));
  std::vector<std::shared_ptr<std::optional<Answer>>> waiting;
  for (int i = 0; i < 12; ++i)
    waiting.push_back(node.SubmitOrWait(BeginKey("key"), 20 * kSecondMs));
  node.scheduler->RunFor(5 * kSecondMs);
  for (const auto& answer : waiting) ASSERT_FALSE(answer->has_value());
  EXPECT_EQ(node.replica->Gauges().waiters, 12u);
  node.Ask(SettleAs(owned, COMPLETED, "made"));
  for (const auto& answer : waiting) {
    ASSERT_TRUE(answer->has_value());
    EXPECT_EQ((*answer)->kind, Kind::kReplay);
    EXPECT_EQ((*answer)->outcome.body(), "made");
  }
}

TEST(SubmitOrWait, OW_N_05_ExactlyOneTakesOverAtTheEndOfTheLease) {
  NodeStory node;
  node.Ask(BeginKey("key", {.lease_ms = 5 * kSecondMs}));
  std::vector<std::shared_ptr<std::optional<Answer>>> waiting;
  for (int i = 0; i < 10; ++i)
    waiting.push_back(node.SubmitOrWait(BeginKey("key"), 20 * kSecondMs));
  node.scheduler->RunFor(6 * kSecondMs);
  int owners = 0;
  for (const auto& answer : waiting)
    if (answer->has_value()) {
      EXPECT_EQ((*answer)->kind, Kind::kExecute);
      ++owners;
    }
  EXPECT_EQ(owners, 1);
  EXPECT_EQ(node.replica->Gauges().waiters, 9u);
}

TEST(SubmitOrWait, CK_03_AReleaseHandsTheKeyToOneWaiter) {
  NodeStory node;
  const Answer owned = node.Ask(BeginKey("key"));
  const auto first = node.SubmitOrWait(BeginKey("key"), 20 * kSecondMs);
  const auto second = node.SubmitOrWait(BeginKey("key"), 20 * kSecondMs);
  node.Ask(SettleAs(owned, RELEASED));
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ((*first)->kind, Kind::kExecute);
  EXPECT_FALSE(second->has_value());
}

TEST(SubmitOrWait, TimesOutWithInFlight) {
  NodeStory node;
  node.Ask(BeginKey("key"));
  const auto answer = node.SubmitOrWait(BeginKey("key"), 2 * kSecondMs);
  node.scheduler->RunFor(2 * kSecondMs - 1);
  EXPECT_FALSE(answer->has_value());
  node.scheduler->RunFor(1);
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->kind, Kind::kInFlight);
  EXPECT_EQ((*answer)->retry_after_ms, 28 * kSecondMs);
}

TEST(SubmitOrWait, BeyondTheBoundNobodyWaits) {
  Config config;
  config.limits.waiters_max = 1;
  NodeStory node(config);
  node.Ask(BeginKey("key"));
  const auto first = node.SubmitOrWait(BeginKey("key"), 2 * kSecondMs);
  const auto second = node.SubmitOrWait(BeginKey("key"), 2 * kSecondMs);
  EXPECT_FALSE(first->has_value());
  ASSERT_TRUE(second->has_value());
  EXPECT_EQ((*second)->kind, Kind::kInFlight);
}

TEST(SubmitOrWait, AStoppingNodeAnswersEveryWaiterAndDrains) {
  NodeStory node;
  const Answer owned = node.Ask(BeginKey("key"));
  const auto waiter = node.SubmitOrWait(BeginKey("key"), 20 * kSecondMs);
  node.disk.SetSyncDelay(10);
  const auto settled = node.Submit(SettleAs(owned, COMPLETED, "made"));
  const auto late_joiner = std::make_shared<std::optional<Answer>>();
  node.replica->SubmitOrWait(BeginKey("other"), kSecondMs,
                             [=](const Answer& answer) { *late_joiner = answer; });
  bool drained = false;
  node.replica->Stop([&] { drained = true; });
  ASSERT_TRUE(waiter->has_value());
  EXPECT_EQ((*waiter)->kind, Kind::kUnavailable);
  EXPECT_FALSE(drained);
  node.scheduler->RunFor(20);
  EXPECT_TRUE(drained);
  ASSERT_TRUE(settled->has_value());
  EXPECT_EQ((*settled)->kind, Kind::kDone) << "what was applied is still acknowledged";
  EXPECT_TRUE(late_joiner->has_value());
  EXPECT_EQ(node.Ask(BeginKey("key")).kind, Kind::kUnavailable);
  EXPECT_EQ(node.replica->Unready(), "stopping");
}

}  // namespace
}  // namespace once
