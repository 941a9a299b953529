// One test for each claim about elections: sections 3.4, 3.6.1, 6.2 and 9.6 of the dissertation.
#include <gtest/gtest.h>

#include "tests/consensus/group.h"
#include "tests/consensus/lone_member.h"

namespace once {
namespace {

TEST(Election, OneVotePerTermFirstComeFirstServed) {
  LoneMember a(DiskOf(1, {}));
  EXPECT_TRUE(a.Answer(a.VoteFor("b", 2, 0, 0)).vote_reply().granted());
  EXPECT_FALSE(a.Answer(a.VoteFor("c", 2, 0, 0)).vote_reply().granted());
  EXPECT_TRUE(a.Answer(a.VoteFor("b", 2, 0, 0)).vote_reply().granted()) << "the same one again";
  EXPECT_TRUE(a.Answer(a.VoteFor("c", 3, 0, 0)).vote_reply().granted()) << "a new term";
}

TEST(Election, AVoteSurvivesARestart) {
  RaftState disk = DiskOf(2, {});
  disk.hard_state.set_voted_for("b");
  LoneMember a(disk);
  EXPECT_FALSE(a.Answer(a.VoteFor("c", 2, 0, 0)).vote_reply().granted());
}

TEST(Election, AVoteIsGivenOnlyWhenItIsDurable) {
  LoneMember a(DiskOf(1, {}));
  a->Step(a.VoteFor("b", 2, 0, 0));
  const auto work = a->TakeWork();
  ASSERT_TRUE(work);
  EXPECT_TRUE(work->must_sync);
  EXPECT_EQ(work->hard_state->voted_for(), "b");
  EXPECT_TRUE(work->send_at_once.empty());
  ASSERT_EQ(work->send_when_durable.size(), 1u);
  EXPECT_TRUE(work->send_when_durable[0].vote_reply().granted());
}

TEST(Election, ElectionRestrictionALogThatEndsEarlierGetsNoVote) {
  struct Case {
    std::uint64_t last_index, last_term;
    bool granted;
  };
  // The voter's log ends at index 3 with term 2.
  for (const Case& c : {Case{9, 1, false}, Case{2, 2, false}, Case{3, 2, true}, Case{4, 2, true},
                        Case{1, 3, true}}) {
    LoneMember a(DiskOf(3, {1, 2, 2}));
    EXPECT_EQ(a.Answer(a.VoteFor("b", 4, c.last_index, c.last_term)).vote_reply().granted(),
              c.granted)
        << c.last_index << "." << c.last_term;
  }
}

TEST(Election, ACandidateCountsItsOwnVoteWhenItIsDurable) {
  RaftState disk = BootstrapState({});
  disk.snapshot.mutable_membership()->add_voters("a");
  Random random(1);
  Raft a("a", {}, disk, random);
  while (a.role() == RaftRole::kFollower) a.Tick();
  EXPECT_EQ(a.role(), RaftRole::kCandidate);
  const auto work = a.TakeWork();
  EXPECT_EQ(a.role(), RaftRole::kCandidate);
  a.Persisted(work->number);
  EXPECT_EQ(a.role(), RaftRole::kLeader);
}

TEST(Election, ACandidateFollowsTheLeaderOfItsTerm) {
  Group group;
  group.Found({"a", "b", "c"});
  while (group["a"].role() == RaftRole::kFollower) group.Tick("a");
  group.Elect("b");
  EXPECT_EQ(group["a"].role(), RaftRole::kFollower);
  EXPECT_EQ(group["a"].leader(), "b");
}

TEST(Election, ALeaderOfAnOldTermIsTold) {
  LoneMember a(DiskOf(5, {}));
  const RaftMessage answer = a.Answer(a.AppendBy("b", 4, 0, 0));
  EXPECT_EQ(answer.term(), 5u);
  EXPECT_FALSE(answer.append_reply().accepted());
  EXPECT_EQ(a->leader(), "");
}

TEST(Election, TimeoutsAreRandomAndWithinBounds) {
  std::set<int> seen;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    Raft a("a", {}, DiskOf(1, {}), random);
    int ticks = 0;
    for (; a.role() == RaftRole::kFollower; ++ticks) a.Tick();
    EXPECT_GE(ticks, 10);
    EXPECT_LT(ticks, 20);
    seen.insert(ticks);
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(Election, ASplitVoteIsFollowedByAnElection) {
  Group group;
  group.Found({"a", "b", "c", "d"});
  group.Cut("a", "b"), group.Cut("a", "d"), group.Cut("c", "b"), group.Cut("c", "d");
  group.TickAll(40);
  group.Settle();
  EXPECT_EQ(group.Leader(), nullptr) << "two of four are no majority";
  group.Heal();
  for (int i = 0; i < 100 && !group.Leader(); ++i) group.TickAll(), group.Settle();
  EXPECT_NE(group.Leader(), nullptr);
  EXPECT_EQ(group.broken, "");
}

TEST(PreVote, AnIsolatedMemberDoesNotRaiseItsTermAndComesBackWithoutDisturbance) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Isolate("c");
  for (int i = 0; i < 200; ++i) group.TickAll(), group.Settle();
  EXPECT_EQ(group["c"].role(), RaftRole::kPreCandidate);
  EXPECT_EQ(group["c"].term(), 1u);
  group.Heal();
  for (int i = 0; i < 40; ++i) group.TickAll(), group.Settle();
  EXPECT_EQ(group["a"].role(), RaftRole::kLeader);
  EXPECT_EQ(group["a"].term(), 1u);
  EXPECT_EQ(group["c"].leader(), "a");
}

TEST(PreVote, PromisesNothing) {
  LoneMember a(DiskOf(1, {}));
  RaftMessage question = a.VoteFor("b", 1, 0, 0);
  question.mutable_vote_request()->set_pre_vote(true);
  question.mutable_vote_request()->set_for_term(2);
  EXPECT_TRUE(a.Answer(question).vote_reply().granted());
  EXPECT_EQ(a->term(), 1u);
  EXPECT_EQ(a->voted_for(), "");
}

TEST(CheckQuorum, ALeaderWithoutItsMajorityStepsDown) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Isolate("a");
  for (int i = 0; i < 21; ++i) group.Tick("a"), group.Settle();
  EXPECT_NE(group["a"].role(), RaftRole::kLeader);
  EXPECT_EQ(group.Propose("a", "x").refusal, RaftRefusal::kNotLeader);
}

TEST(CheckQuorum, WhileALeaderIsHeardOthersAreNotHelpedToDeposeIt) {
  LoneMember a(DiskOf(1, {}));
  a.Answer(a.AppendBy("b", 1, 0, 0));
  EXPECT_FALSE(a.Answer(a.VoteFor("c", 9, 9, 9)).has_vote_reply());
  EXPECT_EQ(a->term(), 1u);
  for (int i = 0; i < 10; ++i) a->Tick();
  EXPECT_TRUE(a.Answer(a.VoteFor("c", 9, 9, 9)).vote_reply().granted());
}

TEST(CheckQuorum, ALeaderThatAsksForVotesIsNotTakenForALeader) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Crash("a");
  group.Restart("a");  // the others have just heard it
  while (group["a"].role() == RaftRole::kFollower) group.Tick("a");
  group.Settle();
  EXPECT_EQ(group["a"].role(), RaftRole::kLeader);
}

TEST(Identity, AMemberWithNothingIsSilent) {
  LoneMember a({});
  for (int i = 0; i < 100; ++i) a->Tick();
  a.Work();
  EXPECT_TRUE(a.said.empty());
  EXPECT_FALSE(a.Answer(a.VoteFor("b", 5, 9, 5)).has_vote_reply());
}

TEST(Identity, AnEmptiedDirectoryDoesNotAnswerForTheOneItReplaced) {
  Group group;
  group.Found({"a/1", "b/1", "c/1"});
  group.Elect("a/1");
  group.Propose("a/1", "kept by a and b");
  group.lose = [](const RaftMessage& message) { return RegionOf(message.to()) == "c"; };
  group.Settle();
  group.lose = nullptr;
  group.Join("b/2");
  group.Crash("a/1");
  // c lacks what was committed. With the vote of the emptied b it would lead.
  for (int i = 0; i < 100; ++i) group.TickAll(), group.Settle();
  EXPECT_EQ(group.Leader(), nullptr);
  group.Restart("a/1");
  for (int i = 0; i < 100; ++i) group.TickAll(), group.Settle();
  EXPECT_EQ(group.At("c/1").applied, std::vector<std::string>{"kept by a and b"});
  EXPECT_EQ(group.broken, "");
}

}  // namespace
}  // namespace once
