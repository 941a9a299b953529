// Three regions on a network of their own, cut by packet filters: nobody is told, packets vanish.
#include <stdexcept>

#include "tests/system/conflict_story.h"
#include "tests/system/namespace_network.h"

namespace once {
namespace {

class Namespaces : public testing::Test {
 protected:
  void SetUp() override {
    std::unique_ptr<NamespaceNetwork> network;
    try {
      network = std::make_unique<NamespaceNetwork>(std::vector<std::string>{"us", "eu", "ap"});
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << "needs root, iproute2 and nftables: " << error.what();
    }
    network_ = network.get();
    cluster_ = std::make_unique<ClusterProcess>(std::move(network));
    cluster_->SetFaultInjection(false);
    ASSERT_TRUE(cluster_->StartAll());
  }

  void CutBothWays() {
    for (const std::string peer : {"eu", "ap"}) {
      network_->DropFrom("us", peer);
      network_->DropFrom(peer, "us");
    }
  }

  NamespaceNetwork* network_ = nullptr;  // of the cluster
  std::unique_ptr<ClusterProcess> cluster_;
};

TEST_F(Namespaces, S_01_OW_MR_04_OneSurvivorAfterARealCut) {
  const ResolvedConflict conflict =
      PlayConflict(*cluster_, {[this] { CutBothWays(); }, [this] { network_->DropNothing(); }});
  ExpectResolved(*cluster_, conflict);
}

TEST_F(Namespaces, S_02_ClaimsOfARegionThatIsNotHeardArriveAfterTheHeal) {
  ASSERT_TRUE(cluster_->IsQuiet());
  for (const std::string peer : {"eu", "ap"}) network_->DropFrom(peer, "us");
  const HttpResult run = cluster_->Acme("us").CreateRun("order", "approval");
  ASSERT_EQ(run.status, 201);
  EXPECT_TRUE(WaitUntil([&] { return cluster_->PartitionSeconds("us", "eu") > 1.5; }));
  EXPECT_TRUE(WaitUntil([&] { return cluster_->PartitionSeconds("eu", "us") > 1.5; }));
  EXPECT_EQ(cluster_->Acme("eu").Get("/v1/runs/" + Member(run, "runId")).status, 404);
  network_->DropNothing();
  EXPECT_TRUE(cluster_->IsEverywhere(Member(run, "runId")));
}

TEST_F(Namespaces, S_03_ABridgeBetweenTwoRegionsCarriesBothWays) {
  ASSERT_TRUE(cluster_->IsQuiet());
  network_->DropFrom("us", "ap");
  network_->DropFrom("ap", "us");
  EXPECT_TRUE(cluster_->IsQuiet()) << "eu passes on what it hears";
}

TEST_F(Namespaces, S_13_ABlackHoleIsSeenAndLeftBehind) {
  ASSERT_TRUE(cluster_->IsQuiet());
  NodeProcess& us = cluster_->node("us");
  const std::size_t log_bytes = us.Log().size();
  CutBothWays();
  // Nothing ends the connections; the nodes give them up.
  EXPECT_TRUE(WaitUntil([&] {
    return us.Log().find("peer-unreachable peer=eu", log_bytes) != std::string::npos;
  })) << us.Log();
  EXPECT_GT(cluster_->PartitionSeconds("us", "eu"), 1);
  network_->DropNothing();
  EXPECT_TRUE(cluster_->IsQuiet());
}

// Three megabytes are half a minute for ap: it falls behind, alone.
TEST_F(Namespaces, S_11_ASlowPeerFallsBehindAloneAndCatchesUp) {
  constexpr int kClaims = 150;
  ASSERT_TRUE(cluster_->IsQuiet());
  network_->LimitTo("ap", "1mbit");
  Caller us = cluster_->Acme("us");
  BegunClaim last;
  for (int i = 0; i < kClaims; ++i) {
    const HttpResult begun = us.Begin("large-" + std::to_string(i));
    ASSERT_EQ(begun.status, 201) << begun.body;
    last = ClaimOf(begun);
    ASSERT_EQ(us.Settle(last, std::string(20'000, 'x')).status, 200);
  }
  const auto has_the_last = [&](const std::string& region) {
    return Member(cluster_->Acme(region).Get("/v1/claims/" + last.id), "state") == "completed";
  };
  EXPECT_TRUE(WaitUntil([&] { return has_the_last("eu"); })) << "held up by ap";
  EXPECT_FALSE(has_the_last("ap"));
  EXPECT_TRUE(WaitUntil([&] { return cluster_->PartitionSeconds("us", "ap") > 1; }));
  EXPECT_EQ(us.Begin("meanwhile").status, 201);
  network_->LimitNothing("ap");
  EXPECT_TRUE(WaitUntil([&] { return has_the_last("ap"); }));
  EXPECT_TRUE(cluster_->IsQuiet());
}

}  // namespace
}  // namespace once
