// What only a leader may do, seen by somebody who has not seen why it may.
#include "consensus/leadership_invariants.h"

#include <gtest/gtest.h>

#include "tests/consensus/group.h"

namespace once {
namespace {

class LeadershipRules : public testing::Test {
 protected:
  void SetUp() override {
    group.Found({"a", "b", "c"});
    group.Elect("a");
    group.Settle();
  }
  std::string Look(const std::string& member) { return rules.Observe(group[member]); }
  std::string LookAtAll() {
    std::string broken;
    for (Group::Member* member : group.Up())
      if (broken.empty()) broken = Look(member->name);
    return broken;
  }

  Group group;
  LeadershipInvariants rules;
};

TEST_F(LeadershipRules, AreKeptByAGroup) {
  for (const char* member : {"b", "c", "a"}) EXPECT_EQ(Look(member), "");
  group.Propose("a", "x");
  group.Read("a", "r");
  group.Settle();
  EXPECT_EQ(LookAtAll(), "");
  group.Change("a", MembershipChange::Kind::kRemove, "c");
  EXPECT_EQ(LookAtAll(), "");
  EXPECT_EQ(group.broken, "");
}

TEST_F(LeadershipRules, WhoLeadsWasVotedForByMostVoters) {
  EXPECT_EQ(Look("a"), "election quorum: a in term 1 leads without the votes");
}

TEST_F(LeadershipRules, OneVoteBesidesItsOwnIsAMajorityOfThreeAndNotOfFour) {
  EXPECT_EQ(Look("b"), "");
  EXPECT_EQ(Look("a"), "");

  Group four;
  four.Found({"a", "b", "c", "d"});
  four.Elect("a");
  LeadershipInvariants fresh;
  EXPECT_EQ(fresh.Observe(four["b"]), "");
  EXPECT_NE(fresh.Observe(four["a"]), "");
}

}  // namespace
}  // namespace once
