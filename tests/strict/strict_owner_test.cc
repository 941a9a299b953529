// What the owner of a claim may do at any node, while that node's rules differ too.
#include "tests/strict/strict_story.h"

namespace once {
namespace {

using Kind = Answer::Kind;

Command RenewCommand(const Answer& owned, const std::string& tenant) {
  Command command;
  Renew& renew = *command.mutable_renew();
  renew.set_tenant(tenant);
  renew.set_hash(owned.hash);
  renew.set_run_id(owned.claim.run_id());
  renew.set_fence(owned.claim.fence());
  return command;
}

TEST(StrictOwner, OW_N_05_RenewsAndSettlesInOtherRegionsThanTheOneThatItAsked) {
  StrictStory story;
  const std::string asked = story.Followers()[0];
  const std::string other = story.Followers()[1];
  const auto lease_ms = static_cast<std::int64_t>(story.cluster.options().lease_ms);
  const Answer owned = story.Begin(asked, "k");
  ASSERT_EQ(owned.kind, Kind::kExecute);
  story.Run(lease_ms * 3 / 4);
  EXPECT_EQ(story.Do(other, RenewCommand(owned, "acme")).kind, Kind::kDone);
  story.Run(lease_ms * 3 / 4);
  for (const std::string& region : story.cluster.regions())
    EXPECT_EQ(story.Begin(region, "k").kind, Kind::kInFlight) << region;
  EXPECT_EQ(story.Complete(story.Leader(), owned).kind, Kind::kDone);
  for (const std::string& region : story.cluster.regions())
    EXPECT_EQ(story.Begin(region, "k").claim.run_id(), owned.claim.run_id()) << region;
}

// Of either mode. A node that is told of other rules must not leave its owners alone.
TEST(StrictOwner, RenewsAndSettlesAtTheNodeThatGaveTheClaimWhileItsRulesDiffer) {
  ClusterOptions options;
  options.lease_ms = 20'000;
  StrictStory story(options);
  const std::string odd = story.Followers()[0];
  std::map<std::string, Answer> owned;  // by tenant
  for (const char* tenant : {"dev", "globex"}) {
    owned[tenant] = story.Begin(odd, "k", 1, tenant);
    ASSERT_EQ(owned[tenant].kind, Kind::kExecute) << tenant;
  }
  ASSERT_TRUE(story.AllEqual());
  story.Run(500);
  story.cluster.Crash(odd);
  story.cluster.SetStrictRoutes(odd, {{{"dev", "*"}}});
  story.cluster.Restart(odd);
  story.Run(3000);
  ASSERT_TRUE(story.Group(odd).RulesDiffer());
  ASSERT_EQ(story.Begin(odd, "new", 1, "dev").kind, Kind::kUnavailable);
  for (const auto& [tenant, claim] : owned) {
    EXPECT_EQ(story.Do(odd, RenewCommand(claim, tenant)).kind, Kind::kDone) << tenant;
    Command complete = Story::CompleteCommand(claim);
    complete.mutable_settle()->set_tenant(tenant);
    EXPECT_EQ(story.Do(odd, complete).kind, Kind::kDone) << tenant;
    EXPECT_EQ(story.Begin(odd, "k", 1, tenant).kind, Kind::kReplay) << tenant;
  }
}

}  // namespace
}  // namespace once
