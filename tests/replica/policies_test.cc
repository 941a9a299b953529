#include "replica/policies.h"

#include <gtest/gtest.h>

#include "tests/replica/node_story.h"

namespace once {
namespace {

RoutePolicy Policy(const std::string& tenant, const std::string& route, MismatchPolicy mismatch) {
  RoutePolicy policy;
  policy.set_tenant(tenant);
  policy.set_route(route);
  policy.set_mismatch(mismatch);
  return policy;
}

TEST(Policies, CM_03_TheDefaultIsReject) {
  EXPECT_EQ(Policies({}, {}).For("acme", "pay"), REJECT);
}

TEST(Policies, CM_03_TheMostSpecificWinsWhateverTheOrder) {
  const RoutePolicy everyone = Policy("", "", OFF);
  const RoutePolicy tenant = Policy("acme", "", OBSERVE);
  const RoutePolicy route = Policy("", "pay", REJECT);
  const RoutePolicy both = Policy("acme", "pay", OBSERVE);
  for (const auto& order :
       {std::vector{everyone, tenant, route, both}, std::vector{both, route, tenant, everyone}}) {
    const Policies policies(order, {});
    EXPECT_EQ(policies.For("acme", "pay"), OBSERVE);
    EXPECT_EQ(policies.For("acme", "mail"), OBSERVE);
    EXPECT_EQ(policies.For("other", "pay"), REJECT);
    EXPECT_EQ(policies.For("other", "mail"), OFF);
  }
  EXPECT_EQ(Policies({Policy("acme", "", OFF), Policy("", "pay", OBSERVE)}, {}).For("acme", "pay"),
            OBSERVE)
      << "the route weighs more than the tenant";
}

TEST(Policies, CM_03_RunTimeWinsOverTheFileInTheSamePlace) {
  Policies policies({Policy("acme", "pay", OFF)}, {Policy("acme", "pay", OBSERVE)});
  EXPECT_EQ(policies.For("acme", "pay"), OBSERVE);
  policies.Set(Policy("acme", "pay", REJECT));
  EXPECT_EQ(policies.For("acme", "pay"), REJECT);
  EXPECT_EQ(policies.set_at_run_time().size(), 1u) << "replaced, not added";
  policies.Remove(Policy("acme", "pay", REJECT));
  EXPECT_EQ(policies.For("acme", "pay"), OFF);
  policies.SetConfigured({});
  EXPECT_EQ(policies.For("acme", "pay"), REJECT);
}

TEST(Policies, CM_03_OneSetAtRunTimeSurvivesACrash) {
  NodeStory node;
  Command set;
  *set.mutable_set_policy()->mutable_policy() = Policy("acme", "pay", OBSERVE);
  EXPECT_EQ(node.Ask(set).kind, Kind::kDone);
  node.CrashAndBoot();
  EXPECT_EQ(node.replica->policies().For("acme", "pay"), OBSERVE);
  set.mutable_set_policy()->set_remove(true);
  node.Ask(set);
  node.CrashAndBoot();
  EXPECT_EQ(node.replica->policies().For("acme", "pay"), REJECT);
}

}  // namespace
}  // namespace once
