// Stories of runs: the loser is cancelled once, its key points at the winner, its home decides.
#include "tests/story/story.h"

namespace once {
namespace {

using Kind = Answer::Kind;

/// Two runs under one key, made on both sides of a cut; eu's is the lower one.
struct TwoRuns {
  explicit TwoRuns(const std::string& workflow, std::uint64_t other_body = 1) {
    story.cluster.Partition({"eu"}, {"us", "ap"});
    winner = story.Run("eu", "k1", workflow);
    story.Run(50);
    loser = story.Run("us", "k1", workflow, other_body);
    story.Run(50);
  }
  void Heal() {
    story.cluster.Heal();
    ASSERT_TRUE(story.RunUntilQuiet());
  }
  Story story;
  std::string winner, loser;
};

TEST(Runs, OW_MR_01_InACutRegionARetryGetsTheStoredAnswer) {
  TwoRuns two("delay");
  for (const auto& [region, run] : {std::pair("eu", two.winner), std::pair("us", two.loser)}) {
    const Answer retry = two.story.CreateRun(region, "k1", "delay");
    EXPECT_EQ(retry.kind, Kind::kReplay);
    EXPECT_EQ(retry.claim.run_id(), run);
    EXPECT_NE(retry.outcome.body().find(run), std::string::npos);
  }
}

TEST(Runs, OW_MR_02_AnotherBodyIsInFlightUntilTheFirstCompletesThenAConflict) {
  Story story;
  const Answer owned = story.Begin("eu", "k1", 1);
  EXPECT_EQ(story.Begin("eu", "k1", 2).kind, Kind::kInFlight);
  story.Run(100);
  EXPECT_EQ(story.Begin("us", "k1", 2).kind, Kind::kInFlight) << "a hint from another region";
  story.Complete("eu", owned);
  EXPECT_EQ(story.Begin("eu", "k1", 2).kind, Kind::kMismatch);
  story.Run(100);
  EXPECT_EQ(story.Begin("us", "k1", 2).kind, Kind::kMismatch);
}

TEST(Runs, OW_MR_03_DuringAPartitionBothRegionsAdmit) {
  TwoRuns two("delay");
  EXPECT_NE(two.winner, two.loser);
  EXPECT_EQ(two.story.RunIn("eu", two.winner).status(), RUNNING);
  EXPECT_EQ(two.story.RunIn("us", two.loser).status(), RUNNING);
}

TEST(Runs, OW_MR_04_OW_MR_06_AfterHealingExactlyOneRunIsNotCancelled) {
  TwoRuns two("delay");
  two.Heal();
  for (const std::string& region : two.story.cluster.regions()) {
    EXPECT_EQ(two.story.RunIn(region, two.winner).status(), RUNNING) << region;
    EXPECT_EQ(two.story.RunIn(region, two.loser).status(), RUN_CANCELLED) << region;
  }
}

TEST(Runs, TheHomeOfARunTellsItsEvents) {
  Story story;
  const std::string run = story.Run("eu", "k1");
  story.Run(100);
  ForwardRequest request;
  request.mutable_events()->set_tenant("acme");
  request.mutable_events()->set_run_id(run);
  const auto ask = [&](const std::string& home) { return story.Forward("us", home, request); };
  EventPage page;
  ASSERT_TRUE(page.ParseFromString(ask("eu").outcome.body()));
  ASSERT_EQ(page.events_size(), 2);
  EXPECT_EQ(page.events(0).type(), "run.started");
  EXPECT_EQ(page.events(1).type(), "run.completed");
  EXPECT_TRUE(page.complete());
  EXPECT_EQ(ask("ap").kind, Kind::kNotFound) << "it has a copy of the run, and no events";
  request.mutable_events()->set_from_sequence(1);
  ASSERT_TRUE(page.ParseFromString(ask("eu").outcome.body()));
  EXPECT_EQ(page.events_size(), 1);
  request.mutable_events()->set_tenant("globex");
  EXPECT_EQ(ask("eu").kind, Kind::kNotFound);
  story.cluster.Partition({"eu"}, {"us"});
  EXPECT_EQ(ask("eu").kind, Kind::kUnavailable);
}

TEST(Runs, OW_MR_08_TheLoserIsCancelledWithItsReasonOnce) {
  TwoRuns two("delay");
  two.Heal();
  EXPECT_EQ(two.story.CancelledEvents("us", two.loser), 1);
  EXPECT_EQ(two.story.CancelledEvents("eu", two.winner), 0);
  for (const std::string& region : two.story.cluster.regions()) {
    EXPECT_EQ(two.story.RunIn(region, two.loser).reason(), "cross_region_dedup_loss") << region;
    EXPECT_FALSE(two.story.RunIn(region, two.loser).completed_before()) << region;
  }
  EXPECT_FALSE(two.story.Conflicts("us").at(0).loser_had_completed());
}

TEST(Runs, OW_MR_09_OW_MR_10_EveryRegionAnswersTheKeyWithTheWinner) {
  TwoRuns two("delay");
  two.Heal();
  for (const std::string& region : two.story.cluster.regions()) {
    const Answer retry = two.story.CreateRun(region, "k1", "delay");
    EXPECT_EQ(retry.kind, Kind::kReplay) << region;
    EXPECT_EQ(retry.claim.run_id(), two.winner) << region;
    EXPECT_NE(retry.outcome.body().find(two.winner), std::string::npos) << region;
  }
}

TEST(Runs, S_33_ALoserThatHadCompletedIsMarkedSoAndBothAnswersAreKept) {
  TwoRuns two("noop");
  ASSERT_EQ(two.story.RunIn("us", two.loser).status(), RUN_COMPLETED);
  two.Heal();
  for (const std::string& region : two.story.cluster.regions()) {
    EXPECT_EQ(two.story.RunIn(region, two.loser).status(), RUN_CANCELLED) << region;
    EXPECT_TRUE(two.story.RunIn(region, two.loser).completed_before()) << region;
    EXPECT_EQ(two.story.CreateRun(region, "k1").claim.run_id(), two.winner) << region;
    const std::string hash = SlotKey(ROUTE, "acme", "POST /v1/runs", "k1");
    const Slot* slot = two.story.cluster.replica(region).tables().FindSlot(hash);
    ASSERT_EQ(slot->claims_size(), 2);
    for (const Claim& claim : slot->claims()) EXPECT_EQ(claim.outcome().status(), 201u);
  }
  EXPECT_EQ(two.story.CancelledEvents("us", two.loser), 1);
  EXPECT_TRUE(two.story.Conflicts("us").at(0).loser_had_completed());
}

TEST(Runs, OW_MR_05_S_34_OneEventAndOneCountPerLoserWhateverIsRepeated) {
  Story story;
  LinkRules rules;
  rules.repeat_percent = 100;
  rules.jitter_ms = 50;
  story.cluster.network().SetRules(rules);
  story.CutAll();
  story.Run("eu", "k1", "delay");
  story.Run(5);
  const std::string second = story.Run("us", "k1", "delay");
  story.Run(5);
  const std::string third = story.Run("ap", "k1", "delay");
  story.cluster.Heal();
  for (int i = 0; i < 4; ++i) {
    story.Run(30);
    for (const char* region : {"us", "ap", "eu"}) {
      story.cluster.Crash(region);
      story.cluster.Restart(region);
      story.Run(15);
    }
  }
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.CancelledEvents("us", second), 1);
  EXPECT_EQ(story.CancelledEvents("ap", third), 1);
  EXPECT_EQ(story.ConflictsCounted(), 2u) << "not one per region or per merge";
  EXPECT_EQ(story.Conflicts("eu").size(), 0u) << "each home counts its own losers";
  for (const std::string& region : story.cluster.regions())
    EXPECT_EQ(story.Listed(region).size(), 2u) << "and every region lists all of them, once";
  EXPECT_EQ(story.Conflicts("us").size(), 1u);
  EXPECT_EQ(story.Conflicts("ap").size(), 1u);
}

TEST(Runs, OW_N_57_EveryRegionListsWhatItsHomeRecorded) {
  TwoRuns two("delay", 2);
  two.story.cluster.Partition({"ap"}, {"eu", "us"});
  two.story.HealLink("eu", "us");
  two.story.Run(1000);
  const Conflict home = two.story.Conflicts("us").at(0);
  EXPECT_EQ(two.story.Listed("ap").size(), 0u);
  two.Heal();
  for (const char* region : {"ap", "eu"}) {
    ASSERT_EQ(two.story.Listed(region).size(), 1u) << region;
    EXPECT_EQ(two.story.Listed(region)[0].SerializeAsString(), home.SerializeAsString()) << region;
    two.story.cluster.Crash(region);
    two.story.cluster.Restart(region);
    two.story.Run(1000);
    EXPECT_EQ(two.story.Listed(region).size(), 1u) << region;
  }
  EXPECT_EQ(two.story.ConflictsCounted(), 1u);
}

TEST(Runs, ARegionThatComesWithAnEmptyDiskHearsOfConflictsAgain) {
  TwoRuns two("delay");
  two.Heal();
  two.story.cluster.Crash("ap");
  two.story.cluster.Empty("ap");
  two.story.cluster.Restart("ap");
  ASSERT_TRUE(two.story.RunUntilQuiet(120'000));
  two.story.Run(60'000);
  ASSERT_EQ(two.story.Listed("ap").size(), 1u);
  EXPECT_EQ(two.story.Listed("ap")[0].loser(), two.loser);
  EXPECT_EQ(two.story.ConflictsCounted(), 1u);
}

TEST(Runs, OW_N_57_TheConflictNamesWhoAgainstWhomAndNoContent) {
  TwoRuns two("delay", 2);
  two.Heal();
  ASSERT_EQ(two.story.Conflicts("us").size(), 1u);
  const Conflict conflict = two.story.Conflicts("us")[0];
  EXPECT_EQ(conflict.winner(), two.winner);
  EXPECT_EQ(conflict.loser(), two.loser);
  EXPECT_EQ(conflict.region_pair(), "eu|us");
  EXPECT_EQ(conflict.tenant(), "acme");
  EXPECT_EQ(conflict.endpoint(), "POST /v1/runs");
  EXPECT_TRUE(conflict.payload_divergent());
  EXPECT_EQ(conflict.SerializeAsString().find("k1"), std::string::npos) << "not even the key";
}

TEST(Runs, OW_N_52_PickingASurvivorStartsNothing) {
  TwoRuns two("delay");
  const auto executed = [&](const std::string& region) {
    std::size_t started = 0;
    for (const std::string& run : {two.winner, two.loser})
      for (const RunEvent& event : two.story.cluster.replica(region).tables().Events(run, 0, 1000))
        started += event.type() == "run.started";
    return started;
  };
  EXPECT_EQ(executed("eu") + executed("us"), 2u) << "both sides had effects";
  two.Heal();
  EXPECT_EQ(executed("eu"), 1u);
  EXPECT_EQ(executed("us"), 1u);
  EXPECT_EQ(executed("ap"), 0u) << "nor does a region that only hears of it execute";
}

TEST(Runs, AnyRegionKnowsARunAndItsHomeCancelsIt) {
  Story story;
  const std::string run = story.Run("eu", "k1", "delay");
  story.Run(100);
  EXPECT_EQ(story.RunIn("us", run).status(), RUNNING);
  const Answer cancelled = story.Forward("us", "eu", Story::CancelCommand(run));
  EXPECT_EQ(cancelled.kind, Kind::kDone);
  EXPECT_EQ(cancelled.outcome.status(), 200u);
  EXPECT_EQ(story.RunIn("eu", run).status(), RUN_CANCELLED);
  story.Run(100);
  for (const std::string& region : story.cluster.regions())
    EXPECT_EQ(story.RunIn(region, run).reason(), "no longer needed") << region;
}

TEST(Runs, AnApprovalReachesTheHomeOfTheRun) {
  Story story;
  const std::string run = story.Run("eu", "k1", "approval");
  story.Run(100);
  ASSERT_EQ(story.RunIn("us", run).status(), WAITING_APPROVAL);
  Command command;
  command.mutable_mutation()->set_tenant("acme");
  ResolveApproval& approval = *command.mutable_mutation()->mutable_resolve_approval();
  approval.set_run_id(run);
  approval.set_node_id("approve");
  approval.set_approved(true);
  EXPECT_EQ(story.Forward("us", "eu", command).outcome.status(), 200u);
  ASSERT_TRUE(story.RunUntilQuiet());
  for (const std::string& region : story.cluster.regions())
    EXPECT_EQ(story.RunIn(region, run).status(), RUN_COMPLETED) << region;
  EXPECT_EQ(story.Forward("ap", "eu", command).outcome.status(), 409u) << "decided before";
}

TEST(Runs, AHomeThatCannotBeReachedIsUnavailableAndNothingIsStored) {
  Story story;
  const std::string run = story.Run("eu", "k1", "delay");
  story.Run(100);
  story.cluster.Partition({"eu"}, {"us", "ap"});
  EXPECT_EQ(story.Forward("us", "eu", Story::CancelCommand(run)).kind, Kind::kUnavailable);
  EXPECT_EQ(story.Forward("us", "nowhere", Story::CancelCommand(run)).kind, Kind::kUnavailable);
  EXPECT_EQ(story.RunIn("eu", run).status(), RUNNING);
  story.cluster.Heal();
  story.Run(500);
  const Answer retry = story.Forward("us", "eu", Story::CancelCommand(run));
  EXPECT_EQ(retry.outcome.status(), 200u) << "the refusal was not stored";
}

TEST(Runs, AForwardedCommandWithAKeyHappensOnceThoughItsAnswerGotLost) {
  Story story;
  const std::string run = story.Run("eu", "k1", "delay");
  story.Run(100);
  Command cancel = Story::CancelCommand(run);
  Begin& begin = *cancel.mutable_mutation()->mutable_begin();
  begin = BeginCommand("acme", "cancel-1", 1, 2000, 3'600'000).begin();
  begin.mutable_slot()->set_surface(ROUTE);
  begin.mutable_slot()->set_hash(SlotKey(ROUTE, "acme", begin.slot().endpoint(), "cancel-1"));
  story.cluster.network().Cut("eu", "us");  // the answer's way
  EXPECT_EQ(story.Forward("us", "eu", cancel).kind, Kind::kUnavailable);
  EXPECT_EQ(story.RunIn("eu", run).status(), RUN_CANCELLED) << "yet it happened";
  story.cluster.Heal();
  const Answer retry = story.Forward("us", "eu", cancel);
  EXPECT_EQ(retry.kind, Kind::kReplay);
  EXPECT_EQ(retry.outcome.status(), 200u);
}

// Node us numbers what it forwards anew after a restart, and the home's answer to its former self
// comes late.
TEST(Runs, AnAnswerToTheNodeThatWasHereBeforeIsNotTakenForAnother) {
  Story story;
  const std::string first = story.Run("eu", "k1", "delay");
  const std::string second = story.Run("eu", "k2", "delay");
  story.Run(100);
  story.cluster.network().Clog("eu", "us");
  ForwardRequest request;
  request.set_command(Story::CancelCommand(first).SerializeAsString());
  story.cluster.gossip("us").Forward("eu", request, 2000, [](const Answer&) {});
  story.Run(100);
  ASSERT_EQ(story.RunIn("eu", first).status(), RUN_CANCELLED);
  story.cluster.Crash("us");
  story.cluster.Restart("us");
  story.cluster.network().Cut("us", "eu");  // the second does not even get there
  std::optional<Answer> answer;
  request.set_command(Story::CancelCommand(second).SerializeAsString());
  story.cluster.gossip("us").Forward("eu", request, 2000, [&](const Answer& a) { answer = a; });
  story.cluster.network().Unclog("eu", "us");
  story.Run(500);
  EXPECT_FALSE(answer.has_value());
  story.Run(2500);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->kind, Kind::kUnavailable);
  EXPECT_EQ(story.RunIn("eu", second).status(), RUNNING);
}

TEST(Runs, AForwardedCommandThatWasGivenUpIsNotCarriedOutLater) {
  Story story;
  const std::string run = story.Run("eu", "k1", "delay");
  story.Run(100);
  story.cluster.network().Clog("us", "eu");
  EXPECT_EQ(story.Forward("us", "eu", Story::CancelCommand(run)).kind, Kind::kUnavailable);
  story.Run(story.cluster.options().gossip.skew_bound_ms + 100);
  story.cluster.network().Unclog("us", "eu");
  story.Run(1000);
  EXPECT_EQ(story.RunIn("eu", run).status(), RUNNING);
  EXPECT_EQ(story.cluster.gossip("eu").StateOf("us").refused, 0u) << "it is late, not wrong";
}

}  // namespace
}  // namespace once
