// Ends of a node under load, wanted and not: whatever was acknowledged is there afterwards.
#include <gmock/gmock.h>

#include <csignal>
#include <random>

#include "tests/system/node_process.h"
#include "tests/system/promises.h"

namespace once {
namespace {

struct Ending {
  const char* name;
  int signal;
  int exit_code;
  const char* settings;
};

void PrintTo(const Ending& ending, std::ostream* out) {
  *out << ending.name;
}

class Crash : public testing::TestWithParam<Ending> {};

TEST_P(Crash, S_19_S_16_EndsUnderLoadLoseNothingAcknowledged) {
  constexpr int kEnds = 25;
  NodeProcess node({.settings = GetParam().settings});
  const std::string key = node.AddKey("acme");
  std::mt19937 random(19);
  Promises promises;
  for (int end = 0; end < kEnds; ++end) {
    ASSERT_TRUE(node.Start());
    Promises fresh;
    Load load(node.port(), key, "cycle" + std::to_string(end) + "-", fresh);
    const std::size_t enough = 1 + random() % 150;
    EXPECT_TRUE(WaitUntil([&] { return fresh.size() >= enough; }));
    node.Signal(GetParam().signal);
    EXPECT_EQ(node.WaitExit(), GetParam().exit_code);
    load.Join();
    ASSERT_TRUE(node.Start());
    ASSERT_THAT(fresh.Broken(node.port(), key), testing::IsEmpty()) << "after end " << end;
    promises.Add(fresh);
    node.Kill();
  }
  ASSERT_TRUE(node.Start());
  EXPECT_GE(promises.size(), std::size_t{kEnds});
  EXPECT_THAT(promises.Broken(node.port(), key), testing::IsEmpty());
}

constexpr const char* kSyncThread = "[storage]\ninline_sync_us_max = 0\n";

INSTANTIATE_TEST_SUITE_P(
    Ends, Crash,
    testing::Values(Ending{"Kill", SIGKILL, -SIGKILL, ""},
                    Ending{"KillSyncThread", SIGKILL, -SIGKILL, kSyncThread},
                    Ending{"Terminate", SIGTERM, 0, ""},
                    Ending{"TerminateSyncThread", SIGTERM, 0, kSyncThread}),
    [](const auto& ending) { return ending.param.name; });

TEST(CrashedOwner, S_16_ClaimOfACrashedNodeIsTakenOverWithAHigherFence) {
  NodeProcess node;
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  const BegunClaim first = ClaimOf(Caller(node.port(), key).Begin("order-1", 2));
  ASSERT_FALSE(first.id.empty());
  node.Kill();
  ASSERT_TRUE(node.Start());

  Caller caller(node.port(), key);
  HttpResult second = caller.Begin("order-1", 30);
  EXPECT_EQ(Member(second, "error"), "idempotency_in_flight") << "leases restart in full at boot";
  ASSERT_TRUE(WaitUntil([&] {
    second = caller.Begin("order-1", 30);
    return second.status == 201;
  })) << second.body;
  EXPECT_EQ(ClaimOf(second).run_id, first.run_id);
  EXPECT_GT(ClaimOf(second).fence, first.fence);
  EXPECT_EQ(Member(caller.Settle(first, "late"), "error"), "stale_fence");
  EXPECT_EQ(caller.Settle(ClaimOf(second), "second").status, 200);
  EXPECT_EQ(AnswerOf(caller.Begin("order-1")), "second");
}

}  // namespace
}  // namespace once
