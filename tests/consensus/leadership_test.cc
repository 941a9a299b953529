// One test for each claim about reads (section 6.4), about handing leadership over (3.10), and
// about leaders whose disks hang.
#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "tests/consensus/group.h"

namespace once {
namespace {

class Led : public testing::Test {
 protected:
  void SetUp() override {
    group.Found({"a", "b", "c"});
    group.Elect("a");
  }
  Group group;
};

using ReadIndex = Led;
using Transfer = Led;

// A leader whose own disk stores nothing from now on; all others' do.
class HungDisk : public Led {
 protected:
  void SetUp() override {
    Led::SetUp();
    group.hangs = {"a"};
  }
  void Pass(int ticks) {
    for (int i = 0; i < ticks; ++i) group.TickAll(), group.Settle();
  }
  const int timeout_ = static_cast<int>(RaftOptions().election_ticks);
};

TEST_F(ReadIndex, IsConfirmedByAMajority) {
  group.Propose("a", "x");
  group.Settle();
  group.Crash("c");
  group.Read("a", "r");
  EXPECT_TRUE(group.At("a").reads.empty()) << "not by the leader alone";
  group.Settle();
  ASSERT_EQ(group.At("a").reads.size(), 1u);
  EXPECT_TRUE(group.At("a").reads[0].confirmed);
  EXPECT_EQ(group.At("a").reads[0].index, 2u);
}

TEST_F(ReadIndex, ADeposedLeaderDoesNotAnswer) {
  group.Isolate("a");
  group.Elect("b");
  group.Propose("b", "new");
  group.Settle();
  ASSERT_EQ(group["a"].role(), RaftRole::kLeader) << "it does not know";
  group.Read("a", "r");
  group.Settle();
  EXPECT_TRUE(group.At("a").reads.empty());
  group.Heal();
  group.Tick("b"), group.Tick("a");
  group.Settle();
  ASSERT_EQ(group.At("a").reads.size(), 1u);
  EXPECT_FALSE(group.At("a").reads[0].confirmed);
}

TEST_F(ReadIndex, AnswersOfAnEarlierRoundDoNotCount) {
  group.Read("a", "first");
  const std::vector<RaftMessage> first = group.wire;
  group.Settle();
  group.Read("a", "second");
  group.wire = first;  // the first round again, and nothing of the second
  group.Settle();
  EXPECT_EQ(group.At("a").reads.size(), 1u);
}

TEST_F(ReadIndex, WaitsForTheTermsFirstCommit) {
  group.Propose("a", "x");
  group.Settle();
  group.Crash("a");
  group.lose = [](const RaftMessage& message) { return message.has_append(); };
  group.Elect("b");
  ASSERT_EQ(group["b"].role(), RaftRole::kLeader);
  group.Read("b", "r");
  group.Settle();
  EXPECT_TRUE(group.At("b").reads.empty());
  group.lose = nullptr;
  group.Tick("b");
  group.Settle();
  ASSERT_EQ(group.At("b").reads.size(), 1u);
  EXPECT_GE(group.At("b").reads[0].index, 3u);
}

TEST_F(ReadIndex, ManyReadsShareARound) {
  for (int i = 0; i < 10; ++i) group["a"].ReadIndex("r");
  const auto work = group["a"].TakeWork();
  EXPECT_EQ(work->send_at_once.size(), 2u);
}

TEST_F(ReadIndex, ALateAppendOfAnEarlierTermConfirmsNothing) {
  for (int i = 0; i < 5; ++i) group.Read("a", "r"), group.Settle();
  std::deque<RaftMessage> late;
  group.lose = [&late](const RaftMessage& message) {
    if (message.has_append()) late.push_back(message);
    return message.has_append();
  };
  group.Read("a", "r");  // round 6, which nobody has heard of yet
  group.Settle();
  group.lose = nullptr;
  ASSERT_FALSE(late.empty());
  group.Crash("a");
  group.Restart("a");
  group.Elect("a");  // counts its rounds anew
  group.Settle();
  group.wire.insert(group.wire.end(), late.begin(), late.end());
  group.Settle();
  group.lose = [](const RaftMessage& message) { return message.from() != "a"; };
  group.At("a").reads.clear();
  group.Read("a", "alone");
  group.Settle();
  EXPECT_TRUE(group.At("a").reads.empty()) << "nobody has confirmed that it leads";
}

TEST_F(ReadIndex, AnAnswerToARoundThatIsNotBegunIsIgnored) {
  group.lose = [](const RaftMessage& message) { return message.to() == "a"; };
  group.Settle();
  RaftMessage reply;
  reply.set_from("b");
  reply.set_to("a");
  reply.set_term(group["a"].term());
  reply.mutable_append_reply()->set_accepted(true);
  reply.mutable_append_reply()->set_read_round(100);
  group["a"].Step(reply);
  group.Read("a", "r");
  group.Settle();
  EXPECT_TRUE(group.At("a").reads.empty());
}

TEST_F(ReadIndex, OnlyALeaderTakesThem) {
  const RaftVerdict verdict = group.Read("b", "r");
  EXPECT_EQ(verdict.refusal, RaftRefusal::kNotLeader);
  EXPECT_EQ(verdict.leader, "a");
}

TEST_F(Transfer, TheSuccessorLeadsWithoutWaiting) {
  EXPECT_TRUE(group.Transfer("a", "b").accepted());
  group.Settle();  // no tick
  EXPECT_EQ(group["b"].role(), RaftRole::kLeader);
  EXPECT_EQ(group["a"].leader(), "b");
  EXPECT_EQ(group["b"].term(), 2u);
}

TEST_F(Transfer, TheSuccessorFirstGetsTheWholeLog) {
  group.Propose("a", "x");
  group.Transfer("a", "b");
  EXPECT_EQ(group.Propose("a", "y").refusal, RaftRefusal::kTransferring);
  group.Settle();
  EXPECT_EQ(group["b"].role(), RaftRole::kLeader);
  EXPECT_EQ(group.At("c").applied, std::vector<std::string>{"x"});
}

TEST_F(Transfer, IsGivenUpAfterAnElectionTimeout) {
  group.Crash("b");
  group.Transfer("a", "b");
  group.Settle();
  EXPECT_EQ(group.Propose("a", "x").refusal, RaftRefusal::kTransferring);
  for (int i = 0; i < 10; ++i) group.Tick("a"), group.Settle();
  EXPECT_TRUE(group.Propose("a", "x").accepted());
}

TEST_F(Transfer, OnlyToAnotherVoter) {
  EXPECT_EQ(group.Transfer("a", "a").refusal, RaftRefusal::kInvalid);
  EXPECT_EQ(group.Transfer("a", "z").refusal, RaftRefusal::kInvalid);
  EXPECT_EQ(group.Transfer("b", "c").refusal, RaftRefusal::kNotLeader);
}

TEST_F(Transfer, WhoGivesWayPassesOverASilentMember) {
  for (const char* dead : {"b", "c"}) {
    Group group;
    group.Found({"a", "b", "c"});
    group.Elect("a");
    group.Crash(dead);  // in a quiet moment: it has the whole log
    for (int i = 0; i < 11; ++i) group.Tick("a"), group.Settle();
    group.GiveWay("a");
    group.Settle();  // no tick
    ASSERT_NE(group.Leader(), nullptr) << dead;
    EXPECT_NE(group.Leader()->name(), "a") << dead;
  }
}

TEST_F(Transfer, WhoGivesWayAsksTheNextWhenTheFirstDoesNotTakeOver) {
  std::set<std::string> asked;
  group.lose = [&asked](const RaftMessage& message) {
    if (message.has_timeout_now()) asked.insert(message.to());
    return message.has_timeout_now() && asked.size() < 2;
  };
  group.GiveWay("a");
  for (int i = 0; i < 12; ++i) group.TickAll(), group.Settle();
  EXPECT_EQ(asked.size(), 2u);
  ASSERT_NE(group.Leader(), nullptr);
  EXPECT_NE(group.Leader()->name(), "a");
}

TEST_F(Transfer, WhoGivesWayAndFindsNobodyStepsDown) {
  group.lose = [](const RaftMessage& message) { return message.has_timeout_now(); };
  group.GiveWay("a");
  for (int i = 0; i < 21; ++i) group.Tick("a"), group.Settle();
  EXPECT_EQ(group["a"].role(), RaftRole::kFollower);
}

TEST_F(Transfer, TheOnlyVoterDoesNotGiveWay) {
  Group alone;
  alone.Found({"a"});
  alone.Elect("a");
  alone.GiveWay("a");
  alone.Tick("a", 40);
  EXPECT_EQ(alone["a"].term(), 1u);
}

TEST_F(HungDisk, OfALeaderMakesItHandOver) {
  group.Propose("a", "x");
  group.Settle();
  EXPECT_EQ(group.At("b").applied, std::vector<std::string>{"x"}) << "the others decided it";
  EXPECT_TRUE(group.At("a").applied.empty()) << "its own disk has not";
  Pass(timeout_ + 2);
  Raft* const leader = group.Leader();
  ASSERT_NE(leader, nullptr);
  EXPECT_NE(leader->name(), "a");
  EXPECT_EQ(leader->term(), 2u) << "nobody had to wait for an election";
  EXPECT_EQ(group["a"].role(), RaftRole::kFollower);
}

// Any of the others may come first, and one of them has less.
TEST_F(HungDisk, OfALeaderMakesItHandOverToWhoHasMostOfTheLog) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Group five(seed);
    five.Found({"a", "b", "c", "d", "e"});
    five.Elect("a");
    five.hangs = {"a"};
    five.lose = [](const RaftMessage& message) {
      return message.to() == "e" && message.append().entries_size() > 0;
    };
    five.Propose("a", "x");
    for (int i = 0; i < timeout_ + 2; ++i) five.Settle(), five.TickAll();
    five.Settle();
    Raft* const leader = five.Leader();
    ASSERT_NE(leader, nullptr) << seed;
    EXPECT_NE(leader->name(), "a") << seed << ": e, which has less, was asked";
    EXPECT_NE(leader->name(), "e") << seed;
    EXPECT_EQ(leader->term(), 2u) << seed;
  }
}

TEST_F(HungDisk, OfALeaderWhoseSuccessorIsSilentEndsItsLeadership) {
  group.Propose("a", "x");
  group.Settle();
  group.lose = [](const RaftMessage& message) { return message.has_timeout_now(); };
  Pass(timeout_ + 2);
  EXPECT_EQ(group["a"].role(), RaftRole::kLeader) << "it may still be heard";
  Pass(timeout_);
  EXPECT_EQ(group["a"].role(), RaftRole::kFollower);
  Pass(3 * timeout_);
  ASSERT_NE(group.Leader(), nullptr);
  EXPECT_NE(group.Leader()->name(), "a");
}

TEST_F(HungDisk, KeepsItsMemberFromLeadingUntilItIsWell) {
  group.Propose("a", "x");
  group.Settle();
  Pass(2 * timeout_);
  const std::string next = group.Leader()->name();
  group.Crash(next);  // the two that are left could elect, if both had disks
  Pass(6 * timeout_);
  EXPECT_EQ(group.Leader(), nullptr);
  group.hangs.clear();
  Pass(6 * timeout_);
  EXPECT_NE(group.Leader(), nullptr);
  EXPECT_EQ(group.At("a").applied.at(0), "x");
}

TEST_F(HungDisk, OfALeaderThatNobodyCouldReplaceChangesNothing) {
  group.Crash("c");  // without a, b is no majority
  group.Propose("a", "x");
  group.Settle();
  Pass(4 * timeout_);
  EXPECT_EQ(group["a"].role(), RaftRole::kLeader);
  group.hangs.clear();
  Pass(1);
  EXPECT_EQ(group.At("a").applied, std::vector<std::string>{"x"});
  EXPECT_EQ(group["a"].term(), 1u);
}

TEST_F(HungDisk, ThatIsOnlySlowerThanOthersIsNone) {
  for (int i = 0; i < 5 * timeout_; ++i) {
    group.Propose("a", "x");  // the others always have more than its disk
    if (i % (timeout_ / 2) == 0)
      while (!group.At("a").writing.empty()) group.Sync("a");
    Pass(1);
  }
  EXPECT_EQ(group["a"].role(), RaftRole::kLeader);
  EXPECT_EQ(group["a"].term(), 1u);
}

}  // namespace
}  // namespace once
