// Owners that stall.
#include <csignal>

#include "tests/system/node_process.h"
#include "tests/system/promises.h"

namespace once {
namespace {

struct Takeover {
  BegunClaim first;
  BegunClaim second;
};

// The first owner's settlement comes too late: it is refused, and the second's stands.
void ExpectSecondOwnerStands(Caller& caller, const std::string& key, const Takeover& owners) {
  EXPECT_EQ(owners.second.run_id, owners.first.run_id);
  EXPECT_GT(owners.second.fence, owners.first.fence);
  const HttpResult late = caller.Settle(owners.first, "late");
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(Member(late, "error"), "stale_fence");
  EXPECT_EQ(caller.Settle(owners.second, "second").status, 200);
  EXPECT_EQ(Member(caller.Settle(owners.first, "later still"), "error"), "stale_fence");
  EXPECT_EQ(AnswerOf(caller.Begin(key)), "second");
}

TEST(Lease, S_17_OwnerThatStallsPastItsLeaseIsFenced) {
  NodeProcess node;
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  Caller caller(node.port(), key);
  Takeover owners;
  owners.first = ClaimOf(caller.Begin("order", 1));
  HttpResult second;
  ASSERT_TRUE(WaitUntil([&] {
    second = caller.Begin("order", 600);
    return second.status == 201;
  })) << second.body;
  owners.second = ClaimOf(second);
  ExpectSecondOwnerStands(caller, "order", owners);
}

TEST(Lease, S_24_NodeThatStallsPastALeaseFencesItsOwner) {
  NodeProcess node;
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  Caller caller(node.port(), key);
  Takeover owners;
  const auto begun = std::chrono::steady_clock::now();
  owners.first = ClaimOf(caller.Begin("order", 1));
  node.Signal(SIGSTOP);
  // The settlement and the second owner are both waiting when the node wakes. The lease and the
  // skew bound are one second each.
  Caller second(node.port(), key);
  second.http().Send("POST", "/v1/claims", second.Headers("order"),
                     R"({"endpoint":"charge","request":{"amount":7},"leaseSeconds":600})");
  WaitUntil(
      [&] { return std::chrono::steady_clock::now() - begun > std::chrono::milliseconds(2500); });
  node.Signal(SIGCONT);
  const HttpResult taken = second.http().Receive();
  ASSERT_EQ(taken.status, 201) << taken.body;
  owners.second = ClaimOf(taken);
  ExpectSecondOwnerStands(caller, "order", owners);
}

}  // namespace
}  // namespace once
