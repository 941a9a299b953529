// Stories of bad networks: what is lost, late, repeated or reordered changes nothing in the end.
#include "tests/story/story.h"

namespace once {
namespace {

TEST(BadNetwork, S_02_WhoIsNotHeardLosesNothingAndTheGaugeSaysSo) {
  Story story;
  story.cluster.network().Cut("eu", "us");
  story.cluster.network().Cut("eu", "ap");
  const std::string unheard = story.Claim("eu", "k1");
  const std::string heard = story.Claim("us", "k2");
  story.Run(3000);
  EXPECT_EQ(story.SlotIn("us", "k1"), nullptr);
  EXPECT_EQ(story.SlotIn("ap", "k1"), nullptr);
  EXPECT_EQ(story.Begin("eu", "k2").claim.run_id(), heard) << "eu hears";
  const double early = story.cluster.gossip("eu").StateOf("us").partition_seconds;
  EXPECT_GT(early, 2.5);
  EXPECT_GT(story.cluster.gossip("us").StateOf("eu").partition_seconds, 2.5) << "us hears nothing";
  story.Run(3000);
  EXPECT_GT(story.cluster.gossip("eu").StateOf("us").partition_seconds, early + 2.5);
  EXPECT_LT(story.cluster.gossip("us").StateOf("ap").partition_seconds, 1.0);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.Survivor("k1"), unheard);
}

TEST(BadNetwork, S_05_FlappingEndsInOneSurvivorPerKeyAndNoSecondCancel) {
  Story story;
  std::vector<std::pair<std::string, std::string>> losers;  // (home, run)
  for (int i = 0; i < 40; ++i) {
    const std::string key = "k" + std::to_string(i);
    story.cluster.Partition({"eu"}, {"us", "ap"});
    const std::string in_eu = story.Run("eu", key);
    story.Run(2);
    const std::string in_us = story.Run("us", key);
    losers.emplace_back(in_eu < in_us ? "us" : "eu", std::max(in_eu, in_us));
    story.Run(100);
    story.cluster.Heal();
    story.Run(i % 3 == 0 ? 5 : 100);
  }
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet(10'000));
  EXPECT_EQ(story.ConflictsCounted(), 40u);
  for (const auto& [home, run] : losers) EXPECT_EQ(story.CancelledEvents(home, run), 1);
  for (const std::string& region : story.cluster.regions())
    EXPECT_EQ(story.cluster.gossip(region).journal().CountFrames(), 0u) << "all peers have all";
}

TEST(BadNetwork, S_06_TheAnswerIsLostAndARetryFindsTheSameRun) {
  Story story;
  story.cluster.Partition({"eu"}, {"us", "ap"});
  const std::string run = story.Run("eu", "k1", "delay");  // nobody hears this answer
  const Answer retry = story.CreateRun("eu", "k1", "delay");
  EXPECT_EQ(retry.kind, Answer::Kind::kReplay);
  EXPECT_EQ(retry.claim.run_id(), run);
  EXPECT_EQ(story.cluster.replica("eu").tables().ActiveRuns().size(), 1u) << "executed once";
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.CreateRun("us", "k1", "delay").claim.run_id(), run) << "also from elsewhere";
  EXPECT_EQ(story.ConflictsCounted(), 0u);
}

TEST(BadNetwork, S_07_DurableButNotAcknowledgedIsFoundByTheRetry) {
  Story story;
  const std::string run = story.Run("eu", "k1", "delay");
  story.cluster.Crash("eu");  // the caller has heard nothing
  story.cluster.Restart("eu");
  story.Run(100);
  const Answer retry = story.CreateRun("eu", "k1", "delay");
  EXPECT_EQ(retry.kind, Answer::Kind::kReplay);
  EXPECT_EQ(retry.claim.run_id(), run);
}

TEST(BadNetwork, S_08_SwizzleClogKeepsEveryKeyAtOneSurvivor) {
  Story story;
  const std::vector<std::string> regions = story.cluster.regions();
  for (int round = 0; round < 6; ++round) {
    for (const std::string& from : regions) {
      for (const std::string& to : story.Others(from)) story.cluster.network().Clog(from, to);
      story.Begin(from, "r" + std::to_string(round));
      story.Run(30);
    }
    for (const std::string& region : regions) story.Claim(region, "k" + std::to_string(round));
    for (std::size_t i = regions.size(); i-- > 0;) {
      for (const std::string& to : story.Others(regions[i]))
        story.cluster.network().Unclog(regions[i], to);
      story.Run(70);
    }
  }
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.ConflictsCounted(), 12u);
  for (int round = 0; round < 6; ++round)
    EXPECT_NE(story.Survivor("k" + std::to_string(round)), "");
}

TEST(BadNetwork, S_09_LossAndRepetitionStayWithinTheLagBound) {
  Story story;
  LinkRules rules;
  rules.delay_ms = 50;
  rules.jitter_ms = 100;
  rules.loss_percent = 30;
  rules.repeat_percent = 50;
  story.cluster.network().SetRules(rules);
  for (int i = 0; i < 20; ++i) {
    const std::string run = story.Claim("eu", "k" + std::to_string(i));
    story.Run(Config().replication_lag_bound_ms);
    EXPECT_EQ(story.Survivor("k" + std::to_string(i)), run);
  }
  rules.loss_percent = 100;
  story.cluster.network().SetRules(rules);
  story.Claim("eu", "unheard");
  story.Run(Config().replication_lag_bound_ms);
  EXPECT_GE(story.cluster.gossip("eu").StateOf("us").partition_seconds,
            static_cast<double>(Config().replication_lag_bound_ms) / 1000)
      << "beyond the limit the gauge says so";
}

TEST(BadNetwork, S_10_RepeatedReorderedAndHoursLateMessagesChangeNothing) {
  Story story;
  LinkRules rules;
  rules.repeat_percent = 50;
  rules.very_late_permille = 200;
  rules.very_late_ms = 2 * 3'600'000;
  story.cluster.network().SetRules(rules);
  std::vector<std::string> losers;
  for (int i = 0; i < 5; ++i) {
    const std::string key = "k" + std::to_string(i);
    story.cluster.Partition({"eu"}, {"us", "ap"});
    story.Run("eu", key);
    story.Run(1);
    losers.push_back(story.Run("us", key));
    story.cluster.Heal();
    story.Run(2000);
  }
  ASSERT_TRUE(story.RunUntilQuiet(60'000));
  EXPECT_EQ(story.ConflictsCounted(), 5u);
  story.cluster.network().SetRules({});
  story.Run(2 * 3'600'000);  // the late ones arrive
  EXPECT_EQ(story.ConflictsCounted(), 5u);
  EXPECT_TRUE(story.cluster.Converged());
  for (const std::string& loser : losers) EXPECT_EQ(story.CancelledEvents("us", loser), 1);
}

TEST(BadNetwork, S_12_ABacklogIsCaughtUpInBoundedMemory) {
  constexpr int kClaims = 3000;
  ClusterOptions options;
  options.hot_bytes_max = 1u << 20;
  options.gossip.window_bytes = 64 * 1024;
  Story story(options);
  story.cluster.Partition({"eu"}, {"us", "ap"});
  int answered = 0;
  for (int i = 0; i < kClaims; ++i)
    for (const char* region : {"eu", "us"})
      story.cluster.Submit(
          region,
          BeginCommand("acme", std::string(region) + std::to_string(i), 1, 60'000, 3'600'000),
          [&answered](const Answer&) { ++answered; });
  story.Run(5000);
  ASSERT_EQ(answered, 2 * kClaims);
  std::size_t largest = 0;
  story.cluster.network().on_deliver = [&](const std::string&, const std::string&,
                                           const std::string& message) {
    largest = std::max(largest, message.size());
  };
  story.cluster.Heal();
  EXPECT_EQ(story.Begin("ap", "foreground").kind, Answer::Kind::kExecute);
  ASSERT_TRUE(story.RunUntilQuiet(30'000));
  EXPECT_LT(largest, 3 * options.gossip.window_bytes);
  EXPECT_GT(largest, options.gossip.window_bytes / 4) << "batches, not single claims";
  for (const std::string& region : story.cluster.regions())
    EXPECT_EQ(story.cluster.replica(region).tables().head().slots(), 2u * kClaims + 1);
}

TEST(BadNetwork, S_48_WhatCannotBeReadIsNotAcknowledgedAndComesAgain) {
  Story story;
  story.cluster.Partition({"eu"}, {"us", "ap"});
  const std::string in_us = story.Claim("us", "k1");
  story.Run(5);
  const std::string in_eu = story.Claim("eu", "k1");
  const std::string record = keys::Slot(BeginCommand("acme", "k1", 1, 1, 1).begin().slot().hash());
  story.cluster.Crash("eu");
  story.cluster.disk("eu").SetUnreadable(record);
  story.cluster.Restart("eu");
  story.cluster.Heal();
  story.Run(3000);
  EXPECT_EQ(story.cluster.replica("eu").Unready(), "") << "a bad block does not end the node";
  EXPECT_GT(story.cluster.gossip("us").StateOf("eu").unacknowledged, 0u);
  const std::string other = story.Claim("ap", "k2");
  story.Run(1000);
  EXPECT_EQ(story.Begin("eu", "k2").claim.run_id(), other) << "others are heard meanwhile";
  story.cluster.disk("eu").SetReadable(record);
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.Survivor("k1"), in_us);
  EXPECT_EQ(story.ConflictsCounted(), 1u);
}

// ap lacks what eu cannot read; us does not.
TEST(BadNetwork, S_48_WhatCannotBeReadForOnePeerIsNoReasonToBeSilentToAnother) {
  Story story;
  story.cluster.Partition({"ap"}, {"eu", "us"});
  story.Claim("eu", "k1");
  story.Run(1000);
  const std::string journal = "j" + keys::Part("eu");
  std::vector<std::string> frames;
  story.cluster.replica("eu").tables().ScanRaw(journal, keys::After(journal),
                                               [&](std::string_view key, std::string_view) {
                                                 frames.emplace_back(key);
                                                 return true;
                                               });
  ASSERT_FALSE(frames.empty());
  for (const std::string& frame : frames) story.cluster.disk("eu").SetUnreadable(frame);
  story.cluster.network().Mend("eu", "ap");
  story.cluster.network().Mend("ap", "eu");
  story.Run(3000);
  EXPECT_GT(story.cluster.gossip("eu").StateOf("ap").unacknowledged, 0u);
  EXPECT_LT(story.cluster.gossip("us").StateOf("eu").partition_seconds, 0.5);
  for (const std::string& frame : frames) story.cluster.disk("eu").SetReadable(frame);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
}

TEST(BadNetwork, S_48_ALoserWhoseRecordsCannotBeReadIsCountedOnce) {
  for (const bool first : {true, false}) {
    ClusterOptions options;
    options.retention_ms = 5000;
    Story story(options);
    story.cluster.Partition({"eu"}, {"us", "ap"});
    const Answer long_lived = story.Do("us", BeginCommand("acme", "k1", 1, 60'000, 3'600'000));
    ASSERT_EQ(story.Complete("us", long_lived).kind, Answer::Kind::kDone);
    std::vector<std::string> losers;
    for (int i = 0; i < 2; ++i) {
      story.Run(10'000);  // the one before is over by itself
      losers.push_back(story.Claim("eu", "k1"));
    }
    const std::string record = keys::ConflictOf(LOST, first ? losers.front() : losers.back());
    story.cluster.disk("eu").SetUnreadable(record);
    story.cluster.Heal();
    story.Run(3000);
    EXPECT_EQ(story.ConflictsCounted(), first ? 0u : 1u);
    story.cluster.disk("eu").SetReadable(record);
    ASSERT_TRUE(story.RunUntilQuiet());
    EXPECT_EQ(story.Survivor("k1"), long_lived.claim.run_id());
    EXPECT_EQ(story.ConflictsCounted(), 2u);
    EXPECT_EQ(story.Conflicts("eu").size(), 2u);
  }
}

TEST(Backlog, S_12_APeerThatWasAwayBeyondTheJournalsBoundHearsEverythingAgain) {
  ClusterOptions options;
  options.gossip.journal_changes_max = 5;
  Story story(options);
  story.cluster.Partition({"ap"}, {"us", "eu"});
  std::map<std::string, std::string> runs;
  for (int i = 0; i < 40; ++i) {
    const std::string key = "key-" + std::to_string(i);
    runs[key] = story.Claim(i % 2 == 0 ? "us" : "eu", key);
    story.Run(20);
  }
  story.Run(1000);
  EXPECT_LT(story.cluster.gossip("us").journal().CountFrames(), 40u) << "it was cut";
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  for (const auto& [key, run] : runs) {
    const Slot* slot = story.SlotIn("ap", key);
    ASSERT_NE(slot, nullptr) << key;
    EXPECT_EQ(slot->claims(0).run_id(), run);
  }
}

TEST(Backlog, S_12_AJournalOfManyFramesIsDroppedToTheLast) {
  Story story;
  story.cluster.Partition({"ap"}, {"us", "eu"});
  constexpr int kFrames = 10'100;  // more than go at once
  for (int i = 0; i < kFrames; ++i) story.Begin("us", "key-" + std::to_string(i));
  EXPECT_GT(story.cluster.gossip("us").journal().CountFrames(), 10'000u);
  story.cluster.Heal();
  story.Run(20'000);
  EXPECT_EQ(story.cluster.gossip("us").journal().CountFrames(), 0u);
  EXPECT_NE(story.SlotIn("ap", "key-" + std::to_string(kFrames - 1)), nullptr);
}

TEST(BadNetwork, AFarBehindPeerIsToldNoMoreThanItsLinkTakes) {
  ClusterOptions options;
  options.gossip.window_bytes = 1000;
  Story story(options);
  LinkRules slow;
  slow.bytes_per_ms = 2;
  slow.queue_bytes_max = 16'000;
  story.cluster.network().SetRules(slow);
  story.cluster.network().Cut("eu", "us");
  std::vector<std::string> runs;
  for (int i = 0; i < 200; ++i) {
    Command begin = BeginCommand("acme", "k" + std::to_string(i), 1, 60'000, 60'000'000);
    runs.push_back(story.Do("eu", begin).claim.run_id());
  }
  story.cluster.Heal();
  std::size_t unsent = 0;
  ASSERT_TRUE(story.cluster.time().RunUntil(
      [&] {
        unsent = std::max(unsent, story.cluster.transport("eu").Unsent("us"));
        return story.cluster.Converged();
      },
      60'000));
  EXPECT_GT(unsent, 1000u);
  EXPECT_LE(unsent, 16'000u);
  for (int i = 0; i < 200; ++i)
    EXPECT_EQ(story.SlotIn("us", "k" + std::to_string(i))->claims(0).run_id(),
              runs[static_cast<std::size_t>(i)]);
}

}  // namespace
}  // namespace once
