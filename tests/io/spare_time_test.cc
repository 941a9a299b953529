#include "replica/io/spare_time.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <future>
#include <string>
#include <thread>

namespace once {
namespace {

/// Whether a thread may enter the idle class and leave it again, as the kernel's manual has it.
bool MayReturn() {
  constexpr std::uint64_t kSysNice = 1u << 23;
  constexpr rlim_t kFullNice = 20;
  rlimit nice{};
  getrlimit(RLIMIT_NICE, &nice);
  std::uint64_t capabilities = 0;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "CapEff:") status >> std::hex >> capabilities;
  return sched_getscheduler(0) == SCHED_OTHER &&
         ((capabilities & kSysNice) != 0 || nice.rlim_cur >= kFullNice);
}

/// A thread that has entered, until the end of the test.
class Worker {
 public:
  explicit Worker(SpareTime& spare_time)
      : thread_([this, &spare_time] {
          spare_time.Enter();
          spare_time.Enter();  // the same thread, whatever begins on it
          entered_.set_value(gettid());
          leave_.get_future().wait();
        }),
        id_(entered_.get_future().get()) {}
  ~Worker() {
    leave_.set_value();
    thread_.join();
  }

  int Class() const { return sched_getscheduler(id_); }

 private:
  std::promise<pid_t> entered_;
  std::promise<void> leave_;
  std::thread thread_;
  const pid_t id_;
};

TEST(SpareTime, AThreadIsInTheIdleClassWhileNobodyIsInAHurry) {
  if (!MayReturn()) GTEST_SKIP() << "needs CAP_SYS_NICE or an RLIMIT_NICE of 20";
  const int own = sched_getscheduler(0);
  SpareTime spare_time;
  const Worker worker(spare_time);
  EXPECT_EQ(worker.Class(), SCHED_OTHER) << "a store that starts is waited for";
  spare_time.Hurry(false);
  EXPECT_EQ(worker.Class(), SCHED_IDLE);
  EXPECT_EQ(sched_getscheduler(0), own) << "who asks is not one of them";
  spare_time.Hurry(true);
  EXPECT_EQ(worker.Class(), SCHED_OTHER);
}

TEST(SpareTime, AThreadThatEntersLaterIsAtOnceWhereTheOthersAre) {
  if (!MayReturn()) GTEST_SKIP() << "needs CAP_SYS_NICE or an RLIMIT_NICE of 20";
  SpareTime spare_time;
  spare_time.Hurry(false);
  int policy = -1;
  std::thread([&] {
    spare_time.Enter();
    policy = sched_getscheduler(0);
  }).join();
  EXPECT_EQ(policy, SCHED_IDLE);
}

TEST(SpareTime, WorkThatIsLateIsWaitedForAndEachTimeForLonger) {
  if (!MayReturn()) GTEST_SKIP() << "needs CAP_SYS_NICE or an RLIMIT_NICE of 20";
  using std::chrono::milliseconds;
  SpareTime spare_time;
  SpareTime::Time now;
  const auto after = [&](int ms) { return now += milliseconds(ms); };
  const Worker worker(spare_time);
  const auto hurries = [&worker] { return worker.Class() == SCHED_OTHER; };

  after(1000);
  spare_time.Look(now);
  EXPECT_FALSE(hurries());
  for (const int seconds : {1, 2, 4}) {
    spare_time.Give(now);
    spare_time.Look(after(250));
    EXPECT_FALSE(hurries());
    spare_time.Look(after(1));
    EXPECT_TRUE(hurries());
    spare_time.Done();
    spare_time.Look(after(seconds * 1000 - 1));
    EXPECT_TRUE(hurries()) << "for " << seconds << " s";
    spare_time.Look(after(1));
    EXPECT_FALSE(hurries());
  }
  spare_time.Give(now);
  spare_time.Done();  // in spare time
  spare_time.Look(after(100));
  spare_time.Give(now);
  spare_time.Look(after(251));
  spare_time.Done();
  spare_time.Look(after(1000));
  EXPECT_FALSE(hurries()) << "a second again";
}

// The visitor is the replica's own thread: while it waits for a lock, it can help nobody.
TEST(SpareTime, WhoeverAVisitorWaitsForIsHelped) {
  if (!MayReturn()) GTEST_SKIP() << "needs CAP_SYS_NICE or an RLIMIT_NICE of 20";
  SpareTime spare_time;
  SpareTime::Time now;
  const Worker worker(spare_time);
  const auto look = [&] {
    spare_time.Look(now += SpareTime::kLookEvery);
    return worker.Class();
  };
  now += std::chrono::hours(1);
  for (int brief = 0; brief < 3; ++brief) {
    const SpareTime::Visit visit(spare_time);
    EXPECT_EQ(look(), SCHED_IDLE) << "others than the one at the last look";
  }
  {
    const SpareTime::Visit long_one(spare_time);
    EXPECT_EQ(look(), SCHED_IDLE);
    EXPECT_EQ(look(), SCHED_OTHER);
  }
  for (int i = 0; i < 9; ++i) EXPECT_EQ(look(), SCHED_OTHER) << i;
  EXPECT_EQ(look(), SCHED_IDLE) << "after a second";
}

}  // namespace
}  // namespace once
