// Which commands are strict, and that a rule does not move claims that are kept.
#include "replica/strict/strict_routes.h"

#include "replica/ledger/run_id.h"
#include "replica/strict/nested_store.h"
#include "simulator/memory_store.h"
#include "simulator/virtual_scheduler.h"

namespace once {
namespace {

StrictRoutes Routes(std::vector<StrictRoute> routes) {
  return StrictRoutes(std::move(routes));
}

TEST(StrictRoutes, DecideByTenantAndEndpointAlone) {
  const StrictRoutes routes = Routes({{"vault", "*"}, {"*", "POST /pay"}});
  EXPECT_TRUE(routes.Contains("vault", "anything"));
  EXPECT_TRUE(routes.Contains("acme", "POST /pay"));
  EXPECT_FALSE(routes.Contains("acme", "POST /notify"));
  EXPECT_FALSE(Routes({}).Contains("vault", "POST /pay"));
  EXPECT_FALSE(routes.all());
  EXPECT_TRUE(Routes({{"*", "*"}}).all());
}

TEST(StrictRoutes, TheRoutesOfARunGoWhereRunsAreMade) {
  const StrictRoutes routes = Routes({{"*", "POST /v1/runs"}});
  EXPECT_TRUE(routes.Contains("acme", "POST /v1/runs"));
  EXPECT_TRUE(routes.Contains("acme", "POST /v1/runs/{runId}/cancel"));
  EXPECT_TRUE(routes.Contains("acme", "POST /v1/interrupts/{token}"));
  EXPECT_FALSE(routes.Contains("acme", "POST /v1/webhooks"));
  EXPECT_TRUE(
      Routes({{"*", "POST /v1/webhooks"}}).Contains("acme", "DELETE /v1/webhooks/{webhookId}"));
}

TEST(StrictRoutes, EqualRulesHaveEqualDigests) {
  const std::uint64_t digest = StrictRoutes({{"acme", "*"}, {"*", "charge"}}).Digest();
  EXPECT_EQ(StrictRoutes({{"*", "charge"}, {"acme", "*"}, {"acme", "*"}}).Digest(), digest);
  EXPECT_NE(StrictRoutes({StrictRoute{"acme", "*"}}).Digest(), digest);
  EXPECT_NE(StrictRoutes({{"acme", "charge"}, {"*", "*"}}).Digest(), digest);
  EXPECT_NE(StrictRoutes(std::vector<StrictRoute>{}).Digest(), digest);
  EXPECT_NE(StrictRoutes(std::vector<StrictRoute>{}).Digest(), 0u);
}

TEST(StrictRoutes, AnIdTellsItsDomain) {
  EXPECT_TRUE(IsStrictRunId(MintRunId(1000, kStrictRegion, 7)));
  EXPECT_FALSE(IsStrictRunId(MintRunId(1000, "eu", 7)));
  EXPECT_FALSE(IsStrictRunId("nonsense"));
  const StrictRoutes routes = Routes({{"vault", "*"}});
  Command settle;
  settle.mutable_settle()->set_run_id(MintRunId(1000, kStrictRegion, 7));
  EXPECT_TRUE(routes.Contains(settle));
  settle.mutable_settle()->set_run_id(MintRunId(1000, "eu", 7));
  EXPECT_FALSE(routes.Contains(settle));
}

class ChangedRoutes : public testing::Test {
 protected:
  void Keep(Tables& tables, const std::string& tenant) {
    Slot& slot = tables.NewSlot(std::string(32, 'h'));
    slot.set_tenant(tenant);
    slot.set_endpoint("POST /pay");
    tables.Touch(std::string(32, 'h'));
  }
  VirtualScheduler time_;
  MemoryDisk disk_;
  MemoryStore store_{disk_, time_};
  Tables best_effort_{store_, 1 << 20};
  NestedStore nested_{best_effort_, keys::Strict(0)};
  Tables strict_{nested_, 1 << 20};
};

TEST_F(ChangedRoutes, TakeEffectOnAnEmptyStore) {
  EXPECT_EQ(Routes({{"vault", "*"}}).TakeEffect(best_effort_, strict_, {}), "");
  EXPECT_EQ(Routes({}).TakeEffect(best_effort_, strict_, {}), "");
}

TEST_F(ChangedRoutes, AreNotThoseThatAreOnlySpeltInAnotherWay) {
  const StrictRoutes routes = Routes({{"vault", "*"}, {"acme", "POST /v1/runs"}});
  EXPECT_EQ(routes.TakeEffect(best_effort_, strict_, {}), "");
  EXPECT_TRUE(Routes({{"acme", "POST /v1/runs/{runId}/cancel"}, {"vault", "*"}, {"vault", "*"}})
                  .AreThoseOf(best_effort_));
  EXPECT_FALSE(Routes({{"vault", "*"}}).AreThoseOf(best_effort_));
}

TEST_F(ChangedRoutes, AreRefusedWhileABestEffortClaimWouldBecomeStrict) {
  Keep(best_effort_, "vault");
  const std::string error = Routes({{"vault", "*"}}).TakeEffect(best_effort_, strict_, {});
  EXPECT_NE(error.find("vault"), std::string::npos);
  EXPECT_EQ(Routes({{"other", "*"}}).TakeEffect(best_effort_, strict_, {}), "");
}

TEST_F(ChangedRoutes, AreRefusedWhileAStrictClaimWouldBecomeBestEffort) {
  const StrictRoutes routes = Routes({{"vault", "*"}});
  ASSERT_EQ(routes.TakeEffect(best_effort_, strict_, {}), "");
  Keep(strict_, "vault");
  EXPECT_NE(Routes({}).TakeEffect(best_effort_, strict_, {}), "");
  EXPECT_EQ(routes.TakeEffect(best_effort_, strict_, {}), "");
  strict_.EraseSlot(std::string(32, 'h'));
  EXPECT_EQ(Routes({}).TakeEffect(best_effort_, strict_, {}), "");
}

TEST_F(ChangedRoutes, AreRefusedWhileAWebhookWouldChangeItsMode) {
  Webhook webhook;
  webhook.set_tenant("vault");
  webhook.set_id("w1");
  best_effort_.PutWebhook(webhook);
  EXPECT_NE(Routes({{"vault", "*"}}).TakeEffect(best_effort_, strict_, {}), "");
  EXPECT_EQ(Routes({{"vault", "POST /v1/runs"}}).TakeEffect(best_effort_, strict_, {}), "");
}

TEST_F(ChangedRoutes, AreRefusedWhileTheLogMayHoldAClaimOfTheOldMode) {
  const StrictRoutes routes = Routes({{"vault", "*"}});
  ASSERT_EQ(routes.TakeEffect(best_effort_, strict_, {}), "");
  Command command;
  command.mutable_begin()->mutable_slot()->set_tenant("vault");
  command.mutable_begin()->mutable_slot()->set_endpoint("POST /pay");
  const std::string error = Routes({}).TakeEffect(best_effort_, strict_, {command});
  EXPECT_NE(error.find("tenant vault, endpoint POST /pay"), std::string::npos) << error;
  Command expiry;
  expiry.mutable_expire_due();
  EXPECT_EQ(Routes({}).TakeEffect(best_effort_, strict_, {expiry}), "");
}

}  // namespace
}  // namespace once
