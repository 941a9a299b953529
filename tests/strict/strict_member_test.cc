// One member among sound ones: what it cannot read, what it does not hear, what it once heard.
#include "tests/strict/strict_story.h"

namespace once {
namespace {

bool SaysUnreadable(StrictStory& story, const std::string& region) {
  return story.cluster.replica(region).Unready().starts_with(
      "records of the strict group cannot be read");
}

/// A region one of whose strict records is on a bad block, and which has to read it; and another
/// one, if it is not empty, that it has to read to begin again.
class Unreadable : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    bad_ = story_.Followers()[0];
    const Answer owned = story_.Begin(story_.Leader(), "k");
    ASSERT_EQ(story_.Complete(story_.Leader(), owned).kind, Answer::Kind::kDone);
    ASSERT_TRUE(story_.AllEqual());  // everything is stored
    story_.Run(500);
    story_.cluster.Crash(bad_);
    story_.cluster.disk(bad_).SetUnreadable(record_);
    story_.cluster.Restart(bad_);
    if (!GetParam().empty()) story_.cluster.disk(bad_).SetUnreadable(GetParam());
    story_.AwaitLeader();
    story_.Complete(story_.Leader(), owned);  // once more: through the log, and about that slot
  }
  bool AwaitUnready() {
    return story_.cluster.time().RunUntil([&] { return SaysUnreadable(story_, bad_); }, 10'000);
  }

  StrictStory story_;
  std::string bad_;
  const std::string record_ =
      keys::Strict(0) + keys::Slot(BeginCommand("acme", "k", 1, 1, 1).begin().slot().hash());
};

TEST_P(Unreadable, S_48_AMemberThatCannotReadItsRecordsIsNotReadyUntilItCan) {
  ASSERT_TRUE(AwaitUnready());
  for (int i = 0; i < 200; ++i) {
    story_.Run(100);
    ASSERT_TRUE(SaysUnreadable(story_, bad_)) << "it begins again and again, and does not get on";
  }
  EXPECT_TRUE(story_.cluster.replica(bad_).Gauges().strict->unreadable);
  EXPECT_EQ(story_.BeginPatiently(story_.Leader(), "new").kind, Answer::Kind::kExecute);
  EXPECT_EQ(story_.cluster.replica(story_.Leader()).Unready(), "");

  story_.cluster.disk(bad_).SetReadable(record_);
  story_.Run(3000);
  story_.cluster.disk(bad_).SetReadable(GetParam());
  EXPECT_TRUE(story_.cluster.time().RunUntil(
      [&] { return story_.cluster.replica(bad_).Unready().empty(); }, 10'000));
  EXPECT_TRUE(story_.AllEqual());
}

TEST_P(Unreadable, S_48_AMemberThatCannotReadItsRecordsIsReplaced) {
  ASSERT_TRUE(AwaitUnready());
  ASSERT_TRUE(story_.Change(MemberChange::Kind::kRemove, story_.cluster.Member(bad_)));
  story_.cluster.Crash(bad_);
  story_.cluster.Empty(bad_);
  story_.cluster.Restart(bad_);
  ASSERT_TRUE(story_.Change(MemberChange::Kind::kAdd, story_.cluster.Member(bad_)));
  ASSERT_TRUE(story_.Change(MemberChange::Kind::kPromote, story_.cluster.Member(bad_)));
  ASSERT_TRUE(story_.AllEqual());
  EXPECT_EQ(story_.cluster.replica(bad_).Unready(), "");
  EXPECT_EQ(story_.Begin(bad_, "k").kind, Answer::Kind::kReplay);
}

INSTANTIATE_TEST_SUITE_P(And, Unreadable,
                         testing::Values("", keys::Strict(0) + keys::Head(),
                                         keys::StrictGeneration()),
                         [](const auto& info) {
                           return std::string(info.index == 0   ? "NoOther"
                                              : info.index == 1 ? "ItsHead"
                                                                : "ItsGeneration");
                         });

TEST(StrictMember, WhatALaterVersionAskedForEndsTheMembersPart) {
  StrictBatch later_format;
  later_format.set_format(kBatchFormat + 1);
  StrictBatch later_command;
  later_command.set_format(kBatchFormat);
  later_command.add_commands()
      ->mutable_command()
      ->GetReflection()
      ->MutableUnknownFields(later_command.mutable_commands(0)->mutable_command())
      ->AddVarint(1000, 1);
  for (const StrictBatch& batch : {later_format, later_command}) {
    StrictStory story;
    ASSERT_TRUE(story.AllEqual());
    const std::string leader = story.Leader();
    ASSERT_TRUE(story.Group(leader).engine().Propose("\x0a\xff garbage"));
    ASSERT_EQ(story.Begin(leader, "k").kind, Answer::Kind::kExecute) << "that is nothing to all";
    ASSERT_TRUE(story.AllEqual());
    const std::uint64_t applied = story.Status(leader).applied;
    ASSERT_TRUE(story.Group(leader).engine().Propose(batch.SerializeAsString()));
    story.Run(3000);
    EXPECT_NE(story.cluster.replica(leader).Unready().find("upgrade"), std::string::npos);
    for (const std::string& region : story.cluster.regions())
      EXPECT_EQ(story.Group(region).tables().head().applied(), applied) << region;
  }
}

TEST(StrictMember, ALostReadIsAskedForAgain) {
  StrictStory story;
  const std::string asker = story.Followers()[0];
  const std::string leader = story.Leader();
  bool answered = false, failed = false;
  // Only what the asker says is lost, and for less than anybody stands for election after.
  story.cluster.network().Cut(asker, leader);
  story.Group(asker).Read([&](Tables&) { answered = true; }, [&] { failed = true; });
  story.Run(100);
  story.cluster.network().Mend(asker, leader);
  EXPECT_TRUE(story.cluster.time().RunUntil([&] { return answered || failed; }, 10'000));
  EXPECT_TRUE(answered);
  EXPECT_EQ(story.Leader(), leader);
}

TEST(StrictMember, TheRulesOfARegionThatHasLeftAreForgotten) {
  StrictStory story;
  const std::string leader = story.Leader();
  const std::string odd = story.Followers()[0];
  story.cluster.Crash(odd);
  SimulatedTransport transport(story.cluster.network(), odd, story.cluster.time());
  StrictMessage message;
  message.set_format(1);
  message.set_rules(7);
  transport.Send(leader, std::string(1, '\0') + message.SerializeAsString());
  story.Run(100);
  ASSERT_EQ(story.Group(leader).RegionsWithOtherRules(), std::vector<std::string>{odd});
  ASSERT_TRUE(story.Change(MemberChange::Kind::kRemove, story.cluster.Member(odd)));
  EXPECT_TRUE(story.cluster.time().RunUntil(
      [&] { return story.Group(leader).RegionsWithOtherRules().empty(); }, 5000));
}

TEST(StrictMember, WithoutAnyRuleLeftVotesAndCarriesRunsOn) {
  ClusterOptions options;
  options.retention_ms = 1000;
  StrictStory story(options);
  Command create = story.CreateRunCommand("k", "delay");
  create.mutable_mutation()->mutable_create_run()->set_delay_ms(40'000);
  const std::string run = story.Do(story.Leader(), create).claim.run_id();
  const auto slots = [&] { return story.Group(story.AwaitLeader()).tables().head().slots(); };
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return slots() == 0; }, 10'000));
  ASSERT_TRUE(story.AllEqual());
  story.Run(500);
  for (const std::string& region : story.cluster.regions()) {
    story.cluster.Crash(region);
    story.cluster.SetStrictRoutes(region, std::vector<StrictRoute>());
    story.cluster.Restart(region);
    story.Run(3000);
    ASSERT_FALSE(story.cluster.HasFailedToStart(region)) << region;
  }
  const std::string former = story.AwaitLeader();
  ASSERT_EQ(story.Group(former).tables().FindRun(run)->status(), RUNNING);
  story.cluster.Crash(former);
  EXPECT_NE(story.AwaitLeader(former), former) << "of the two that are left, each needs the other";
  for (const std::string& region : story.Others(former))
    EXPECT_TRUE(story.cluster.time().RunUntil(
        [&] { return story.Group(region).tables().FindRun(run)->status() == RUN_COMPLETED; },
        60'000))
        << region;
}

/// A region was down while the others admitted a key, and comes back without the rule for it. Its
/// own directory has no trace of the key.
class OtherRules : public testing::Test {
 protected:
  void SetUp() override {
    odd_ = story_.Followers()[0];
    story_.Run(500);
    story_.cluster.Crash(odd_);
    run_ = story_.Claim(story_.Leader(), "k");
    story_.cluster.SetStrictRoutes(odd_, {{{"dev", "*"}}});
    story_.cluster.Restart(odd_);
  }
  bool AwaitKnown() {
    return story_.cluster.time().RunUntil([&] { return story_.Group(odd_).RulesDiffer(); }, 5000);
  }
  void ExpectRefused(const Answer& answer) {
    EXPECT_EQ(answer.kind, Answer::Kind::kUnavailable);
    EXPECT_TRUE(answer.refused);
    EXPECT_GT(answer.retry_after_ms, 0);
  }

  StrictStory story_;
  std::string odd_;
  std::string run_;
};

TEST_F(OtherRules, AdmitNothingNewInEitherModeAndSayNothingWasDone) {
  ASSERT_TRUE(AwaitKnown());
  ExpectRefused(story_.Begin(odd_, "k"));
  ExpectRefused(story_.Begin(odd_, "new", 1, "dev"));
  ExpectRefused(story_.Begin(odd_, "new", 1, "other"));
  EXPECT_EQ(story_.cluster.replica(odd_).tables().FindSlot(
                BeginCommand("acme", "k", 1, 1, 1).begin().slot().hash()),
            nullptr);
  for (const std::string& other : story_.Others(odd_))
    EXPECT_EQ(story_.Begin(other, "k").claim.run_id(), run_) << other;
}

TEST_F(OtherRules, StillReplayWhatIsSettled) {
  const Answer kept = story_.Begin(story_.Leader(), "kept", 1, "dev");
  Command complete = Story::CompleteCommand(kept);
  complete.mutable_settle()->set_tenant("dev");
  ASSERT_EQ(story_.Do(story_.Leader(), complete).kind, Answer::Kind::kDone);
  ASSERT_TRUE(AwaitKnown());
  ASSERT_TRUE(story_.AllEqual());
  const Answer again = story_.Begin(odd_, "kept", 1, "dev");
  EXPECT_EQ(again.kind, Answer::Kind::kReplay);
  EXPECT_EQ(again.claim.run_id(), kept.claim.run_id());
}

TEST_F(OtherRules, AreRememberedWhileNoLeaderIsHeard) {
  ASSERT_TRUE(AwaitKnown());
  story_.cluster.Partition({odd_}, story_.Others(odd_));
  story_.Run(5000);
  ASSERT_EQ(story_.Status(odd_).leader, "");
  ExpectRefused(story_.Begin(odd_, "k"));
}

// A message of the leader that was on its way when its node was started with other rules.
TEST_F(OtherRules, AreNotForgottenForWhatAnEarlierStartOfTheLeaderSaid) {
  const std::string leader = story_.Leader();
  std::string late;
  story_.cluster.network().on_deliver = [&](const std::string& from, const std::string& to,
                                            const std::string& message) {
    if (late.empty() && from == leader && to != odd_ && message[0] == '\0') late = message;
  };
  story_.Run(500);
  story_.cluster.network().on_deliver = {};
  ASSERT_FALSE(late.empty());
  const std::string follower =
      story_.Others(leader)[0] == odd_ ? story_.Others(leader)[1] : story_.Others(leader)[0];
  // It leads again with a rule more, and the follower hears of it.
  for (const std::string& region : {leader, odd_}) {
    story_.cluster.Crash(region);
    story_.cluster.SetStrictRoutes(region, {{{"acme", "*"}, {"dev", "*"}, {"new", "*"}}});
    story_.cluster.Restart(region);
  }
  const auto leads_again = [&] {
    const std::string now = story_.Leader();
    if (!now.empty() && now != leader)
      story_.Group(now).engine().Transfer(story_.cluster.Member(leader));
    return now == leader && story_.Status(follower).leader == story_.cluster.Member(leader);
  };
  ASSERT_TRUE(story_.cluster.time().RunUntil(leads_again, 20'000));
  ASSERT_TRUE(story_.Group(follower).RulesDiffer());
  story_.cluster.Pause(leader);
  SimulatedTransport(story_.cluster.network(), leader, story_.cluster.time()).Send(follower, late);
  story_.Run(100);
  EXPECT_TRUE(story_.Group(follower).RulesDiffer());
  ExpectRefused(story_.Begin(follower, "new", 1, "other"));
}

TEST_F(OtherRules, DoNotLead) {
  ASSERT_TRUE(AwaitKnown());
  story_.Group(story_.Leader()).engine().Transfer(story_.Status(odd_).name);
  ASSERT_TRUE(story_.cluster.time().RunUntil([&] { return story_.Leader() == odd_; }, 5000));
  EXPECT_NE(story_.AwaitLeader(odd_), odd_);
  story_.Run(1000);
  ExpectRefused(story_.Begin(odd_, "k"));
  for (const std::string& other : story_.Others(odd_))
    EXPECT_EQ(story_.BeginPatiently(other, "of " + other).kind, Answer::Kind::kExecute) << other;
}

/// The region comes back alone, with a rule more than the others have.
class NewRule : public OtherRules {
 protected:
  void SetUp() override {
    OtherRules::SetUp();
    story_.cluster.SetStrictRoutes(odd_, {{{"acme", "*"}, {"dev", "*"}, {"new", "*"}}});
    story_.cluster.Crash(odd_);
    story_.cluster.Partition({odd_}, story_.Others(odd_));
    Restart();
  }
  void Restart() {
    story_.cluster.Restart(odd_);
    story_.Run(100);
  }
  void ExpectNoSlot(const std::string& key) {
    const std::string hash = BeginCommand("new", key, 1, 1, 1).begin().slot().hash();
    for (const std::string& region : story_.cluster.regions()) {
      EXPECT_EQ(story_.Group(region).tables().FindSlot(hash), nullptr) << region;
      EXPECT_EQ(story_.SlotIn(region, key, "new"), nullptr) << region;
    }
  }
};

TEST_F(NewRule, AdmitsNothingBeforeALeaderIsHeard) {
  ExpectRefused(story_.Begin(odd_, "k", 1, "new"));
  ExpectRefused(story_.Begin(odd_, "k", 1, "other"));
  EXPECT_NE(story_.cluster.replica(odd_).Unready().find("no leader"), std::string::npos);
}

TEST_F(NewRule, IsOverWhenTheLeaderHasItToo) {
  for (const std::string& other : story_.Others(odd_)) {
    story_.cluster.Crash(other);
    story_.cluster.SetStrictRoutes(other, {{{"acme", "*"}, {"dev", "*"}, {"new", "*"}}});
    story_.cluster.Restart(other);
  }
  story_.cluster.Heal();
  story_.Run(3000);
  EXPECT_EQ(story_.BeginPatiently(odd_, "x").kind, Answer::Kind::kExecute);
  EXPECT_EQ(story_.Begin(odd_, "k", 1, "new").kind, Answer::Kind::kExecute);
  EXPECT_EQ(story_.Begin(odd_, "k", 1, "other").kind, Answer::Kind::kExecute);
}

// It was taken for the leader when it was started again, and says so before anybody else leads.
TEST_F(NewRule, IsNotInForceBecauseTheFormerLeaderWasStartedWithItToo) {
  const std::string leader = story_.Leader();
  const auto follows = [&] {
    return story_.Status(odd_).leader == story_.cluster.Member(leader) &&
           story_.Group(odd_).RulesDiffer();
  };
  story_.cluster.Heal();
  ASSERT_TRUE(story_.cluster.time().RunUntil(follows, 5000));
  story_.cluster.Pause(odd_);
  story_.cluster.Crash(leader);
  StrictMessage said;
  story_.cluster.network().on_deliver = [&](const std::string& from, const std::string& to,
                                            const std::string& message) {
    if (from == leader && to != odd_ && message[0] == '\0') said.ParseFromString(message.substr(1));
  };
  const std::vector<StrictRoute> rules = {{"acme", "*"}, {"dev", "*"}, {"new", "*"}};
  story_.cluster.SetStrictRoutes(leader, rules);
  story_.cluster.Restart(leader);
  const auto told = [&] { return said.rules() == StrictRoutes(rules).Digest(); };
  ASSERT_TRUE(story_.cluster.time().RunUntil(told, 5000));
  story_.cluster.network().on_deliver = {};
  story_.cluster.Partition({odd_}, {story_.Others(odd_)[0], story_.Others(odd_)[1]});
  story_.cluster.Resume(odd_);
  ASSERT_TRUE(follows());
  said.clear_engine();
  story_.cluster.Heal();
  SimulatedTransport(story_.cluster.network(), leader, story_.cluster.time())
      .Send(odd_, '\0' + said.SerializeAsString());
  story_.Run(100);
  EXPECT_TRUE(follows());
  ExpectRefused(story_.Begin(odd_, "k", 1, "other"));
}

// At the second start the rules are those of the last one.
TEST_F(NewRule, WhoAskedBeforeTheLeaderIsHeardIsRefusedWhenItIs) {
  story_.cluster.Crash(odd_);
  Restart();
  std::optional<Answer> answer;
  story_.cluster.Submit(odd_, BeginCommand("new", "k", 1, 2000, 3'600'000),
                        [&](const Answer& a) { answer = a; });
  story_.Run(50);
  ASSERT_FALSE(answer) << "it waits for a leader";
  story_.cluster.Heal();
  ASSERT_TRUE(story_.cluster.time().RunUntil([&] { return answer.has_value(); }, 1500));
  ExpectRefused(*answer);
  EXPECT_TRUE(story_.Group(odd_).RulesDiffer());
  story_.Run(3000);
  ExpectNoSlot("k");
}

TEST_F(NewRule, ALeaderTakesNothingNewOfWhoHasOtherRules) {
  story_.cluster.Crash(odd_);
  story_.cluster.Heal();
  SimulatedTransport transport(story_.cluster.network(), odd_, story_.cluster.time());
  StrictMessage message;
  message.set_format(1);
  message.set_rules(7);
  message.mutable_asker()->set_member(story_.cluster.Member(odd_));
  StrictRequest& request = *message.add_requests();
  request.set_request(7);
  *request.mutable_command() = BeginCommand("new", "k", 1, 2000, 1000);
  transport.Send(story_.Leader(), std::string(1, '\0') + message.SerializeAsString());
  story_.Run(1000);
  EXPECT_EQ(story_.Group(story_.Leader()).refused(), 0u) << "it is an honest mistake";
  for (const std::string& region : story_.Others(odd_))
    EXPECT_EQ(story_.Group(region).tables().FindSlot(request.command().begin().slot().hash()),
              nullptr);
}

TEST_F(OtherRules, AreOverWhenTheRulesAreTheSameAgain) {
  ASSERT_TRUE(AwaitKnown());
  story_.cluster.Crash(odd_);
  story_.cluster.SetStrictRoutes(odd_, {});
  story_.cluster.Restart(odd_);
  story_.Run(3000);
  EXPECT_EQ(story_.BeginPatiently(odd_, "k").claim.run_id(), run_);
}

}  // namespace
}  // namespace once
