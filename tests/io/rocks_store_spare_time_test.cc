// Whether the threads behind the store are where decision 0015 puts them.
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "replica/io/spare_time.h"
#include "tests/io/store_worlds.h"

namespace once {
namespace {

int ThreadsInTheIdleClass() {
  int count = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    count += sched_getscheduler(std::stoi(thread.path().filename())) == SCHED_IDLE ? 1 : 0;
  return count;
}

TEST(RocksStoreSpareTime, TheTablesAreWrittenInItUntilTheStoreIsClosed) {
  if (!SpareTime().active()) GTEST_SKIP() << "needs CAP_SYS_NICE or an RLIMIT_NICE of 20";
  RocksSmallGroupsWorld world;
  EXPECT_EQ(ThreadsInTheIdleClass(), 0) << "a store that opens is waited for";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  int writes = 0;
  while (ThreadsInTheIdleClass() == 0 && std::chrono::steady_clock::now() < deadline) {
    ASSERT_EQ(PutOne(world.store(), std::to_string(writes++), "v"), KvStatus::kOk);
    ASSERT_EQ(SyncNow(world), KvStatus::kOk);
  }
  EXPECT_GT(ThreadsInTheIdleClass(), 0);
  world.Close();
  EXPECT_EQ(ThreadsInTheIdleClass(), 0) << "one that closes, too";
}

}  // namespace
}  // namespace once
