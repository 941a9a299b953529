// Stories of conflicts between claims: which one stands, what a retry gets, what is counted.
#include <algorithm>

#include "tests/story/story.h"

namespace once {
namespace {

using Kind = Answer::Kind;

void ExpectEverywhere(Story& story, const std::string& key, const std::string& winner) {
  for (const std::string& region : story.cluster.regions()) {
    const Answer retry = story.Begin(region, key);
    EXPECT_EQ(retry.kind, Kind::kReplay) << region;
    EXPECT_EQ(retry.claim.run_id(), winner) << region;
    EXPECT_EQ(retry.outcome.body(), "answer of " + winner) << region;
  }
}

TEST(Conflicts, S_35_ALowerRunThatComesLaterIsReachedInOneHop) {
  Story story;
  story.CutAll();
  std::vector<std::string> runs;
  for (const char* region : {"eu", "us", "ap"}) {
    runs.push_back(story.Claim(region, "k1"));
    story.Run(5);
  }
  story.HealLink("us", "ap");
  story.Run(2000);
  ASSERT_EQ(story.Conflicts("ap").size(), 1u);
  EXPECT_EQ(story.Conflicts("ap")[0].winner(), runs[1]);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  for (const std::string& region : story.cluster.regions()) {
    const Slot& slot = *story.SlotIn(region, "k1");
    for (const std::string& loser : {runs[1], runs[2]}) {
      ASSERT_NE(RedirectOf(slot, loser), nullptr);
      EXPECT_EQ(RedirectOf(slot, loser)->run_id(), runs[0]) << region;
    }
    EXPECT_EQ(RedirectOf(slot, runs[0]), nullptr) << "acyclic";
  }
  EXPECT_EQ(story.ConflictsCounted(), 2u) << "the second, lower survivor is not counted again";
  EXPECT_EQ(story.Conflicts("ap")[0].winner(), runs[1]) << "as first seen";
  ExpectEverywhere(story, "k1", runs[0]);
}

TEST(Conflicts, S_36_FoundAfterOneSideExpiredTheComponentDecidesAndNothingIsResurrected) {
  ClusterOptions options;
  options.retention_ms = 60'000;
  Story story(options);
  story.CutAll();
  const std::string early = story.Claim("eu", "k1");
  story.Run(30'000);
  const std::string late = story.Claim("us", "k1");
  story.Run(45'000);  // the first is over by itself
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.ConflictsCounted(), 1u);
  ExpectEverywhere(story, "k1", early);
  story.Run(30'000);  // the second is over too
  const Answer fresh = story.Begin("eu", "k1");
  EXPECT_EQ(fresh.kind, Kind::kExecute);
  EXPECT_NE(fresh.claim.run_id(), early);
  EXPECT_NE(fresh.claim.run_id(), late);
}

TEST(Conflicts, S_37_ABridgingClaimGivesTheSameResultInEveryOrder) {
  const std::vector<std::pair<std::string, std::string>> links = {
      {"eu", "us"}, {"us", "ap"}, {"eu", "ap"}};
  for (const auto& [a, b] : links) {
    ClusterOptions options;
    options.retention_ms = 24'000;
    Story story(options);
    story.CutAll();
    const std::string first = story.Claim("eu", "k1");
    story.Run(23'000);
    const std::string bridge = story.Claim("us", "k1");
    story.Run(2'000);
    const std::string last = story.Claim("ap", "k1");
    story.HealLink(a, b);
    story.Run(1000);
    std::uint64_t counted = story.ConflictsCounted();
    EXPECT_EQ(counted, a == "eu" && b == "ap" ? 0u : 1u) << "first and last do not overlap";
    story.cluster.Heal();
    ASSERT_TRUE(story.RunUntilQuiet());
    EXPECT_EQ(story.Survivor("k1"), first) << a << b;
    EXPECT_EQ(story.ConflictsCounted(), 2u);
    for (const std::string& loser : {bridge, last})
      EXPECT_EQ(RedirectOf(*story.SlotIn("us", "k1"), loser)->run_id(), first);
  }
}

TEST(Conflicts, S_38_AnExpiredClaimThatArrivesLateIsNoZombie) {
  ClusterOptions options;
  options.retention_ms = 5'000;
  options.forget_grace_ms = 3'000;
  Story story(options);
  story.cluster.Partition({"ap"}, {"eu", "us"});
  const std::string old = story.Claim("eu", "k1");
  story.Run(20'000);
  EXPECT_NE(story.SlotIn("eu", "k1"), nullptr) << "ap lacks it";
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  const Answer fresh = story.Begin("ap", "k1");
  EXPECT_EQ(fresh.kind, Kind::kExecute);
  EXPECT_NE(fresh.claim.run_id(), old);
  EXPECT_EQ(story.Complete("ap", fresh).kind, Kind::kDone);
  ASSERT_TRUE(story.RunUntilQuiet(2000));
  ExpectEverywhere(story, "k1", fresh.claim.run_id());
  EXPECT_EQ(story.ConflictsCounted(), 0u);
}

TEST(Conflicts, S_40_WithDifferentBodiesTheSurvivorsRules) {
  Story story;
  story.cluster.Partition({"eu"}, {"us", "ap"});
  const std::string winner = story.Claim("eu", "k1", 1);
  story.Run(5);
  const std::string loser = story.Claim("us", "k1", 2);
  ASSERT_LT(winner, loser);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  for (const std::string& region : story.cluster.regions()) {
    EXPECT_EQ(story.Begin(region, "k1", 1).kind, Kind::kReplay);
    const Answer other = story.Begin(region, "k1", 2);
    EXPECT_EQ(other.kind, Kind::kMismatch) << region;
    EXPECT_EQ(other.claim.run_id(), winner) << "existingRunId";
  }
  ASSERT_EQ(story.Conflicts("us").size(), 1u);
  EXPECT_TRUE(story.Conflicts("us")[0].payload_divergent());
}

TEST(Conflicts, S_41_ASuccessReplacesARetryableOutcomeOfAnotherRegion) {
  Story story;
  story.cluster.Partition({"eu"}, {"us", "ap"});
  const Answer tried = story.Begin("eu", "k1");
  EXPECT_EQ(story.Complete("eu", tried, 503).kind, Kind::kDone);
  const std::string success = story.Claim("us", "k1");
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  ExpectEverywhere(story, "k1", success);
  EXPECT_EQ(story.ConflictsCounted(), 0u) << "it gave way, it did not lose";
}

TEST(Conflicts, S_41_ARetryableOutcomeIsNeverServedAnywhere) {
  Story story;
  const Answer tried = story.Begin("eu", "k1");
  story.Complete("eu", tried, 503);
  story.Run(100);
  EXPECT_EQ(story.Begin("us", "k1").kind, Kind::kExecute) << "it blocks nobody elsewhere";
  story.Run(100);
  EXPECT_EQ(story.Begin("eu", "k1").kind, Kind::kInFlight) << "us is on it";
}

TEST(Conflicts, S_42_ACompletionThatComesWhileItsRegionLosesIsNotServed) {
  Story story;
  story.cluster.Partition({"eu"}, {"us", "ap"});
  const Answer slow = story.Begin("eu", "k1");  // lower, but under way
  story.Run(5);
  const std::string winner = story.Claim("us", "k1");
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  const Answer late = story.Complete("eu", slow);
  EXPECT_EQ(late.kind, Kind::kStaleFence);
  EXPECT_EQ(late.claim.state(), SUPERSEDED);
  EXPECT_EQ(late.winner, winner);
  EXPECT_EQ(story.Complete("eu", slow).winner, winner) << "the same to a repetition";
  EXPECT_EQ(story.Complete("eu", slow, 404).winner, winner);
  ASSERT_TRUE(story.RunUntilQuiet());
  for (const std::string& region : story.cluster.regions()) {
    ASSERT_EQ(story.Listed(region).size(), 1u) << region;
    const Conflict evidence = story.Listed(region)[0];
    EXPECT_EQ(evidence.kind(), LATE_COMPLETION);
    EXPECT_EQ(evidence.loser(), slow.claim.run_id());
    EXPECT_EQ(evidence.winner(), winner);
    EXPECT_EQ(evidence.late_status(), 200u) << "what it said first";
    for (const Claim& claim : story.SlotIn(region, "k1")->claims())
      EXPECT_EQ(claim.outcome().body(), "answer of " + claim.run_id()) << "kept, not served";
  }
  EXPECT_EQ(story.ConflictsCounted(), 0u);
  ExpectEverywhere(story, "k1", winner);
}

TEST(Conflicts, S_42_AnExecutedDuplicateIsCountedOnceByItsHome) {
  Story story;
  story.cluster.Partition({"eu"}, {"us", "ap"});
  const Answer slow = story.Begin("eu", "k1");
  const Answer failing = story.Begin("eu", "k2");
  story.Run(5);
  story.Claim("us", "k1");
  story.Claim("us", "k2");
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  const auto counted = [&story](const std::string& region) {
    const std::string page = story.cluster.metrics(region).Text({});
    const auto at = page.find("once_late_completions_total{");
    return at == std::string::npos ? "0" : page.substr(page.find("} ", at) + 2, 1);
  };
  for (int i = 0; i < 3; ++i) story.Complete("eu", slow);
  story.Complete("eu", failing, 422);
  EXPECT_EQ(counted("eu"), "1") << "repeated, and beside one that failed";
  story.cluster.Crash("eu");
  story.cluster.Restart("eu");
  story.Complete("eu", slow);
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(counted("eu"), "1");
  EXPECT_EQ(counted("us"), "0");
  EXPECT_EQ(counted("ap"), "0");
  EXPECT_EQ(story.ConflictsCounted(), 0u) << "it did not lose";
}

TEST(Conflicts, S_42_ACompletionDuringTheCutCompetesByItsRunId) {
  Story story;
  story.cluster.Partition({"eu"}, {"us", "ap"});
  const Answer slow = story.Begin("eu", "k1");
  story.Run(5);
  const std::string loser = story.Claim("us", "k1");
  EXPECT_EQ(story.Complete("eu", slow).kind, Kind::kDone);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  ExpectEverywhere(story, "k1", slow.claim.run_id());
  EXPECT_EQ(story.Conflicts("us").at(0).loser(), loser);
  const Slot& slot = *story.SlotIn("ap", "k1");
  ASSERT_EQ(slot.claims_size(), 2) << "the loser's answer is kept as evidence";
  for (const Claim& claim : slot.claims())
    EXPECT_EQ(claim.outcome().body(), "answer of " + claim.run_id());
}

TEST(Conflicts, S_43_TenantsWithTheSameKeyAreIndependent) {
  Story story;
  story.cluster.Partition({"eu"}, {"us", "ap"});
  const std::string acme = story.Claim("eu", "k1");
  const Answer globex = story.Begin("us", "k1", 1, "globex");
  EXPECT_EQ(globex.kind, Kind::kExecute);
  story.cluster.Heal();
  ASSERT_TRUE(story.RunUntilQuiet());
  EXPECT_EQ(story.ConflictsCounted(), 0u);
  EXPECT_EQ(story.Survivor("k1", "acme"), acme);
  EXPECT_EQ(story.SlotIn("ap", "k1", "globex")->claims(0).run_id(), globex.claim.run_id());
}

TEST(Conflicts, OW_MR_07_TheLowestRunIdWinsInEveryOrderOfClaimsAndOfMeeting) {
  std::vector<std::string> order = {"ap", "eu", "us"};
  const std::vector<std::pair<std::string, std::string>> links = {
      {"ap", "eu"}, {"eu", "us"}, {"ap", "us"}};
  do {
    for (std::size_t first = 0; first < links.size(); ++first) {
      Story story;
      story.CutAll();
      std::vector<std::string> runs;
      for (const std::string& region : order) {
        runs.push_back(story.Claim(region, "k1"));
        story.Run(2);
      }
      for (std::size_t i = 0; i < links.size(); ++i) {
        const auto& [a, b] = links[(first + i) % links.size()];
        story.HealLink(a, b);
        story.Run(300);
      }
      ASSERT_TRUE(story.RunUntilQuiet());
      EXPECT_EQ(story.Survivor("k1"), *std::min_element(runs.begin(), runs.end()));
      EXPECT_EQ(story.ConflictsCounted(), 2u);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace once
