// One test for each claim about compaction and snapshots: chapter 5 of the dissertation.
#include <gtest/gtest.h>

#include "tests/consensus/group.h"
#include "tests/consensus/lone_member.h"

namespace once {
namespace {

// c was away while the log was compacted.
class Snapshot : public testing::Test {
 protected:
  void SetUp() override {
    group.Found({"a", "b", "c"});
    group.Elect("a");
    group.Crash("c");
    for (int i = 0; i < 10; ++i) group.Propose("a", "x");
    group.Settle();
    group.Compact("a", 11);
    group.Restart("c");
  }
  // Delivers until a piece of a snapshot is next on the wire.
  void DeliverUntilChunk() {
    while (!group.wire.empty() && !group.wire[0].has_snapshot_chunk()) group.Deliver(0);
  }
  void Settle(int ticks) {
    for (int i = 0; i < ticks; ++i) group.Tick("a"), group.Settle();
  }

  Group group;
};

RaftMessage ChunkOf(LoneMember& member, std::uint64_t term, std::uint64_t index,
                    std::uint64_t index_term, std::uint64_t offset, bool last) {
  RaftMessage message = member.From("b", term);
  SnapshotChunk& chunk = *message.mutable_snapshot_chunk();
  chunk.mutable_meta()->set_index(index);
  chunk.mutable_meta()->set_term(index_term);
  chunk.mutable_meta()->mutable_membership()->add_voters("b");
  chunk.set_offset(offset);
  chunk.set_data("1234");
  chunk.set_last(last);
  return message;
}

TEST_F(Snapshot, AFollowerThatNeedsCompactedEntriesGetsTheStateInPieces) {
  std::string trace;
  group.trace = &trace;
  Settle(1);
  EXPECT_EQ(group.At("c").machine.applied, 11u);
  EXPECT_EQ(group.At("c").machine.digest, group.At("a").machine.digest);
  EXPECT_NE(trace.find("snapshot 11 from byte 7"), std::string::npos);
  EXPECT_NE(trace.find("c installs 11"), std::string::npos);
  EXPECT_TRUE(group.At("a").open_snapshots.empty()) << "released";
}

TEST_F(Snapshot, EntriesAfterItFollow) {
  group.Tick("a");
  DeliverUntilChunk();
  group.Propose("a", "later");
  Settle(1);
  EXPECT_EQ(group.At("c").applied, std::vector<std::string>{"later"});
}

TEST_F(Snapshot, ACrashInTheMiddleBeginsItAgain) {
  group.Tick("a");
  DeliverUntilChunk();
  group.Deliver(0);
  DeliverUntilChunk();
  group.Crash("c");
  group.Restart("c");
  EXPECT_EQ(group["c"].log().last_index(), 1u) << "nothing of it is in the state";
  Settle(30);
  EXPECT_EQ(group.At("c").machine.digest, group.At("a").machine.digest);
}

TEST_F(Snapshot, ALostPieceIsSentAgain) {
  group.Tick("a");
  DeliverUntilChunk();
  group.wire.clear();
  Settle(30);
  EXPECT_EQ(group.At("c").machine.applied, 11u);
}

TEST_F(Snapshot, ADriverThatDoesNotHaveThePieceAnyMoreBeginsAnother) {
  group.Tick("a");
  DeliverUntilChunk();
  group.Deliver(0);
  std::string trace;
  group.trace = &trace;
  group.snapshot_lost = true;
  Settle(1);
  EXPECT_FALSE(group.snapshot_lost);
  EXPECT_LT(trace.find("snapshot 11 from byte 0"), trace.find("snapshot 11 from byte 7"));
  EXPECT_EQ(group.At("c").machine.digest, group.At("a").machine.digest);
}

TEST_F(Snapshot, ALeaderThatDiesInTheMiddleIsFollowedByAnother) {
  group.Tick("a");
  DeliverUntilChunk();
  group.Deliver(0);
  group.Crash("a");
  group.wire.clear();
  group.Compact("b", 11);
  for (int i = 0; i < 100; ++i) group.TickAll(), group.Settle();
  EXPECT_GE(group.At("c").machine.applied, 12u);
  EXPECT_EQ(group.broken, "");
}

TEST_F(Snapshot, OneThatIsSilentGetsNoneBeforeItIsHeard) {
  group.Crash("c");
  const int timeout = static_cast<int>(RaftOptions().election_ticks);
  Settle(2 * timeout);  // counted as silent
  for (int i = 0; i < 10; ++i) group.Propose("a", "x");
  group.Settle();
  group.Compact("a", 21);
  Settle(10 * timeout);
  EXPECT_TRUE(group.At("a").open_snapshots.empty());
  group.Restart("c");
  Settle(5);
  EXPECT_EQ(group.At("c").machine.applied, 21u);
}

TEST_F(Snapshot, OneThatFallsSilentGivesItsSnapshotBack) {
  const int timeout = static_cast<int>(RaftOptions().election_ticks);
  group.Tick("a");
  DeliverUntilChunk();
  group.Deliver(0);
  group.Crash("c");
  Settle(5 * timeout);
  EXPECT_EQ(group.At("a").open_snapshots.size(), 1u) << "it may only be slow";
  Settle(30 * timeout);
  EXPECT_TRUE(group.At("a").open_snapshots.empty());
  group.Restart("c");
  Settle(5);
  EXPECT_EQ(group.At("c").machine.digest, group.At("a").machine.digest);
}

TEST_F(Snapshot, CompactionWaitsForTheFollowerThatIsBeingSentOne) {
  group.Tick("a");
  DeliverUntilChunk();
  group.lose = [](const RaftMessage& message) { return message.to() == "c"; };
  for (int i = 0; i < 5; ++i) group.Propose("a", "y");
  group.Settle();
  group.Compact("a", 16);
  EXPECT_EQ(group["a"].log().snapshot_index(), 11u);
}

TEST_F(Snapshot, OneThatIsGivenUpHoldsNothingBackAndAnotherFollows) {
  group.Tick("a");
  DeliverUntilChunk();
  group.lose = [](const RaftMessage& message) { return message.to() == "c"; };
  for (int i = 0; i < 5; ++i) group.Propose("a", "y");
  group.Settle();
  EXPECT_EQ(group["a"].GiveUpSnapshots(11), 0u) << "that is as far as it goes";
  EXPECT_EQ(group["a"].GiveUpSnapshots(16), 1u);
  group.Compact("a", 16);
  EXPECT_EQ(group["a"].log().snapshot_index(), 16u);
  group.lose = nullptr;
  Settle(5);
  EXPECT_EQ(group.At("c").machine.digest, group.At("a").machine.digest);
  EXPECT_TRUE(group.At("a").open_snapshots.empty());
}

TEST(SnapshotRules, WhatEveryMemberHasIsKnownToAllAndStandsStillWhileOneIsAway) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  const auto settle = [&group] {
    group.Settle();
    for (int i = 0; i < 3; ++i) group.Tick("a"), group.Settle();
  };
  const auto everywhere = [&group](const char* name) { return group.At(name).raft->everywhere(); };
  group.Propose("a", "x");
  settle();
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(everywhere(name), 2u) << name;

  group.Crash("c");
  for (int i = 0; i < 5; ++i) group.Propose("a", "x");
  settle();
  for (const char* name : {"a", "b"}) EXPECT_EQ(everywhere(name), 2u) << name;

  group.Restart("c");
  settle();
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(everywhere(name), 7u) << name;
}

TEST(SnapshotRules, OneThatIsOlderThanWhatIsCommittedChangesNothing) {
  LoneMember a(DiskOf(1, {1, 1, 1}));
  a.Answer(a.AppendBy("b", 1, 3, 1, {}, 3));
  const RaftMessage answer = a.Answer(ChunkOf(a, 1, 2, 1, 0, true));
  EXPECT_EQ(answer.append_reply().match(), 3u);
  EXPECT_EQ(a.Terms(), "111");
  EXPECT_EQ(a->membership().voters_size(), 3);
}

TEST(SnapshotRules, OneThatTheLogContainsCommitsAndKeepsWhatFollows) {
  LoneMember a(DiskOf(1, {1, 1, 1}));
  a.Answer(ChunkOf(a, 1, 2, 1, 0, true));
  EXPECT_EQ(a->commit(), 2u);
  EXPECT_EQ(a.Terms(), "111");
}

TEST(SnapshotRules, OneThatContradictsTheLogReplacesIt) {
  LoneMember a(DiskOf(2, {1, 1, 1}));
  a->Step(ChunkOf(a, 2, 2, 2, 0, true));
  const auto work = a->TakeWork();
  ASSERT_TRUE(work->install);
  EXPECT_TRUE(work->must_sync);
  EXPECT_TRUE(work->send_at_once.empty());
  EXPECT_EQ(work->send_when_durable[0].append_reply().match(), 2u);
  EXPECT_EQ(a->log().last_index(), 2u);
  EXPECT_EQ(a->membership().voters(0), "b");
}

TEST(SnapshotRules, APieceOutOfPlaceIsNotStaged) {
  LoneMember a(DiskOf(1, {}));
  EXPECT_EQ(a.Answer(ChunkOf(a, 1, 9, 1, 4, false)).snapshot_reply().next_offset(), 0u);
  EXPECT_EQ(a.Answer(ChunkOf(a, 1, 9, 1, 0, false)).snapshot_reply().next_offset(), 4u);
  EXPECT_EQ(a.Answer(ChunkOf(a, 1, 9, 1, 8, true)).snapshot_reply().next_offset(), 4u);
  EXPECT_EQ(a.Answer(ChunkOf(a, 1, 8, 1, 4, true)).snapshot_reply().next_offset(), 0u) << "another";
  EXPECT_EQ(a.Answer(ChunkOf(a, 2, 9, 1, 4, true)).snapshot_reply().next_offset(), 0u)
      << "the same index in another term may be other bytes";
  EXPECT_EQ(a->log().last_index(), 0u);
}

TEST(SnapshotRules, AMemberGoesOnFromACompactedLog) {
  Group group;
  group.Found({"a", "b", "c"});
  group.Elect("a");
  group.Propose("a", "x");
  group.Settle();
  for (const char* name : {"a", "b", "c"}) group.Compact(name, 2);
  for (const char* name : {"a", "b", "c"}) group.Restart(name);
  group.Elect("b");
  EXPECT_TRUE(group.Propose("b", "y").accepted());
  group.Settle();
  EXPECT_EQ(group.At("c").applied, std::vector<std::string>{"y"});
}

}  // namespace
}  // namespace once
