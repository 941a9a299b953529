// What strict mode promises, whatever breaks.
#include "replica/strict/strict_routes.h"
#include "tests/strict/strict_story.h"

namespace once {
namespace {

using Kind = Answer::Kind;

TEST(Strict, OW_MB_01_AClaimIsVisibleInEveryRegionAtOnce) {
  StrictStory story;
  const std::string id = story.Claim("eu", "k");
  for (const char* region : {"ap", "eu", "us"}) {
    const Answer again = story.Begin(region, "k");
    EXPECT_EQ(again.kind, Kind::kReplay) << region;
    EXPECT_EQ(again.claim.run_id(), id);
  }
}

TEST(Strict, APendingClaimIsInFlightEverywhereAndSettledFromAnywhere) {
  StrictStory story;
  const Answer owned = story.Begin("eu", "k");
  ASSERT_EQ(owned.kind, Kind::kExecute);
  for (const char* region : {"ap", "eu", "us"})
    EXPECT_EQ(story.Begin(region, "k").kind, Kind::kInFlight) << region;
  EXPECT_EQ(story.Complete("us", owned).kind, Kind::kDone);
  EXPECT_EQ(story.Complete("ap", owned).kind, Kind::kReplay);
}

TEST(Strict, OW_CC_01_ConcurrentBeginsInAllRegionsHaveOneOwner) {
  StrictStory story;
  int executes = 0;
  int answers = 0;
  for (int i = 0; i < 30; ++i)
    story.cluster.Submit(story.cluster.regions()[static_cast<std::size_t>(i % 3)],
                         BeginCommand("acme", "k", 1, 2000, 3'600'000), [&](const Answer& answer) {
                           ++answers;
                           executes += answer.kind == Kind::kExecute;
                         });
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return answers == 30; }, 5000));
  EXPECT_EQ(executes, 1);
}

TEST(Strict, OtherTenantsAreBestEffortAndInTheOtherLedger) {
  StrictStory story;
  story.Claim("eu", "k");
  EXPECT_EQ(story.SlotIn("eu", "k"), nullptr);
  EXPECT_NE(story.StrictSlot("eu", "k"), nullptr);
  story.CutAll();
  EXPECT_EQ(story.Begin("eu", "k", 1, "other").kind, Kind::kExecute);
  EXPECT_NE(story.SlotIn("eu", "k", "other"), nullptr);
}

TEST(Strict, OW_MR_11_AMinorityRefusesAndStoresNothing) {
  StrictStory story;
  const std::string alone = story.Followers()[0];
  story.cluster.Partition({alone}, story.Others(alone));
  const std::int64_t before_us = story.cluster.time().MonotonicMicros();
  EXPECT_EQ(story.Begin(alone, "k").kind, Kind::kUnavailable);
  EXPECT_LE(story.cluster.time().MonotonicMicros() - before_us, 2'200'000);
  story.Run(5000);
  EXPECT_EQ(story.Begin(alone, "k").kind, Kind::kUnavailable);
  story.cluster.Heal();
  EXPECT_TRUE(story.AllEqual());
  EXPECT_EQ(story.StrictSlot(alone, "k"), nullptr);
  EXPECT_EQ(story.BeginPatiently("eu", "k").kind, Kind::kExecute);
}

TEST(Strict, OW_MR_11_ALeaderInTheMinorityRefusesAndTheMajorityGoesOn) {
  StrictStory story;
  const std::string old = story.Leader();
  story.cluster.Partition({old}, story.Others(old));
  std::optional<Answer> cut_off;
  story.cluster.Submit(old, BeginCommand("acme", "k", 1, 2000, 3'600'000),
                       [&](const Answer& answer) { cut_off = answer; });
  const std::string next = story.AwaitLeader(old);
  const Answer admitted = story.BeginPatiently(next, "k");
  EXPECT_EQ(admitted.kind, Kind::kExecute);
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return cut_off.has_value(); }, 5000));
  EXPECT_EQ(cut_off->kind, Kind::kUnavailable);
  story.cluster.Heal();
  EXPECT_TRUE(story.AllEqual());
  ASSERT_NE(story.StrictSlot(old, "k"), nullptr);
  EXPECT_EQ(story.StrictSlot(old, "k")->claims_size(), 1);
}

TEST(Strict, S_23_ADeposedLeaderNeverAnswersAStaleMiss) {
  StrictStory story;
  const std::string old = story.Leader();
  story.cluster.Partition({old}, story.Others(old));
  const std::string next = story.AwaitLeader(old);
  ASSERT_EQ(story.BeginPatiently(next, "k").kind, Kind::kExecute);
  EXPECT_EQ(story.Begin(old, "k").kind, Kind::kUnavailable);
  std::optional<bool> read;
  story.Group(old).Read([&](Tables&) { read = true; }, [&] { read = false; });
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return read.has_value(); }, 5000));
  EXPECT_FALSE(*read);
}

TEST(Strict, AFinalAnswerIsReplayedAlsoInTheMinority) {
  StrictStory story;
  const std::string id = story.Claim("eu", "k");
  ASSERT_TRUE(story.AllEqual());
  story.CutAll();
  for (const char* region : {"ap", "eu", "us"}) {
    EXPECT_EQ(story.Begin(region, "k").claim.run_id(), id) << region;
    EXPECT_EQ(story.Begin(region, "k", 2).kind, Kind::kMismatch) << region;
  }
}

TEST(Strict, S_19_S_44_WhatWasAcknowledgedOutlivesTheCrashOfAll) {
  StrictStory story;
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(story.Claim("eu", "k" + std::to_string(i)));
  for (const std::string& region : story.cluster.regions()) story.cluster.Crash(region);
  for (const std::string& region : story.cluster.regions()) story.cluster.Restart(region);
  story.AwaitLeader();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Answer again = story.BeginPatiently("us", "k" + std::to_string(i));
    EXPECT_EQ(again.kind, Kind::kReplay);
    EXPECT_EQ(again.claim.run_id(), ids[i]);
  }
  EXPECT_TRUE(story.AllEqual());
}

TEST(Strict, S_44_WhatWasAcknowledgedOutlivesTheLeader) {
  ClusterOptions options;
  options.lease_ms = 60'000;
  StrictStory story(options);
  for (int round = 0; round < 6; ++round) {
    const std::string key = "k" + std::to_string(round);
    const std::string leader = story.AwaitLeader();
    const std::string asker = round % 2 ? leader : story.Others(leader)[0];
    const Answer owned = story.BeginPatiently(asker, key);
    ASSERT_EQ(owned.kind, Kind::kExecute) << round;
    story.cluster.Crash(leader);
    const std::string next = story.AwaitLeader(leader);
    const Answer again = story.BeginPatiently(next, key);
    EXPECT_EQ(again.kind, Kind::kInFlight) << round;
    EXPECT_EQ(again.claim.run_id(), owned.claim.run_id());
    story.cluster.Restart(leader);
  }
  EXPECT_TRUE(story.AllEqual());
}

TEST(Strict, S_07_ARequestOutlivesTheLossOfItsLeader) {
  StrictStory story;
  const std::string leader = story.Leader();
  const std::string asker = story.Others(leader)[0];
  std::optional<Answer> answer;
  story.cluster.Submit(asker, BeginCommand("acme", "k", 1, 2000, 3'600'000),
                       [&](const Answer& a) { answer = a; });
  story.Run(1);
  story.cluster.Crash(leader);
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return answer.has_value(); }, 5000));
  EXPECT_EQ(answer->kind, Kind::kExecute);
}

TEST(Strict, S_09_LostAndRepeatedMessagesChangeNothing) {
  StrictStory story;
  LinkRules rules;
  rules.loss_percent = 20;
  rules.repeat_percent = 30;
  story.cluster.network().SetRules(rules);
  std::set<std::string> ids;
  for (int i = 0; i < 30; ++i) {
    const std::string region = story.cluster.regions()[static_cast<std::size_t>(i % 3)];
    const Answer owned = story.BeginPatiently(region, "k" + std::to_string(i));
    // A try whose answer got lost may have admitted it.
    EXPECT_TRUE(owned.kind == Kind::kExecute || owned.kind == Kind::kInFlight);
    ids.insert(owned.claim.run_id());
  }
  EXPECT_EQ(ids.size(), 30u);
  story.cluster.network().SetRules({});
  EXPECT_TRUE(story.AllEqual());
}

TEST(Strict, S_03_ARegionThatComesBackDisturbsNobody) {
  StrictStory story;
  const std::string leader = story.Leader();
  const std::string away = story.Followers()[0];
  const std::uint64_t term = story.Status(leader).term;
  story.cluster.Partition({away}, story.Others(away));
  story.Run(30'000);
  story.cluster.Heal();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(story.Begin(leader, "k" + std::to_string(i)).kind, Kind::kExecute) << i;
    story.Run(100);
  }
  EXPECT_EQ(story.Leader(), leader);
  EXPECT_EQ(story.Status(leader).term, term);
}

TEST(Strict, S_27_ARegionThatIsFarBehindGetsASnapshot) {
  ClusterOptions options;
  options.strict_log_entries = 4;
  StrictStory story(options);
  const std::string away = story.Followers()[0];
  story.cluster.Crash(away);
  std::vector<std::string> ids;
  for (int i = 0; i < 40; ++i) ids.push_back(story.Claim(story.Leader(), "k" + std::to_string(i)));
  story.cluster.Restart(away);
  ASSERT_TRUE(story.AllEqual());
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(story.Begin(away, "k" + std::to_string(i)).claim.run_id(), ids[i]);
  story.cluster.Crash(away);
  story.cluster.Restart(away);
  EXPECT_TRUE(story.AllEqual());
}

TEST(Strict, S_27_ARegionThatDiesAtAnyMomentOfASnapshotHasItInTheEndAndNothingElse) {
  ClusterOptions options;
  options.strict_log_entries = 4;
  options.strict_chunk_bytes = 300;
  StrictStory story(options);
  const std::string away = story.Followers()[0];
  story.cluster.Crash(away);
  for (int i = 0; i < 20; ++i) story.Claim(story.Leader(), "k" + std::to_string(i));
  for (int died_after_ms = 5; died_after_ms < 600; died_after_ms += 35) {
    story.cluster.Restart(away);
    story.Run(died_after_ms);
    story.cluster.Crash(away);
    for (int i = 0; i < 6; ++i)
      story.Claim(story.Leader(), std::to_string(died_after_ms) + "." + std::to_string(i));
  }
  story.cluster.Restart(away);
  ASSERT_TRUE(story.AllEqual());
  const auto strict_records_on_disk = [&] {
    std::size_t count = 0;
    story.cluster.replica(away).tables().ScanRaw(
        keys::Strict(0), keys::After(keys::Strict(0)),
        [&count](std::string_view, std::string_view) { return ++count > 0; });
    return count;
  };
  EXPECT_TRUE(story.cluster.time().RunUntil(
      [&] { return strict_records_on_disk() == story.StrictRecords(away).size(); }, 10'000));
}

TEST(Strict, OW_N_05_S_16_ALeaseThatRanOutIsReclaimedFromAnyRegionWithAHigherFence) {
  StrictStory story;
  const Answer first = story.Begin("eu", "k");
  ASSERT_EQ(first.kind, Kind::kExecute);
  story.Run(2500);
  const Answer second = story.Begin("us", "k");
  ASSERT_EQ(second.kind, Kind::kExecute);
  EXPECT_TRUE(second.reclaimed);
  EXPECT_EQ(second.claim.run_id(), first.claim.run_id());
  EXPECT_GT(second.claim.fence(), first.claim.fence());
  EXPECT_EQ(story.Complete("eu", first).kind, Kind::kStaleFence);
  EXPECT_EQ(story.Complete("us", second).kind, Kind::kDone);
}

TEST(Strict, FencesRiseOverChangesOfLeadersAndRestarts) {
  StrictStory story;
  std::uint64_t last = 0;
  for (int round = 0; round < 4; ++round) {
    const Answer owned = story.BeginPatiently("eu", "k" + std::to_string(round));
    ASSERT_EQ(owned.kind, Kind::kExecute);
    EXPECT_GT(owned.claim.fence(), last);
    last = owned.claim.fence();
    for (const std::string& region : story.cluster.regions()) story.cluster.Crash(region);
    for (const std::string& region : story.cluster.regions()) story.cluster.Restart(region);
    story.AwaitLeader();
  }
}

TEST(Strict, ExpiryIsDecidedByTheLeaderAndTheSameEverywhere) {
  ClusterOptions options;
  options.retention_ms = 5000;
  StrictStory story(options);
  story.Claim("eu", "k");
  ASSERT_TRUE(story.AllEqual());
  ASSERT_NE(story.StrictSlot("us", "k"), nullptr);
  story.Run(10'000);
  ASSERT_TRUE(story.AllEqual());
  for (const char* region : {"ap", "eu", "us"})
    EXPECT_EQ(story.StrictSlot(region, "k"), nullptr) << region;
  EXPECT_EQ(story.Begin("us", "k").kind, Kind::kExecute);
}

TEST(Strict, S_21_ALeaderWhoseClockIsUnsafeGivesUpLeadership) {
  StrictStory story;
  const std::string old = story.Leader();
  story.cluster.JumpWall(old, 60'000);
  EXPECT_NE(story.AwaitLeader(old), old);
  EXPECT_EQ(story.BeginPatiently(story.Leader(), "k").kind, Kind::kExecute);
}

TEST(Strict, S_46_ALeaderThatCannotSyncIsReplaced) {
  StrictStory story;
  const std::string old = story.Leader();
  story.cluster.disk(old).FailNextSync();
  story.Begin(old, "k");
  const std::string next = story.AwaitLeader(old);
  EXPECT_NE(story.BeginPatiently(next, "other").kind, Kind::kUnavailable);
}

TEST(Strict, S_47_AFullDiskHoldsUpItsRegionAndNoOther) {
  StrictStory story;
  const std::string full = story.Leader();
  story.cluster.disk(full).SetFull(true);
  story.Begin(full, "k");
  const std::string next = story.AwaitLeader(full);
  EXPECT_NE(story.BeginPatiently(next, "other").kind, Kind::kUnavailable);
  story.cluster.disk(full).SetFull(false);
  EXPECT_TRUE(story.AllEqual());
  EXPECT_NE(story.BeginPatiently(full, "third").kind, Kind::kUnavailable);
}

TEST(Strict, S_50_ASlowDiskOfTheLeaderDelaysAndAcknowledgesNothingThatIsNotThere) {
  StrictStory story;
  const std::string slow = story.Leader();
  const std::string other = story.Followers()[0];
  story.cluster.disk(slow).SetSyncDelay(1000);
  const Answer owned = story.BeginPatiently(other, "k");
  ASSERT_EQ(owned.kind, Kind::kExecute);
  story.cluster.Crash(slow);  // with all that it had not synced
  story.AwaitLeader(slow);
  const Answer again = story.BeginPatiently(other, "k");
  EXPECT_NE(again.kind, Kind::kUnavailable);
  EXPECT_EQ(again.claim.run_id(), owned.claim.run_id());
  story.cluster.disk(slow).SetSyncDelay(0);
  story.cluster.Restart(slow);
  EXPECT_TRUE(story.AllEqual());
}

TEST(Strict, S_50_ALeaderWhoseDiskHangsHandsOverAndStaysOutUntilItIsWell) {
  StrictStory story;
  const std::string hung = story.Leader();
  const std::string other = story.Followers()[0];
  story.cluster.disk(hung).SetSyncDelay(3'600'000);
  story.Begin(other, "k");  // something to write
  const std::string next = story.AwaitLeader(hung);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(story.Begin(other, "k" + std::to_string(i)).kind, Kind::kExecute) << i;
    story.Run(500);
    EXPECT_EQ(story.Leader(), next) << "nobody disturbs it";
  }
  EXPECT_EQ(story.Begin(hung, "new").kind, Kind::kUnavailable);
  story.cluster.disk(hung).SetSyncDelay(0);
  EXPECT_TRUE(story.AllEqual());
  EXPECT_EQ(story.Leader(), next);
  EXPECT_NE(story.BeginPatiently(hung, "new").kind, Kind::kUnavailable);
}

TEST(Strict, S_50_ARunGoesOnThoughItsLeadersDiskHangs) {
  StrictStory story;
  const std::string hung = story.Leader();
  const std::string other = story.Followers()[0];
  story.cluster.disk(hung).SetSyncDelay(3'600'000);
  const std::string run = story.Run(other, "k", "noop");
  EXPECT_TRUE(story.cluster.time().RunUntil(
      [&] {
        const auto found = story.Group(other).tables().FindRun(run);
        return found && found->status() == RUN_COMPLETED;
      },
      10'000))
      << "whoever leads carries it on by what it has applied";
}

TEST(Strict, S_50_ASlowDiskOfOneThatFollowsHoldsNobodyUp) {
  StrictStory story;
  story.cluster.disk(story.Followers()[0]).SetSyncDelay(1000);
  const std::int64_t before_us = story.cluster.time().MonotonicMicros();
  for (int i = 0; i < 10; ++i) story.Claim(story.Leader(), "k" + std::to_string(i));
  EXPECT_LT(story.cluster.time().MonotonicMicros() - before_us, 1'000'000);
}

TEST(Strict, S_30_S_49_AnEmptiedRegionIsALearnerUntilItIsMadeAVoter) {
  StrictStory story;
  const std::string id = story.Claim("eu", "k");
  const std::string emptied = story.Followers()[0];
  story.cluster.Crash(emptied);
  story.cluster.Empty(emptied);
  story.cluster.Restart(emptied);
  story.Run(5000);
  EXPECT_EQ(story.Status(emptied).term, 0u);
  ASSERT_TRUE(story.Change(MemberChange::Kind::kAdd, story.cluster.Member(emptied)));
  ASSERT_TRUE(story.AllEqual());
  EXPECT_EQ(story.Begin(emptied, "k").claim.run_id(), id);
  ASSERT_TRUE(story.Change(MemberChange::Kind::kRemove, emptied + "/0"));
  ASSERT_TRUE(story.Change(MemberChange::Kind::kPromote, story.cluster.Member(emptied)));
  story.cluster.Crash(story.Leader() == emptied ? story.Followers()[0] : story.Leader());
  story.AwaitLeader();
  EXPECT_EQ(story.BeginPatiently(emptied, "new").kind, Kind::kExecute);
}

TEST(Strict, ARunIsMadeOnceAndCarriedOnByWhoeverLeads) {
  StrictStory story;
  const std::string run = story.Run("eu", "k", "noop");
  EXPECT_TRUE(IsStrictRunId(run));
  const auto completed = [&](const std::string& region) {
    const auto found = story.Group(region).tables().FindRun(run);
    return found && found->status() == RUN_COMPLETED;
  };
  EXPECT_TRUE(story.cluster.time().RunUntil(
      [&] { return completed("ap") && completed("eu") && completed("us"); }, 10'000));
  EXPECT_EQ(story.CreateRun("us", "k").kind, Kind::kReplay);
}

TEST(Strict, ARunIsCancelledFromAnyRegion) {
  StrictStory story;
  const std::string run = story.Run("eu", "k", "delay");
  EXPECT_EQ(story.Do("us", Story::CancelCommand(run)).outcome.status(), 200u);
  ASSERT_TRUE(story.AllEqual());
  EXPECT_EQ(story.Group("ap").tables().FindRun(run)->status(), RUN_CANCELLED);
}

// The simulator found that a begin which had been answered took the claim up once more, when its
// message came again after the lease.
TEST(Strict, ARequestThatComesAgainIsNotCarriedOutAgain) {
  StrictStory story;
  const std::string asker = story.Followers()[0];
  const std::string leader = story.Leader();
  std::vector<std::string> heard;
  story.cluster.network().on_deliver = [&](const std::string& from, const std::string& to,
                                           const std::string& message) {
    StrictMessage parsed;
    if (from == asker && to == leader && message[0] == '\0' &&
        parsed.ParseFromString(message.substr(1)) && parsed.requests_size() > 0)
      heard.push_back(message);
  };
  const Answer owned = story.Begin(asker, "k");
  ASSERT_EQ(owned.kind, Kind::kExecute);
  ASSERT_EQ(heard.size(), 1u);
  story.cluster.network().on_deliver = nullptr;
  // Another leader does not remember who asked the one before it.
  story.Group(leader).engine().Transfer(asker + "/0");
  ASSERT_EQ(story.AwaitLeader(leader), asker);
  story.Group(asker).engine().Transfer(leader + "/0");
  ASSERT_EQ(story.AwaitLeader(asker), leader);
  story.Run(static_cast<std::int64_t>(story.cluster.options().lease_ms) + 100);
  story.cluster.Crash(asker);
  {
    SimulatedTransport transport(story.cluster.network(), asker, story.cluster.time());
    transport.Send(leader, heard[0]);
    story.Run(500);
  }
  story.cluster.Restart(asker);
  ASSERT_TRUE(story.AllEqual());
  EXPECT_EQ(story.StrictSlot(leader, "k")->claims(0).fence(), owned.claim.fence());
  EXPECT_EQ(story.Complete(leader, owned).kind, Kind::kDone);
}

TEST(Strict, S_58_WhatNoHonestNodeSendsIsCountedAndChangesNothing) {
  StrictStory story;
  const std::string leader = story.Leader();
  const std::string hostile = story.Followers()[0];
  story.cluster.Crash(hostile);
  SimulatedTransport transport(story.cluster.network(), hostile, story.cluster.time());
  const auto say = [&](const StrictMessage& message) {
    transport.Send(leader, std::string(1, '\0') + message.SerializeAsString());
  };
  StrictMessage message;
  say(message);  // of no format
  message.set_format(1);
  message.set_engine("\x0a\xff garbage");
  say(message);
  message.clear_engine();
  message.mutable_asker()->set_member(hostile + "/0");
  StrictRequest& request = *message.add_requests();
  request.set_request(7);
  say(message);  // no command
  *request.mutable_command() = BeginCommand("acme", "k", 1, 2000, 1000);
  request.mutable_command()->mutable_begin()->mutable_slot()->set_key("another");
  say(message);  // a slot that is not where it says
  request.mutable_command()->mutable_expire_due()->set_limit(1);
  say(message);  // not a caller's
  request.mutable_command()->mutable_mutation()->set_tenant("acme");
  say(message);  // without an effect
  *request.mutable_command() = BeginCommand("acme", "k", 1, 2000, 1000);
  message.mutable_asker()->set_member(leader + "/0");
  say(message);  // in another's name
  transport.Send(leader, std::string("\0\x0a\xff", 3));
  story.Run(100);
  EXPECT_EQ(story.Group(leader).refused(), 8u);
  EXPECT_EQ(story.BeginPatiently(leader, "k").kind, Kind::kExecute);
}

// A commit of strict records alone is no news for gossip.
TEST(Strict, BestEffortReplicationHasNothingToSayOfStrictClaims) {
  StrictStory story;
  std::int64_t gossip = 0;
  story.cluster.network().on_deliver = [&](const std::string&, const std::string&,
                                           const std::string& message) {
    gossip += !message.empty() && message[0] != '\0';
  };
  const std::int64_t began_us = story.cluster.time().MonotonicMicros();
  for (int i = 0; i < 50; ++i) story.Claim(story.Leader(), "k" + std::to_string(i));
  const std::int64_t passed_ms = (story.cluster.time().MonotonicMicros() - began_us) / 1000;
  story.cluster.network().on_deliver = nullptr;
  constexpr std::int64_t kLinks = 6;
  EXPECT_GE(story.Status(story.Leader()).applied, 100u);
  const std::int64_t intervals = passed_ms / story.cluster.options().gossip.interval_ms;
  EXPECT_GE(gossip, kLinks * (intervals - 1));
  EXPECT_LE(gossip, kLinks * (intervals + 2));
}

}  // namespace
}  // namespace once
