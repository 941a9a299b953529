// One test for each claim about the log: sections 3.5, 3.6.2 and 10.2 of the dissertation.
#include <gtest/gtest.h>

#include "tests/consensus/figure_8.h"
#include "tests/consensus/lone_member.h"

namespace once {
namespace {

using Values = std::vector<std::string>;

TEST(Replication, CommittedByAMajorityAndToldAtOnce) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Crash("c");
  const RaftVerdict verdict = group.Propose("a", "x");
  EXPECT_TRUE(verdict.accepted());
  EXPECT_EQ(verdict.index, 2u);
  group.Settle();  // no tick: the commit index does not wait for a heartbeat
  EXPECT_EQ(group.At("a").applied, Values{"x"});
  EXPECT_EQ(group.At("b").applied, Values{"x"});
}

TEST(Replication, NothingIsCommittedByAMinority) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Crash("b");
  group.Crash("c");
  group.Propose("a", "x");
  group.Tick("a", 5);
  group.Settle();
  EXPECT_EQ(group.At("a").applied, Values{});
}

TEST(Replication, OnlyALeaderTakesProposalsAndOthersNameIt) {
  Group group;
  group.Found({"a", "b", "c"});
  EXPECT_EQ(group.Propose("b", "x").leader, "");
  group.Elect("a");
  const RaftVerdict verdict = group.Propose("b", "x");
  EXPECT_EQ(verdict.refusal, RaftRefusal::kNotLeader);
  EXPECT_EQ(verdict.leader, "a");
}

TEST(Replication, TheLeaderSendsWhileItsDiskSyncsAndCountsItselfAfter) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Crash("c");
  group["a"].Propose("x");
  const auto work = group["a"].TakeWork();
  ASSERT_FALSE(work->send_at_once.empty());
  EXPECT_EQ(work->send_at_once[0].append().entries(0).data(), "x");
  group.Inject(work->send_at_once[0]);
  while (!group.wire.empty()) {
    group["a"].Step(group.wire[0]);
    group.wire.erase(group.wire.begin());
  }
  EXPECT_EQ(group["a"].commit(), 1u) << "b has it, a's own disk does not yet";
  group["a"].Persisted(work->number);
  EXPECT_EQ(group["a"].commit(), 2u);
}

TEST(Replication, AnEntryIsAcknowledgedOnlyWhenDurable) {
  LoneMember a(DiskOf(1, {}));
  a->Step(a.AppendBy("b", 1, 0, 0, {EntryOf(1, 1)}));
  const auto work = a->TakeWork();
  EXPECT_TRUE(work->must_sync);
  EXPECT_TRUE(work->send_at_once.empty());
  EXPECT_EQ(work->send_when_durable[0].append_reply().match(), 1u);
}

TEST(Replication, WhatIsAppliedIsDurableHere) {
  LoneMember a(DiskOf(1, {}));
  a->Step(a.AppendBy("b", 1, 0, 0, {EntryOf(1, 1)}, 1));
  const auto work = a->TakeWork();
  EXPECT_TRUE(work->apply.empty());
  a->Persisted(work->number);
  EXPECT_EQ(a->TakeWork()->apply.size(), 1u);
}

TEST(LogMatching, AnAppendThatDoesNotFitIsRejected) {
  LoneMember a(DiskOf(3, {1, 1, 2}));
  EXPECT_FALSE(a.Answer(a.AppendBy("b", 3, 3, 3)).append_reply().accepted()) << "another term";
  EXPECT_FALSE(a.Answer(a.AppendBy("b", 3, 4, 3)).append_reply().accepted()) << "a gap";
  EXPECT_TRUE(a.Answer(a.AppendBy("b", 3, 3, 2)).append_reply().accepted());
}

TEST(LogMatching, AConflictingTailIsReplaced) {
  LoneMember a(DiskOf(3, {1, 2, 2, 2}));
  a->Step(a.AppendBy("b", 4, 1, 1, {EntryOf(2, 3)}));
  const auto work = a->TakeWork();
  EXPECT_EQ(a.Terms(), "13");
  ASSERT_EQ(work->entries.size(), 1u);
  EXPECT_EQ(work->entries[0]->index(), 2u) << "what is stored from there on goes";
}

TEST(LogMatching, AnOldAppendDoesNotCutTheLog) {
  LoneMember a(DiskOf(1, {1, 1, 1}));
  EXPECT_EQ(a.Answer(a.AppendBy("b", 1, 0, 0, {EntryOf(1, 1)})).append_reply().match(), 1u);
  EXPECT_EQ(a.Terms(), "111");
}

TEST(LogMatching, TheCommitIndexDoesNotPassWhatTheMessageProved) {
  LoneMember a(DiskOf(2, {1, 1, 1}));
  a.Answer(a.AppendBy("b", 2, 1, 1, {}, 3));
  EXPECT_EQ(a->commit(), 1u) << "2 and 3 may differ from the leader's";
}

TEST(LogMatching, BackingUpTakesATripForATermNotForAnEntry) {
  Group group;
  RaftState longer = DiskOf(6, std::vector<std::uint64_t>(50, 5));
  RaftState other = DiskOf(6, std::vector<std::uint64_t>(40, 4));
  longer.entries[0].set_term(1);
  other.entries[0].set_term(1);
  group.StartWith("a", longer);
  group.StartWith("b", other);
  group.StartWith("c", longer);
  std::string trace;
  group.trace = &trace;
  group.Elect("a");
  group.Settle();
  std::size_t rejected = 0;
  for (std::size_t at = 0; (at = trace.find("no match", at)) != std::string::npos; ++at) ++rejected;
  EXPECT_LE(rejected, 3u);
  EXPECT_EQ(group["b"].commit(), 51u);
  EXPECT_EQ(group.broken, "");
}

TEST(CommitRule, Figure8AnEntryOfAnOldTermIsNotCommittedByCounting) {
  Group group(1, Figure8Options());
  TellFigure8UpToC(group);
  ASSERT_EQ(group["a"].term(), 3u);
  EXPECT_EQ(*group["b"].log().TermAt(2), 1u) << "a majority has it";
  EXPECT_EQ(group["a"].commit(), 1u) << "and still it is not committed";
  TellFigure8D(group);
  EXPECT_EQ(*group["b"].log().TermAt(2), 2u) << "because it may be replaced";
  EXPECT_EQ(group.broken, "");
}

TEST(CommitRule, Figure8AnEntryOfTheNewTermCommitsTheOldOneBelowIt) {
  Group group(1, Figure8Options());
  TellFigure8UpToC(group);
  group.lose = nullptr;
  group.Tick("a");
  group.Settle();
  EXPECT_EQ(group["a"].commit(), 3u);
  group.Crash("a");
  group.Restart("c");
  for (int i = 0; i < 100 && !group.Leader(); ++i) group.TickAll(), group.Settle();
  ASSERT_EQ(group.Leader(), &group["b"]) << "c can no longer win";
  EXPECT_EQ(group.At("c").applied, Values{"old"});
}

TEST(LeaderCompleteness, ANewLeaderCommitsWhatItsPredecessorLeft) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Propose("a", "x");
  while (!group.wire.empty() && group.wire[0].has_append()) group.Deliver(0);
  group.wire.clear();
  group.Crash("a");
  group.Elect("b");
  EXPECT_EQ(group.At("c").applied, Values{"x"}) << "without a new proposal: the no-op does it";
}

TEST(Flow, ManyProposalsGoInOneAppend) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  for (int i = 0; i < 10; ++i) group["a"].Propose("x");
  const auto work = group["a"].TakeWork();
  ASSERT_EQ(work->send_at_once.size(), 2u);
  EXPECT_EQ(work->send_at_once[0].append().entries_size(), 10);
  EXPECT_EQ(work->entries.size(), 10u);
}

TEST(Flow, TheWindowBoundsWhatIsOnItsWay) {
  RaftOptions options;
  options.window_messages_max = 3;
  options.append_bytes_max = 1;
  Group group(1, options);
  group.Found({"a", "b"});
  group.Elect("a");
  for (int i = 0; i < 10; ++i) group.Propose("a", "xx");
  EXPECT_EQ(group.wire.size(), 3u) << "one behind the other, without waiting";
  group.Settle();
  EXPECT_EQ(group.At("b").applied.size(), 10u);
}

TEST(Flow, TheWindowIsBoundedInBytesToo) {
  RaftOptions options;
  options.window_bytes_max = 4;
  options.append_bytes_max = 1;
  Group group(1, options);
  group.Found({"a", "b"});
  group.Elect("a");
  for (int i = 0; i < 10; ++i) group.Propose("a", "xx");
  EXPECT_EQ(group.wire.size(), 2u);
}

TEST(Flow, ALostAppendIsNoticedByTheNextHeartbeat) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Propose("a", "x");
  group.wire.clear();
  group.Propose("a", "y");
  group.wire.clear();
  group.Tick("a");
  group.Settle();
  EXPECT_EQ(group.At("b").applied, (Values{"x", "y"}));
}

TEST(Flow, ACommitToldLateGoesWithTheNextEntriesOrWhenTheDriverSaysSo) {
  RaftOptions options;
  options.commit_told_late = true;
  options.heartbeat_ticks = 5;
  Group group(1, options);
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Propose("a", "x");
  group.Settle();
  EXPECT_EQ(group.At("a").applied, Values{"x"});
  EXPECT_EQ(group.At("b").applied, Values{}) << "no message for the commit alone";
  EXPECT_TRUE(group["a"].has_untold_commit());
  group.Propose("a", "y");
  group.Settle();
  EXPECT_EQ(group.At("b").applied, Values{"x"}) << "told with the next entry";
  group["a"].TellCommit(group["a"].commit());
  group.Tick("a");
  group.Settle();
  EXPECT_EQ(group.At("b").applied, (Values{"x", "y"}));
  EXPECT_FALSE(group["a"].has_untold_commit());
  group["a"].TellCommit(group["a"].log().last_index() + 1);
  group.Propose("a", "z");
  group.Settle();
  EXPECT_EQ(group.At("b").applied, (Values{"x", "y", "z"})) << "whoever waits for it hears at once";
}

TEST(Flow, TooMuchUncommittedIsRefused) {
  RaftOptions options;
  options.uncommitted_bytes_max = 10;
  Group group(1, options);
  group.Found({"a", "b", "c"});
  group.Elect("a");
  EXPECT_TRUE(group.Propose("a", std::string(20, 'x')).accepted()) << "alone, whatever its size";
  EXPECT_EQ(group.Propose("a", "x").refusal, RaftRefusal::kUncommitted);
  group.Settle();
  EXPECT_TRUE(group.Propose("a", "x").accepted());
}

TEST(Disk, AnAcknowledgedWriteThatWasReplacedCountsNothing) {
  LoneMember a(DiskOf(1, {}));
  a->Step(a.AppendBy("b", 1, 0, 0, {EntryOf(1, 1), EntryOf(2, 1)}));
  const auto first = a->TakeWork();
  a->Step(a.AppendBy("c", 2, 1, 1, {EntryOf(2, 2)}));
  const auto second = a->TakeWork();
  a->Persisted(first->number);
  EXPECT_EQ(a->log().durable_index(), 1u);
  a->Persisted(second->number);
  EXPECT_EQ(a->log().durable_index(), 2u);
}

TEST(Wire, AMessageOfAnUnknownKindIsIgnored) {
  LoneMember a(DiskOf(1, {}));
  EXPECT_EQ(a.Answer(a.From("b", 1)).from(), "");
}

}  // namespace
}  // namespace once
