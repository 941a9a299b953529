// The driver of the Raft core: what is promised is durable, what is decided is applied once.
#include <algorithm>

#include "consensus/raft.pb.h"
#include "tests/strict/engine_world.h"

namespace once {
namespace {

class NativeEngineTest : public EngineWorldTest {
 protected:
  /// Who is down, and what the others have applied meanwhile: more than their logs hold. A state
  /// goes in many pieces.
  std::pair<std::string, std::string> LeaveOneFarBehind(std::uint64_t log_entries = 4) {
    AwaitLeader();
    options_.log_entries = log_entries;
    options_.chunk_bytes = 16;
    for (const char* region : {"ap", "eu", "us"}) {
      Crash(region);
      Start(region);
    }
    const std::string away = AwaitLeader() == "eu" ? "us" : "eu";
    Crash(away);
    std::string all;
    for (int i = 0; i < 40; ++i) {
      EXPECT_TRUE(Propose(std::to_string(i)));
      all += std::to_string(i) + ";";
      time_.RunFor(50);
    }
    return {away, all};
  }
};

TEST_F(NativeEngineTest, AFoundedGroupElectsOneLeaderAndAppliesInOneOrder) {
  EXPECT_TRUE(Propose("a"));
  EXPECT_TRUE(Propose("b"));
  EXPECT_TRUE(AllHave("a;b;"));
  for (auto& [region, member] : members_)
    EXPECT_EQ(member.engine->LeaderRegion(), Leader()) << region;
}

TEST_F(NativeEngineTest, AGroupIsFoundedOnce) {
  AwaitLeader();
  EXPECT_NE(members_["eu"].engine->Found({"eu/1"}), "");
  EXPECT_EQ(members_["eu"].engine->Found({"us/1", "eu/1", "ap/1"}), "") << "that is so already";
}

/// Two of three founders were founded, and went ahead.
class LateFounder : public EngineWorldTest {
 protected:
  void SetUp() override {
    for (const char* region : {"ap", "eu", "us"}) Start(region);
    for (const char* region : {"ap", "eu"})
      EXPECT_EQ(members_[region].engine->Found(founders_), "");
  }
  const std::vector<std::string> founders_ = {"ap/1", "eu/1", "us/1"};
};

TEST_F(LateFounder, VotesWhenOneOfTheOthersIsGone) {
  ASSERT_TRUE(Propose("a"));
  ASSERT_TRUE(AllHave("a;"));
  Crash(Leader());
  EXPECT_TRUE(Propose("b"));
  EXPECT_TRUE(AllHave("a;b;"));
}

TEST_F(LateFounder, MayBeFoundedWhenTheLogHasTakenItIn) {
  ASSERT_TRUE(Propose("a"));
  ASSERT_TRUE(AllHave("a;"));
  EXPECT_EQ(members_["us"].engine->Found(founders_), "");
  EXPECT_NE(members_["us"].engine->Found({"us/1"}), "");
  EXPECT_TRUE(Propose("b"));
  EXPECT_TRUE(AllHave("a;b;"));
}

TEST_F(LateFounder, StaysInTheTermThatItHasHeardOf) {
  // It hears leaders, and gets nothing from them.
  const std::string leader = AwaitLeader();
  const std::uint64_t term = members_[leader].engine->Status().term;
  RaftMessage heartbeat;
  heartbeat.set_format(1);
  heartbeat.set_from(leader + "/1");
  heartbeat.set_to("us/1");
  heartbeat.set_term(term + 1);
  heartbeat.mutable_append();
  Isolate("us");
  Crash("us");
  Start("us");
  members_["us"].engine->Receive(leader, heartbeat.SerializeAsString());
  ASSERT_EQ(members_["us"].engine->Status().term, term + 1);
  ASSERT_EQ(members_["us"].engine->Status().last, 0u);
  ASSERT_EQ(members_["us"].engine->Found(founders_), "");
  ASSERT_TRUE(RunUntil([&] { return members_["us"].engine->Status().members.size() == 3; }));
  EXPECT_GE(members_["us"].engine->Status().term, term + 1);
}

TEST_F(NativeEngineTest, S_19_AfterACrashOfAllNothingIsLostAndNothingAppliedTwice) {
  std::string all;
  for (int round = 0; round < 8; ++round) {
    const std::string batch = "batch" + std::to_string(round);
    ASSERT_TRUE(Propose(batch));
    all += batch + ";";
    ASSERT_TRUE(AllHave(all)) << round;
    for (const char* region : {"ap", "eu", "us"}) Crash(region);
    for (const char* region : {"ap", "eu", "us"}) Start(region);
  }
  EXPECT_TRUE(AllHave(all));
}

TEST_F(NativeEngineTest, WhatHasGatheredIsStoredSoonEveryTime) {
  std::string all;
  for (int times = 1; times <= 3; ++times) {
    AwaitLeader();
    for (auto& [region, member] : members_) {
      member.state->should_store = true;
      member.state->stored = 0;
    }
    ASSERT_TRUE(Propose("a"));
    all += "a;";
    ASSERT_TRUE(AllHave(all));
    EXPECT_TRUE(RunUntil([this] {
      return std::all_of(members_.begin(), members_.end(),
                         [](const auto& each) { return each.second.state->stored == 1; });
    })) << times;
  }
}

TEST_F(NativeEngineTest, AFollowerAppliesSoonAfterItAcknowledgedWithoutBeingToldAgain) {
  ASSERT_TRUE(Propose("a"));
  ASSERT_TRUE(AllHave("a;"));
  const std::string leader = Leader();
  const std::string follower = leader == "eu" ? "us" : "eu";
  for (const std::string batch : {"b", "c"}) {
    const std::uint64_t last = members_[leader].engine->Status().last + 1;
    ASSERT_TRUE(Propose(batch));
    // The decision about one travels with the next.
    ASSERT_TRUE(RunUntil([&] {
      return batch == "b" ? members_[leader].engine->Status().committed == last
                          : members_[follower].engine->Status().last == last;
    }));
  }
  Isolate(follower);
  EXPECT_EQ(members_[follower].state->Batches(), "a;");
  EXPECT_TRUE(time_.RunUntil([&] { return members_[follower].state->Batches() == "a;b;"; }, 20));
}

TEST_F(NativeEngineTest, S_48_AMemberThatCannotReadWhatItStoresSaysSoAndBeginsAgain) {
  std::string all;
  for (const std::string region : {"ap", "eu", "us"}) {  // one of them leads
    all += "before " + region + ";";
    ASSERT_TRUE(Propose("before " + region));
    ASSERT_TRUE(AllHave(all));
    Remembering& state = *members_[region].state;
    const int before = state.rolled_back;
    state.should_store = state.store_fails = true;
    ASSERT_TRUE(Propose("for " + region));
    all += "for " + region + ";";
    ASSERT_TRUE(RunUntil([&] { return state.rolled_back > before; })) << region;
    EXPECT_TRUE(members_[region].engine->Status().unreadable) << region;
    EXPECT_TRUE(AllHave(all)) << region;
  }
  ASSERT_TRUE(Propose("after"));
  EXPECT_TRUE(AllHave(all + "after;"));
}

TEST_F(NativeEngineTest, AMinorityProposesInVainAndItsTailIsCutOff) {
  ASSERT_TRUE(Propose("a"));
  ASSERT_TRUE(AllHave("a;"));
  const std::string old = Leader();
  Isolate(old);
  ASSERT_TRUE(members_[old].engine->Propose("lost"));
  ASSERT_TRUE(RunUntil([&] { return !Leader().empty() && Leader() != old; }));
  ASSERT_TRUE(Propose("b"));
  network_.MendAll();
  EXPECT_TRUE(AllHave("a;b;"));
}

TEST_F(NativeEngineTest, S_27_AMemberThatIsFarBehindGetsASnapshotInPieces) {
  const auto [away, all] = LeaveOneFarBehind();
  Start(away);
  ASSERT_TRUE(AllHave(all));
  EXPECT_EQ(members_[away].state->installed, 1);
  Crash(away);
  Start(away);
  ASSERT_TRUE(Propose("on"));
  EXPECT_TRUE(AllHave(all + "on;"));
}

TEST_F(NativeEngineTest, WhatEveryMemberHasIsCutOffAndWhatOneLacksIsKept) {
  AwaitLeader();
  options_.log_entries = 100;
  for (const char* region : {"ap", "eu", "us"}) {
    Crash(region);
    Start(region);
  }
  const std::string away = AwaitLeader() == "eu" ? "us" : "eu";
  std::string all;
  const auto propose_some = [&] {
    for (int i = 0; i < 60; ++i) {
      ASSERT_TRUE(Propose("x"));
      all += "x;";
      time_.RunFor(20);
    }
  };
  const auto first = [&](const std::string& region) {
    return members_[region].engine->core()->log().snapshot_index();
  };
  propose_some();
  ASSERT_TRUE(AllHave(all));
  for (const char* region : {"ap", "eu", "us"}) EXPECT_GT(first(region), 30u) << region;

  const std::uint64_t before = first(Leader());
  Crash(away);
  propose_some();
  EXPECT_LT(first(Leader()), before + 30);
  Start(away);
  ASSERT_TRUE(AllHave(all));
  EXPECT_EQ(members_[away].state->installed, 0) << "the log was enough";
  EXPECT_TRUE(RunUntil([&] { return first(Leader()) > before + 60; }));
}

TEST_F(NativeEngineTest, S_27_S_50_ASlowDiskIsNotSentTheNextPieceBeforeItHasTheLast) {
  const auto [away, all] = LeaveOneFarBehind();
  members_[away].disk->SetSyncDelay(60'000);
  Start(away);
  Member& slow = members_[away];
  ASSERT_TRUE(RunUntil([&slow] { return slow.state->staged == 1; }));
  time_.RunFor(5'000);
  EXPECT_EQ(slow.state->staged, 1);
  slow.disk->SetSyncDelay(0);
  EXPECT_TRUE(AllHave(all));
}

TEST_F(NativeEngineTest, S_27_S_50_ASnapshotThatIsTooSlowForTheLogIsGivenUpAndAnotherFollows) {
  options_.log_bytes_max = 40;
  const std::uint64_t most = options_.snapshot_logs * options_.log_bytes_max;
  auto [away, all] = LeaveOneFarBehind(1000);
  members_[away].disk->SetSyncDelay(300);
  Start(away);
  const NativeEngine& leader = *members_[AwaitLeader()].engine;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(Propose("more"));
    all += "more;";
    time_.RunFor(50);
    ASSERT_LE(leader.core()->log().bytes(), most + 40) << i;  // some is not decided
  }
  EXPECT_GT(leader.Status().snapshots_given_up, 0u);
  EXPECT_EQ(members_[away].state->installed, 0);
  members_[away].disk->SetSyncDelay(0);
  EXPECT_TRUE(AllHave(all));
}

TEST_F(NativeEngineTest, AnEntryOfALaterVersionEndsTheMembersPartUntilItIsUpgraded) {
  ASSERT_TRUE(Propose("a"));
  ASSERT_TRUE(AllHave("a;"));
  const std::string old = Leader() == "eu" ? "us" : "eu";
  members_[old].state->unknown = "b";
  ASSERT_TRUE(Propose("b"));
  ASSERT_TRUE(RunUntil([&] { return members_[old].engine->Status().outdated; }));
  ASSERT_TRUE(Propose("c"));
  time_.RunFor(5000);
  EXPECT_EQ(members_[old].state->Batches(), "a;");
  EXPECT_EQ(members_[old].engine->Status().role, EngineRole::kStopped);
  Stop(old);
  Start(old);
  EXPECT_TRUE(AllHave("a;b;c;"));
  EXPECT_FALSE(members_[old].engine->Status().outdated);
}

TEST_F(NativeEngineTest, S_47_AFullDiskSilencesAMemberUntilThereIsSpace) {
  ASSERT_TRUE(Propose("a"));
  ASSERT_TRUE(AllHave("a;"));
  const std::string full = Leader();
  members_[full].disk->SetFull(true);
  members_[full].engine->Propose("b");
  ASSERT_TRUE(RunUntil([&] { return members_[full].state->rolled_back > 0; }));
  ASSERT_TRUE(RunUntil([&] { return !Leader().empty() && Leader() != full; }));
  ASSERT_TRUE(Propose("c"));
  members_[full].disk->SetFull(false);
  EXPECT_TRUE(RunUntil([&] {
    return members_["ap"].state->Batches() == members_["eu"].state->Batches() &&
           members_["us"].state->Batches() == members_["eu"].state->Batches() &&
           members_["eu"].state->Batches().ends_with("c;");
  }));
}

TEST_F(NativeEngineTest, S_46_AFailedSyncSilencesAMemberForGood) {
  const std::string failed = AwaitLeader();
  members_[failed].disk->FailNextSync();
  members_[failed].engine->Propose("a");
  ASSERT_TRUE(RunUntil([&] { return !Leader().empty() && Leader() != failed; }));
  time_.RunFor(5000);
  EXPECT_EQ(members_[failed].engine->Status().role, EngineRole::kStopped);
  EXPECT_FALSE(members_[failed].engine->Propose("b"));
}

TEST_F(NativeEngineTest, AnAcknowledgementIsSentOnlyWhenItIsDurable) {
  const std::string leader = AwaitLeader();
  for (auto& [region, member] : members_)
    if (region != leader) member.disk->SetSyncDelay(300);
  ASSERT_TRUE(Propose("a"));
  time_.RunFor(250);
  EXPECT_EQ(members_[leader].state->Batches(), "");
  EXPECT_TRUE(AllHave("a;"));
}

TEST_F(NativeEngineTest, S_30_S_49_AnEmptiedDirectoryIsAnotherMemberAndJoinsAsALearner) {
  ASSERT_TRUE(Propose("a"));
  ASSERT_TRUE(AllHave("a;"));
  const std::string emptied = Leader() == "eu" ? "us" : "eu";
  Stop(emptied);
  members_[emptied].disk = std::make_unique<MemoryDisk>();
  members_[emptied].identity = "2";
  Start(emptied);
  time_.RunFor(5000);
  EXPECT_EQ(members_[emptied].state->Batches(), "");
  EXPECT_EQ(members_[emptied].engine->Status().term, 0u);

  using Kind = MemberChange::Kind;
  const auto change = [&](Kind kind, const std::string& member) {
    return RunUntil([&] { return members_[AwaitLeader()].engine->Change({kind, member}).empty(); });
  };
  ASSERT_TRUE(change(Kind::kAdd, emptied + "/2"));
  EXPECT_TRUE(AllHave("a;"));
  ASSERT_TRUE(change(Kind::kRemove, emptied + "/1"));
  ASSERT_TRUE(change(Kind::kPromote, emptied + "/2"));
  time_.RunFor(1000);
  const EngineStatus status = members_[emptied].engine->Status();
  ASSERT_EQ(status.members.size(), 3u);
  for (const EngineMember& member : status.members) EXPECT_TRUE(member.voter) << member.name;
}

TEST_F(NativeEngineTest, LeadershipIsHandedOverOnRequest) {
  const std::string old = AwaitLeader();
  const std::string next = old == "eu" ? "us" : "eu";
  EXPECT_EQ(members_[old].engine->Transfer(old + "/1"), "this member leads already");
  EXPECT_EQ(members_[old].engine->Transfer("nowhere/1"), "there is no such voter");
  EXPECT_EQ(members_[old].engine->Transfer(next + "/1"), "");
  EXPECT_TRUE(RunUntil([&] { return Leader() == next; }));
  EXPECT_NE(members_[old].engine->Transfer(next + "/1"), "");
}

TEST_F(NativeEngineTest, S_23_ADeposedLeaderConfirmsNoRead) {
  ASSERT_TRUE(Propose("a"));
  ASSERT_TRUE(AllHave("a;"));
  const std::string old = Leader();
  std::optional<std::uint64_t> index;
  members_[old].engine->ReadIndex([&](auto known) { index = known; });
  ASSERT_TRUE(RunUntil([&] { return index.has_value(); }));
  EXPECT_EQ(*index, members_[old].engine->Status().applied);

  Isolate(old);
  std::optional<bool> confirmed;
  members_[old].engine->ReadIndex([&](auto known) { confirmed = known.has_value(); });
  ASSERT_TRUE(RunUntil([&] { return confirmed.has_value(); }));
  EXPECT_FALSE(*confirmed);
}

TEST_F(NativeEngineTest, S_46_AMemberWhoseStoreFailedForOthersIsSilentAtItsNextWrite) {
  const std::string failed = AwaitLeader();
  Member& member = members_[failed];
  member.disk->FailNextSync();
  member.tables->PutRaw("Zother", "x");
  bool done = false;
  member.commit->WhenAllDurable([&done](Durable) { done = true; });
  ASSERT_TRUE(RunUntil([&done] { return done; }, 40));
  member.engine->Propose("a");
  EXPECT_EQ(member.engine->core(), nullptr);
  EXPECT_EQ(member.state->Batches(), "");
}

class Malformed : public EngineWorldTest {
 protected:
  /// Says it to the leader, as a message of the region "hostile".
  void Expect(RaftMessage message, bool refused) {
    const std::string leader = AwaitLeader();
    NativeEngine& engine = *members_[leader].engine;
    const std::uint64_t before = engine.Status().refused;
    message.set_to(leader + "/1");
    engine.Receive(hostile_, message.SerializeAsString());
    EXPECT_EQ(engine.Status().refused, before + refused) << message.ShortDebugString();
  }
  RaftMessage Message() {
    const std::string leader = AwaitLeader();
    hostile_ = leader == "eu" ? "us" : "eu";
    RaftMessage message;
    message.set_format(1);
    message.set_from(hostile_ + "/1");
    message.set_term(members_[leader].engine->Status().term + 1);
    return message;
  }
  std::string hostile_;
};

TEST_F(Malformed, IsRefusedAndCountedAndTheGroupGoesOn) {
  ASSERT_TRUE(Propose("a"));
  ASSERT_TRUE(AllHave("a;"));
  RaftMessage message = Message();
  message.set_from("ap");
  Expect(message, true);  // no member's name
  message = Message();
  message.set_from("elsewhere/1");
  Expect(message, true);  // not of the region that the channel proves
  message = Message();
  message.set_term(message.term() - 1);
  message.mutable_append();
  Expect(message, true);  // a second leader of the term
  message = Message();
  message.mutable_append()->add_entries()->set_index(9);
  Expect(message, true);  // a gap
  message = Message();
  message.mutable_append()->set_prev_term(UINT64_MAX);
  Expect(message, true);
  message = Message();
  message.mutable_append()->add_entries()->set_index(1);
  message.mutable_append()->mutable_entries(0)->set_kind(MEMBERSHIP);
  Expect(message, true);  // nobody would be left to vote
  message = Message();
  message.mutable_snapshot_chunk()->set_last(true);
  Expect(message, true);  // of nothing
  message = Message();
  message.mutable_append_reply()->set_match(UINT64_MAX);
  Expect(message, true);
  for (auto& [region, member] : members_) member.engine->Receive("ap", "\x0a\xff garbage");
  ASSERT_TRUE(Propose("b"));
  EXPECT_TRUE(AllHave("a;b;"));
}

TEST_F(Malformed, ASnapshotThatIsNoneIsRefusedAndTheMemberComesBack) {
  ASSERT_TRUE(Propose("a"));
  ASSERT_TRUE(AllHave("a;"));
  RaftMessage message = Message();
  SnapshotChunk& chunk = *message.mutable_snapshot_chunk();
  chunk.mutable_meta()->set_index(1000);
  chunk.mutable_meta()->set_term(1);
  chunk.mutable_meta()->mutable_membership()->add_voters("eu/1");
  chunk.set_data("nothing");
  chunk.set_last(true);
  Expect(message, true);
  ASSERT_TRUE(Propose("b"));
  EXPECT_TRUE(AllHave("a;b;"));
}

}  // namespace
}  // namespace once
