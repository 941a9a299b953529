#include "replica/clock.h"

#include <gtest/gtest.h>

#include "replica/env/random.h"
#include "simulator/virtual_scheduler.h"
#include "tests/replica/spans.h"

namespace once {
namespace {

constexpr std::int64_t kWallMs = 1'700'000'000'000;
constexpr std::int64_t kBoundMs = 1000;

class ClockTest : public testing::Test {
 protected:
  VirtualScheduler scheduler_{kWallMs};
};

TEST_F(ClockTest, FollowsMonotonicTime) {
  NodeClock clock(scheduler_, 0, kBoundMs);
  EXPECT_EQ(clock.NowMillis(), kWallMs);
  scheduler_.RunFor(12'345);
  EXPECT_EQ(clock.NowMillis(), kWallMs + 12'345);
  EXPECT_TRUE(clock.Safe());
}

TEST_F(ClockTest, StartsAtTheLaterOfLastStampAndWall) {
  EXPECT_EQ(NodeClock(scheduler_, kWallMs - kHourMs, kBoundMs).NowMillis(), kWallMs);
  NodeClock ahead(scheduler_, kWallMs + kHourMs, kBoundMs);
  EXPECT_EQ(ahead.NowMillis(), kWallMs + kHourMs);
  EXPECT_FALSE(ahead.Safe());
  EXPECT_EQ(ahead.OffsetMillis(), -kHourMs);
}

TEST_F(ClockTest, S20_AJumpBeyondTheBoundIsNotFollowed) {
  for (const std::int64_t jump_ms :
       {kHourMs, -kHourMs, 25 * kHourMs, kBoundMs + 1, -kBoundMs - 1}) {
    NodeClock clock(scheduler_, 0, kBoundMs);
    const std::int64_t before_ms = clock.NowMillis();
    scheduler_.JumpWall(jump_ms);
    EXPECT_FALSE(clock.Safe()) << jump_ms;
    scheduler_.RunFor(10'000);
    EXPECT_EQ(clock.NowMillis(), before_ms + 10'000) << jump_ms;
    EXPECT_EQ(clock.OffsetMillis(), jump_ms);
    scheduler_.JumpWall(-jump_ms);
    EXPECT_TRUE(clock.Safe()) << jump_ms;
  }
}

TEST_F(ClockTest, ASmallOffsetIsSlewedAwayByAtMostATwentieth) {
  for (const std::int64_t offset_ms : {500, -500}) {
    NodeClock clock(scheduler_, 0, kBoundMs);
    const std::int64_t before_ms = clock.NowMillis();
    scheduler_.JumpWall(offset_ms);
    EXPECT_TRUE(clock.Safe());
    scheduler_.RunFor(1000);
    EXPECT_EQ(clock.NowMillis(), before_ms + 1000 + offset_ms / 10);
    for (int i = 0; i < 20; ++i) {
      scheduler_.RunFor(1000);
      clock.NowMillis();
    }
    EXPECT_EQ(clock.NowMillis(), scheduler_.WallMillis());
    scheduler_.JumpWall(-offset_ms);
  }
}

TEST_F(ClockTest, NeverFallsAndNeverRunsAwayFromMonotonicTime) {
  NodeClock clock(scheduler_, 0, kBoundMs);
  Random random(3);
  const std::int64_t start_ms = clock.NowMillis();
  const std::int64_t start_us = scheduler_.MonotonicMicros();
  std::int64_t last_ms = start_ms;
  for (int i = 0; i < 5000; ++i) {
    if (random.OneIn(10))
      scheduler_.JumpWall(static_cast<std::int64_t>(random.Below(2 * kHourMs)) - kHourMs);
    if (random.OneIn(3)) scheduler_.SetWall(clock.NowMillis() + 900);
    scheduler_.RunFor(static_cast<std::int64_t>(random.Below(50)));
    const std::int64_t now_ms = clock.NowMillis();
    ASSERT_GE(now_ms, last_ms);
    last_ms = now_ms;
  }
  const std::int64_t elapsed_ms = (scheduler_.MonotonicMicros() - start_us) / 1000;
  EXPECT_GE(last_ms - start_ms, elapsed_ms * 19 / 20 - 1);
  EXPECT_LE(last_ms - start_ms, elapsed_ms * 21 / 20 + 1);
}

}  // namespace
}  // namespace once
