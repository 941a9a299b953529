#include "replica/env/scheduler.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <thread>

#include "replica/io/asio_scheduler.h"
#include "simulator/virtual_scheduler.h"

namespace once {
namespace {

TEST(VirtualScheduler, RunsPostsInOrderThenTimersByTimeAndId) {
  VirtualScheduler scheduler;
  std::string order;
  scheduler.After(5, [&] { order += "d"; });
  scheduler.After(3, [&] { order += "b"; });
  scheduler.After(3, [&] { order += "c"; });
  scheduler.Post([&] {
    order += "1";
    scheduler.Post([&] { order += "3"; });
    scheduler.After(0, [&] { order += "a"; });
  });
  scheduler.Post([&] { order += "2"; });
  EXPECT_EQ(order, "");
  while (scheduler.RunOne()) {
  }
  EXPECT_EQ(order, "123abcd");
}

TEST(VirtualScheduler, TimeMovesOnlyToTimers) {
  VirtualScheduler scheduler;
  const std::int64_t start_us = scheduler.MonotonicMicros();
  std::int64_t ran_us = 0;
  scheduler.After(7, [&] { ran_us = scheduler.MonotonicMicros(); });
  EXPECT_EQ(scheduler.RunUntilIdle(), 0u);
  EXPECT_EQ(scheduler.MonotonicMicros(), start_us);
  scheduler.RunFor(6);
  EXPECT_EQ(ran_us, 0);
  EXPECT_EQ(scheduler.MonotonicMicros(), start_us + 6000);
  scheduler.RunFor(4);
  EXPECT_EQ(ran_us, start_us + 7000);
  EXPECT_EQ(scheduler.MonotonicMicros(), start_us + 10000);
}

TEST(VirtualScheduler, RunUntilStopsAtThePredicateOrTheLimit) {
  VirtualScheduler scheduler;
  const std::int64_t start_us = scheduler.MonotonicMicros();
  int ticks = 0;
  std::function<void()> tick = [&] {
    ++ticks;
    scheduler.After(10, tick);
  };
  scheduler.After(10, tick);
  EXPECT_TRUE(scheduler.RunUntil([&] { return ticks == 3; }, 1000));
  EXPECT_EQ(scheduler.MonotonicMicros(), start_us + 30'000);
  EXPECT_FALSE(scheduler.RunUntil([&] { return ticks == 6; }, 25));
  EXPECT_EQ(ticks, 5);
  EXPECT_EQ(scheduler.MonotonicMicros(), start_us + 55'000);
}

TEST(VirtualScheduler, ACancelledTimerDoesNotRunAndUnknownIdsAreNoError) {
  VirtualScheduler scheduler;
  bool ran = false;
  const auto victim = scheduler.After(5, [&] { ran = true; });
  const auto killer = scheduler.After(5, [] {});
  scheduler.Cancel(killer);
  scheduler.After(4, [&] { scheduler.Cancel(victim); });
  scheduler.RunFor(10);
  scheduler.Cancel(victim);
  scheduler.Cancel(4711);
  EXPECT_FALSE(ran);
  EXPECT_EQ(scheduler.timers(), 0u);
}

TEST(VirtualScheduler, S_20_TheCalendarJumpsAndTimersDoNotNotice) {
  VirtualScheduler scheduler(1'000'000);
  EXPECT_EQ(scheduler.WallMillis(), 1'000'000);
  bool ran = false;
  scheduler.After(100, [&] { ran = true; });
  const std::int64_t start_us = scheduler.MonotonicMicros();
  scheduler.JumpWall(3'600'000);
  EXPECT_EQ(scheduler.WallMillis(), 4'600'000);
  EXPECT_EQ(scheduler.MonotonicMicros(), start_us);
  scheduler.SetWall(5);
  scheduler.RunFor(99);
  EXPECT_EQ(scheduler.WallMillis(), 104);
  EXPECT_FALSE(ran);
  scheduler.RunFor(1);
  EXPECT_TRUE(ran);
}

TEST(AsioScheduler, RunsPostsInOrderAndNeverFromInside) {
  boost::asio::io_context context;
  AsioScheduler scheduler(context);
  std::string order;
  scheduler.Post([&] {
    scheduler.Post([&] { order += "c"; });
    order += "a";
  });
  scheduler.PostUnhurried([&] { order += "b"; });
  EXPECT_EQ(order, "");
  context.run();
  EXPECT_EQ(order, "abc");
}

TEST(AsioScheduler, TimersRunOnceInOrderAndNotBeforeTheirTime) {
  boost::asio::io_context context;
  AsioScheduler scheduler(context);
  const std::int64_t start_us = scheduler.MonotonicMicros();
  std::int64_t ran_us = 0;
  std::string order;
  scheduler.After(10, [&] {
    order += "b";
    ran_us = scheduler.MonotonicMicros();
  });
  scheduler.After(-1, [&] { order += "a"; });
  context.run();
  EXPECT_EQ(order, "ab");
  EXPECT_GE(ran_us, start_us + 10'000);
}

TEST(AsioScheduler, ATimerThatIsDueCanStillBeCancelled) {
  boost::asio::io_context context;
  AsioScheduler scheduler(context);
  int ran = 0;
  Scheduler::TimerId second = 0;
  const auto first = scheduler.After(0, [&] {
    ++ran;
    scheduler.Cancel(second);
  });
  second = scheduler.After(0, [&] {
    ++ran;
    scheduler.Cancel(first);
  });
  context.run();
  EXPECT_EQ(ran, 1);
  scheduler.Cancel(second);
}

TEST(AsioScheduler, TimersDieWithIt) {
  boost::asio::io_context context;
  bool ran = false;
  {
    AsioScheduler scheduler(context);
    scheduler.After(0, [&] { ran = true; });
  }
  context.run();
  EXPECT_FALSE(ran);
}

TEST(AsioScheduler, PostIsForAnyThreadAndRunsOnTheLoop) {
  boost::asio::io_context context;
  AsioScheduler scheduler(context);
  std::thread::id ran_on;
  std::thread other([&] { scheduler.Post([&] { ran_on = std::this_thread::get_id(); }); });
  other.join();
  context.run();
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(AsioScheduler, TheWallIsTheCalendar) {
  boost::asio::io_context context;
  const AsioScheduler scheduler(context);
  EXPECT_GT(scheduler.WallMillis(), 1'600'000'000'000);
}

}  // namespace
}  // namespace once
