// A long cut leaves a backlog; after the heal it is worked off within bounds.
#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>

#include "tests/system/cluster_process.h"

namespace once {
namespace {

constexpr int kBacklog = 200'000;
constexpr std::chrono::seconds kBacklogPatience{120};

// A node's own bounds: 48 MiB of hot slots, the store's write buffers and block cache (below
// 150 MiB), and per peer 1 MiB of queue and 4 MiB of a message in the making. The backlog itself is
// on disk, so twice as much backlog must not need more.
constexpr std::size_t kResidentMax = 400u << 20;

class Backlog : public testing::Test {
 protected:
  double Slots(const std::string& region) { return cluster_.Metric(region, "once_slots"); }

  ClusterProcess cluster_;
};

TEST_F(Backlog, S_12_CatchUpIsBoundedInMemoryAndTheForegroundIsAnswered) {
  ASSERT_TRUE(cluster_.StartAll());
  ASSERT_TRUE(cluster_.IsQuiet());
  cluster_.Cut({"us"}, {"eu", "ap"});
  ASSERT_TRUE(cluster_.ClaimMany("us", kBacklog, 1));
  ASSERT_GE(Slots("us"), kBacklog);
  ASSERT_LT(Slots("eu"), kBacklog);

  std::atomic<bool> caught_up = false;
  std::atomic<int> answered = 0;
  std::atomic<int> refused = 0;
  std::thread foreground([&] {
    Caller eu = cluster_.Acme("eu");
    for (int i = 0; !caught_up; ++i)
      ++(eu.CreateRun("foreground-" + std::to_string(i)).status == 201 ? answered : refused);
  });
  std::map<std::string, std::size_t> resident;
  const auto began = std::chrono::steady_clock::now();
  cluster_.Heal();
  const bool all = WaitUntil(
      [&] {
        for (const std::string& region : cluster_.regions())
          resident[region] = std::max(resident[region], cluster_.ResidentBytes(region));
        return Slots("eu") >= kBacklog && Slots("ap") >= kBacklog;
      },
      kBacklogPatience);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  caught_up = true;
  foreground.join();
  EXPECT_TRUE(all) << Slots("eu") << " " << Slots("ap");
  std::cout << "catch-up of " << kBacklog << " claims took " << took.count() << " s, "
            << static_cast<int>(kBacklog / took.count()) << " claims/s; " << answered
            << " foreground requests answered\n";
  for (const auto& [region, bytes] : resident) {
    std::cout << region << " resident " << (bytes >> 20) << " MiB\n";
    EXPECT_LT(bytes, kResidentMax) << region;
  }
  EXPECT_GT(answered, 0);
  EXPECT_EQ(refused, 0);
  EXPECT_TRUE(cluster_.IsQuiet());
  EXPECT_EQ(cluster_.TotalMetric(kConflictsTotal), 0);
}

}  // namespace
}  // namespace once
