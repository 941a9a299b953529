// Nodes that were told different things about what is strict; and how an operator sees the group.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/system/strict_cluster.h"

namespace once {
namespace {

using testing::HasSubstr;
using testing::Not;

class StrictRules : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::string region : {"eu", "ap"})
      cluster_.nodes().node(region).AcceptKeysOf(cluster_.nodes().node("us"));
  }

  // As the operator types it.
  std::string Status() {
    Program::Options options;
    options.arguments = {ProgramPath("oncectl"), "status"};
    for (const std::string& region : cluster_.regions()) {
      const std::string url =
          "http://127.0.0.1:" + std::to_string(cluster_.nodes().node(region).port());
      options.arguments.insert(options.arguments.end(), {"--url", url});
    }
    NodeProcess& node = cluster_.nodes().node("us");
    const std::string key = cluster_.nodes().AdminKey("us");
    const std::string out = node.scratch() / "status";
    WriteFile(out, "");
    options.out_file = out;
    options.environment = {"ONCE_KEY=" + key};
    EXPECT_EQ(Program(options).WaitExit(), 0);
    return ReadFile(out);
  }
  int Readiness(const std::string& region) {
    return cluster_.nodes().Admin(region).Get("/readyz").status;
  }

  StrictCluster cluster_;
};

TEST_F(StrictRules, ANodeWithOtherRulesThanTheLeaderIsNotReadyAndIsNamed) {
  NodeProcess& odd = cluster_.nodes().node("ap");
  const std::string settings = odd.setup.settings;
  odd.setup.settings += "[[strict]]\ntenant = \"globex\"\n";
  ASSERT_TRUE(cluster_.Start());
  // Whoever leads is right, and may be another one at the next look.
  std::string leader;
  Regions wrong;
  std::string reason;
  EXPECT_TRUE(WaitUntil([&] {
    leader = cluster_.LeaderAmong(cluster_.regions());
    wrong = leader == "ap" ? Regions{"us", "eu"} : Regions{"ap"};
    reason = cluster_.nodes().Admin(wrong[0]).Get("/readyz").body;
    return !leader.empty() && Readiness(leader) == 200 &&
           std::all_of(wrong.begin(), wrong.end(),
                       [&](const std::string& region) { return Readiness(region) == 503; }) &&
           cluster_.nodes().Metric(leader, "once_strict_other_rules{peer=\"" + wrong[0] + "\"}") ==
               1;
  }));
  EXPECT_THAT(reason, HasSubstr("the [[strict]] rules differ from those of the leader, " + leader));
  EXPECT_THAT(Status(), HasSubstr("has other [[strict]] rules than ap"));
  EXPECT_TRUE(
      WaitUntil([&] { return cluster_.nodes().node(wrong[0]).Logged("[[strict]] rules differ"); }));

  ASSERT_EQ(odd.Stop(), 0);
  odd.setup.settings = settings;
  ASSERT_TRUE(cluster_.nodes().Start("ap"));
  for (const std::string& region : cluster_.regions())
    EXPECT_TRUE(WaitUntil([&] { return Readiness(region) == 200; })) << region;
  EXPECT_TRUE(
      WaitUntil([&] { return cluster_.nodes().TotalMetric("once_strict_other_rules") == 0; }));
  EXPECT_THAT(Status(), Not(HasSubstr("rules")));
}

// What the group decided is in the log of every member before it is in its tables.
TEST_F(StrictRules, AreNotChangedWhileAClaimOfTheOldModeIsKept) {
  ASSERT_TRUE(cluster_.Start());
  ASSERT_TRUE(WaitUntil([&] { return cluster_.nodes().Acme("us").Begin("kept").status == 201; }));
  ASSERT_TRUE(cluster_.AwaitAgreement(cluster_.regions()));
  cluster_.nodes().node("us").Kill();
  ASSERT_EQ(cluster_.nodes().node("eu").Stop(), 0);
  for (const std::string region : {"us", "eu"}) {
    NodeProcess& node = cluster_.nodes().node(region);
    const std::string settings = node.setup.settings;
    node.setup.settings.erase(node.setup.settings.find("[[strict]]"));
    EXPECT_NE(node.StartAndExit(), 0) << region;
    EXPECT_TRUE(node.Logged("[[strict]] was changed")) << node.Log();
    EXPECT_TRUE(node.Logged("tenant acme")) << node.Log();
    node.setup.settings = settings;
    ASSERT_TRUE(cluster_.nodes().Start(region));
  }
}

TEST_F(StrictRules, TheStatusOfTheGroupIsATable) {
  ASSERT_TRUE(cluster_.Start());
  const std::string table = Status();
  EXPECT_THAT(table,
              testing::StartsWith("REGION      ROLE         TERM     INDEX   APPLIED     LAG\n"));
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4) << table;
  EXPECT_THAT(table, testing::ContainsRegex("\n(us|eu|ap) +leader +[0-9]+ +[0-9]+ +[0-9]+ +0\n"));
  EXPECT_THAT(table, testing::ContainsRegex("\n(us|eu|ap) +follower +[0-9]+ "));
  cluster_.nodes().node("eu").Kill();
  EXPECT_THAT(Status(), HasSubstr(":" + std::to_string(cluster_.nodes().node("eu").port())));
}

}  // namespace
}  // namespace once
