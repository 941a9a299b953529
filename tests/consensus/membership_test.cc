// One test for each claim about who belongs to the group: chapter 4 of the dissertation.
#include <gtest/gtest.h>

#include "tests/consensus/group.h"
#include "tests/consensus/lone_member.h"

namespace once {
namespace {

using Kind = MembershipChange::Kind;

TEST(Membership, ALearnerCatchesUpIsPromotedAndVotes) {
  Group group;
  group.Found({"a", "b"});
  group.Elect("a");
  group.Propose("a", "x");
  group.Settle();
  group.Join("c");
  ASSERT_TRUE(group.Change("a", Kind::kAddLearner, "c").accepted());
  group.Settle();
  EXPECT_EQ(group.At("c").applied, std::vector<std::string>{"x"});
  ASSERT_TRUE(group.Change("a", Kind::kPromote, "c").accepted());
  group.Settle();
  group.Crash("b");
  group.Propose("a", "y");
  group.Settle();
  EXPECT_EQ(group.At("a").applied.back(), "y") << "a and c are a majority";
}

TEST(Membership, AFounderThatWasLeftOutLearnsFromTheLogThatItVotes) {
  Membership founders;
  for (const char* name : {"a", "b", "c"}) founders.add_voters(name);
  Group group;
  group.StartWith("a", BootstrapState(founders));
  group.StartWith("b", BootstrapState(founders));
  group.Join("c");
  group.Elect("a");
  group.Propose("a", "x");
  group.Settle();
  group.Crash("a");
  for (int i = 0; i < 100; ++i) group.TickAll(), group.Settle();
  ASSERT_NE(group.Leader(), nullptr) << "b and c are two of three";
  EXPECT_EQ(group.At("c").applied, std::vector<std::string>{"x"});
  EXPECT_EQ(group.broken, "");
}

// What the first leader said and did not bring through says nothing to a later one.
TEST(Membership, TheFoundersAreSaidAgainByWhoeverLeadsWithoutTheirEntry) {
  Group group;
  group.Found({"a", "b", "c"});
  group.lose = [](const RaftMessage& message) { return message.has_append(); };
  group.Elect("a");
  ASSERT_EQ(group["a"].role(), RaftRole::kLeader);
  group.Crash("a");
  group.lose = nullptr;
  group.Elect("b");
  EXPECT_EQ(group["c"].log().At(1)->kind(), MEMBERSHIP);
  EXPECT_EQ(group["c"].log().At(1)->term(), group["b"].term());
  group.Restart("a");
  for (int i = 0; i < 100; ++i) group.TickAll(), group.Settle();
  EXPECT_EQ(group["a"].membership().voters_size(), 3);
  EXPECT_EQ(group.broken, "");
}

TEST(Membership, ALearnerIsNotCounted) {
  Group group;
  group.Found({"a", "b"}, {"c", "d"});
  group.Elect("a");
  group.Crash("b");
  group.Propose("a", "x");
  group.Tick("a", 3);
  group.Settle();
  EXPECT_TRUE(group.At("a").applied.empty());
  group.Crash("a");
  for (int i = 0; i < 100; ++i) group.TickAll(), group.Settle();
  EXPECT_EQ(group.Leader(), nullptr) << "learners do not stand for election";
}

TEST(Membership, ALearnerThatIsCutOffForgetsTheLeaderUntilItHearsOne) {
  Group group;
  group.Found({"a", "b"}, {"c"});
  group.Elect("a");
  group.Tick("a", 3);
  group.Settle();
  ASSERT_EQ(group["c"].leader(), "a");
  group.Isolate("c");
  group.Tick("c", 30);
  EXPECT_EQ(group["c"].leader(), "");
  EXPECT_EQ(group["c"].term(), group["a"].term()) << "it does not stand";
  group.Heal();
  group.Tick("a", 3);
  group.Settle();
  EXPECT_EQ(group["c"].leader(), "a");
}

TEST(Membership, ARemovedVoterThatKnowsItForgetsTheLeader) {
  // The leader says no more to whom it has removed: the last that c hears is the decision.
  LoneMember c(DiskOf(1, {}), "c");
  RaftEntry change = EntryOf(1, 1, "");
  change.set_kind(MEMBERSHIP);
  change.mutable_membership()->add_voters("a");
  change.mutable_membership()->add_voters("b");
  c.Answer(c.AppendBy("a", 1, 0, 0, {change}, 1));
  ASSERT_EQ(c->leader(), "a");
  for (int i = 0; i < 30; ++i) c->Tick();
  EXPECT_EQ(c->leader(), "");
  EXPECT_EQ(c->role(), RaftRole::kFollower);
}

TEST(Membership, ALearnerThatLagsIsNotPromoted) {
  RaftOptions options;
  options.promotion_entries_max = 5;
  Group group(1, options);
  group.Found({"a", "b", "c"}, {"d"});
  group.Elect("a");
  group.Crash("d");
  for (int i = 0; i < 10; ++i) group.Propose("a", "x");
  group.Settle();
  EXPECT_EQ(group.Change("a", Kind::kPromote, "d").refusal, RaftRefusal::kNotCaughtUp);
  group.Restart("d");
  group.Tick("a");
  group.Settle();
  EXPECT_TRUE(group.Change("a", Kind::kPromote, "d").accepted());
}

// It would be asked for its vote and not know that it has one.
TEST(Membership, ALearnerThatDoesNotKnowItIsOneIsNotPromoted) {
  Group group;
  group.Found({"a", "b"});
  group.Elect("a");
  group.Join("c");
  group.lose = [](const RaftMessage& message) { return message.to() == "c"; };
  ASSERT_TRUE(group.Change("a", Kind::kAddLearner, "c").accepted());
  group.Settle();
  EXPECT_EQ(group.Change("a", Kind::kPromote, "c").refusal, RaftRefusal::kNotCaughtUp);
}

TEST(Membership, OneChangeAtATime) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  EXPECT_TRUE(group.Change("a", Kind::kAddLearner, "d").accepted());
  EXPECT_EQ(group.Change("a", Kind::kRemove, "c").refusal, RaftRefusal::kChangePending);
  group.Settle();
  EXPECT_TRUE(group.Change("a", Kind::kRemove, "c").accepted());
}

// Ongaro's correction of 2015: without it two leaders could each build on the other's past.
TEST(Membership, NoChangeBeforeTheTermsFirstCommit) {
  Group group;
  group.Found({"a", "b", "c"});
  group.lose = [](const RaftMessage& message) { return message.has_append_reply(); };
  group.Elect("a");
  ASSERT_EQ(group["a"].role(), RaftRole::kLeader);
  EXPECT_EQ(group.Change("a", Kind::kRemove, "c").refusal, RaftRefusal::kChangePending);
}

TEST(Membership, InForceFromTheLogAndTakenBackWithIt) {
  RaftEntry change = EntryOf(1, 1, "");
  change.set_kind(MEMBERSHIP);
  change.mutable_membership()->add_voters("a");
  change.mutable_membership()->add_voters("b");
  LoneMember a(DiskOf(1, {}));
  a.Answer(a.AppendBy("b", 1, 0, 0, {change}));
  EXPECT_EQ(a->membership().voters_size(), 2) << "not committed, and in force";
  a.Answer(a.AppendBy("c", 2, 0, 0, {EntryOf(1, 2)}));
  EXPECT_EQ(a->membership().voters_size(), 3);
}

TEST(Membership, ALeaderThatRemovesItselfDoesNotCountItselfAndStepsDown) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Crash("c");
  ASSERT_TRUE(group.Change("a", Kind::kRemove, "a").accepted());
  group.Settle();
  EXPECT_EQ(group["a"].role(), RaftRole::kLeader) << "b alone is no majority of b and c";
  group.Restart("c");
  group.Tick("a");
  group.Settle();
  EXPECT_EQ(group["a"].role(), RaftRole::kFollower);
  for (int i = 0; i < 100; ++i) group.TickAll(), group.Settle();
  ASSERT_NE(group.Leader(), nullptr);
  EXPECT_NE(group.Leader()->name(), "a");
}

// Figure 4.6: its log is the only one that can win.
TEST(Membership, OneThatIsBeingRemovedStillStandsUntilThatIsDecided) {
  Group group;
  group.Found({"a", "b"});
  group.Elect("a");
  group.Change("a", Kind::kRemove, "a");
  group.wire.clear();
  group.Crash("a");
  group.Restart("a");
  for (int i = 0; i < 200 && group["b"].commit() < 2; ++i) group.TickAll(), group.Settle();
  for (int i = 0; i < 100; ++i) group.TickAll(), group.Settle();
  EXPECT_EQ(group["b"].membership().voters_size(), 1);
  EXPECT_EQ(group["b"].role(), RaftRole::kLeader);
  EXPECT_EQ(group.broken, "");
}

TEST(Membership, ARemovedMemberDoesNotDisturb) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Change("a", Kind::kRemove, "c");
  group.Settle();
  for (int i = 0; i < 200; ++i) group.TickAll(), group.Settle();
  EXPECT_EQ(group["a"].role(), RaftRole::kLeader);
  EXPECT_EQ(group["a"].term(), 1u);
}

TEST(Membership, WhatMakesNoSenseIsInvalid) {
  Group group;
  group.Found({"a", "b"}, {"c"});
  group.Elect("a");
  for (const auto& [kind, member] :
       std::vector<std::pair<Kind, std::string>>{{Kind::kAddLearner, "b"},
                                                 {Kind::kAddLearner, "c"},
                                                 {Kind::kAddLearner, ""},
                                                 {Kind::kPromote, "a"},
                                                 {Kind::kPromote, "z"},
                                                 {Kind::kRemove, "z"}})
    EXPECT_EQ(group.Change("a", kind, member).refusal, RaftRefusal::kInvalid) << member;
  Membership one;
  one.add_voters("a");
  EXPECT_FALSE(Changed(one, {Kind::kRemove, "a"})) << "somebody must be left to vote";
}

TEST(Membership, AnotherIdentityOfTheRegionIsAnotherMember) {
  Membership members;
  members.add_voters("eu/1");
  EXPECT_TRUE(IsVoter(members, "eu/1"));
  EXPECT_FALSE(IsMember(members, "eu/2"));
}

TEST(Membership, ALostVoterIsReplacedByANewIdentityOfItsRegion) {
  Group group;
  group.Found({"eu/1", "us/1", "ap/1"});
  group.Elect("us/1");
  group.Propose("us/1", "x");
  group.Settle();
  group.Join("eu/2");
  for (const auto& [kind, member] : std::vector<std::pair<Kind, std::string>>{
           {Kind::kAddLearner, "eu/2"}, {Kind::kRemove, "eu/1"}, {Kind::kPromote, "eu/2"}}) {
    ASSERT_TRUE(group.Change("us/1", kind, member).accepted());
    group.Settle();
  }
  EXPECT_EQ(Describe(group["eu/2"].membership()), "{ ap/1 eu/2 us/1 }");
  EXPECT_EQ(group.At("eu/2").applied, std::vector<std::string>{"x"});
}

}  // namespace
}  // namespace once
