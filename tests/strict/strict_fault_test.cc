// What falls between two steps of a strict request: a lost answer, clogged links, a crash at every
// step, a restart loop, an owner that does not come back, the loss of the leader.
#include "tests/strict/strict_story.h"

namespace once {
namespace {

using Kind = Answer::Kind;

// A lease that no test outlasts: whoever executes is the only one.
ClusterOptions WithLongLeases(std::uint64_t seed = 1) {
  ClusterOptions options;
  options.seed = seed;
  options.lease_ms = 600'000;
  return options;
}

TEST(Strict, S_06_ALostAnswerIsFoundByTheRetryInEveryRegion) {
  StrictStory story(WithLongLeases());
  const std::string leader = story.Leader();
  const std::string asker = story.Followers()[0];
  const std::string third = story.Followers()[1];
  story.cluster.network().on_deliver = [&](const std::string& from, const std::string& to,
                                           const std::string& message) {
    StrictMessage parsed;
    if (from == asker && to == leader && message[0] == '\0' &&
        parsed.ParseFromString(message.substr(1)) && parsed.requests_size() > 0)
      story.cluster.network().Cut(leader, asker);
  };
  EXPECT_EQ(story.CreateRun(asker, "k", "delay").kind, Kind::kUnavailable);
  ASSERT_TRUE(story.cluster.network().IsCut(leader, asker)) << "it was asked";
  story.cluster.network().on_deliver = nullptr;
  const Answer elsewhere = story.CreateRun(third, "k", "delay");
  EXPECT_EQ(elsewhere.kind, Kind::kReplay) << "it had been decided";
  story.cluster.Heal();
  ASSERT_TRUE(story.AllEqual());
  for (const std::string& region : story.cluster.regions()) {
    const Answer again = story.CreateRun(region, "k", "delay");
    EXPECT_EQ(again.kind, Kind::kReplay) << region;
    EXPECT_EQ(again.claim.run_id(), elsewhere.claim.run_id()) << region;
    EXPECT_EQ(story.Group(region).tables().ActiveRuns().size(), 1u) << region;
  }
}

// Who was told to execute which key, and what was replayed.
struct Heard {
  std::map<std::string, std::vector<Answer>> executes;
  std::map<std::string, std::set<std::string>> runs;

  void Note(const std::string& key, const Answer& answer) {
    if (answer.kind == Kind::kExecute) executes[key].push_back(answer);
    if (answer.kind == Kind::kExecute || answer.kind == Kind::kInFlight ||
        answer.kind == Kind::kReplay)
      runs[key].insert(answer.claim.run_id());
  }
};

TEST(Strict, S_08_SwizzleClogGivesEveryKeyOneOwner) {
  std::size_t during_clogs = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    StrictStory story(WithLongLeases(seed));
    const std::vector<std::string> regions = story.cluster.regions();
    Heard heard;
    const auto ask = [&](const std::string& region, const std::string& key) {
      story.cluster.Submit(region, BeginCommand("acme", key, 1, 600'000, 3'600'000),
                           [&heard, key](const Answer& answer) { heard.Note(key, answer); });
    };
    for (int round = 0; round < 6; ++round) {
      const std::string key = "k" + std::to_string(round);
      for (const std::string& from : regions) {
        for (const std::string& to : story.Others(from)) story.cluster.network().Clog(from, to);
        for (const std::string& region : regions) ask(region, key);
        story.Run(30 + 400 * (round % 3));
      }
      during_clogs += heard.executes.size();
      for (std::size_t i = regions.size(); i-- > 0;) {
        for (const std::string& to : story.Others(regions[i]))
          story.cluster.network().Unclog(regions[i], to);
        story.Run(70);
      }
    }
    story.AwaitLeader();
    ASSERT_TRUE(story.AllEqual());
    for (int round = 0; round < 6; ++round) {
      const std::string key = "k" + std::to_string(round);
      for (const std::string& region : regions) heard.Note(key, story.BeginPatiently(region, key));
      EXPECT_LE(heard.executes[key].size(), 1u) << key << " of seed " << seed;
      EXPECT_EQ(heard.runs[key].size(), 1u) << key << " of seed " << seed;
      EXPECT_EQ(story.StrictSlot("eu", key)->claims_size(), 1) << key;
    }
  }
  EXPECT_GT(during_clogs, 0u) << "some were answered while links were clogged";
}

// A claim is begun and completed, and the process dies after so many steps of the world.
class DyingStory {
 public:
  explicit DyingStory(std::uint64_t seed) : story_(WithLongLeases(seed)) {
    for (const std::string& region : story_.cluster.regions())
      story_.cluster.disk(region).SetSyncDelay(3);
    leader_ = story_.Leader();
    asker_ = seed % 2 ? leader_ : story_.Followers()[0];
    // The third is no help: what is acknowledged is on the disks of the other two.
    story_.cluster.disk(story_.Followers()[1]).SetSyncDelay(60);
  }

  void RunSteps(int steps) {
    story_.cluster.Submit(
        asker_, BeginCommand("acme", "k", 1, 600'000, 3'600'000), [this](const Answer& begun) {
          if (begun.kind != Kind::kExecute) return;
          owned = begun;
          story_.cluster.Submit(asker_, Story::CompleteCommand(begun), [this](const Answer& done) {
            completed = done.kind == Kind::kDone;
          });
        });
    for (int i = 0; i < steps && !completed; ++i) story_.cluster.time().RunOne();
  }
  void CrashAndCheck(bool all) {
    // An asker who lives goes on asking.
    const std::optional<Answer> owned_then = owned;
    const bool completed_then = completed;
    for (const std::string& region : story_.cluster.regions())
      if (all || region == leader_) story_.cluster.Crash(region);
    for (const std::string& region : story_.cluster.regions())
      if (!story_.cluster.IsUp(region)) story_.cluster.Restart(region);
    story_.AwaitLeader();
    const Answer again = story_.BeginPatiently(asker_, "k");
    EXPECT_TRUE(!completed_then || again.kind == Kind::kReplay);
    if (owned_then) {
      EXPECT_NE(again.kind, Kind::kExecute) << "two owners";
      EXPECT_EQ(again.claim.run_id(), owned_then->claim.run_id());
      EXPECT_EQ(again.claim.fence(), owned_then->claim.fence());
    }
    EXPECT_TRUE(story_.AllEqual());
  }

  std::optional<Answer> owned;
  bool completed = false;

 private:
  StrictStory story_;
  std::string leader_;
  std::string asker_;
};

TEST(Strict, S_18_AcknowledgedImpliesDurableWhereverTheCrashFalls) {
  int nothing = 0, begun = 0, completed = 0;
  for (int steps = 0; steps < 240; ++steps)
    for (const bool all : {false, true}) {
      DyingStory story(static_cast<std::uint64_t>(steps / 2));
      story.RunSteps(steps);
      (story.completed ? completed : story.owned ? begun : nothing)++;
      story.CrashAndCheck(all);
      ASSERT_FALSE(testing::Test::HasFailure()) << steps << (all ? " all" : " leader");
    }
  EXPECT_GT(nothing, 10);
  EXPECT_GT(begun, 10) << "crashes between the two acknowledgements";
  EXPECT_GT(completed, 10);
}

TEST(Strict, S_25_ARegionInARestartLoopCarriesNothingOutTwice) {
  StrictStory story;
  const std::string unsteady = story.Leader();
  const std::string asker = story.Followers()[0];
  std::map<std::string, Claim> given;
  for (int i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i);
    const Answer owned = story.BeginPatiently(i % 2 ? asker : unsteady, key);
    ASSERT_EQ(owned.kind, Kind::kExecute) << key;
    story.cluster.Crash(unsteady);
    story.cluster.Restart(unsteady);
    if (i % 3 == 0) story.Run(500);
    Answer settled;
    for (int tries = 0; tries < 10 && settled.kind == Kind::kUnavailable; ++tries)
      settled = story.Complete(asker, owned);
    ASSERT_TRUE(settled.kind == Kind::kDone || settled.kind == Kind::kReplay) << key;
    given[key] = owned.claim;
  }
  ASSERT_TRUE(story.AllEqual());
  EXPECT_EQ(story.Group(unsteady).tables().head().slots(), given.size());
  for (const auto& [key, claim] : given) {
    const Answer again = story.BeginPatiently(unsteady, key);
    EXPECT_EQ(again.kind, Kind::kReplay) << key;
    EXPECT_EQ(again.claim.run_id(), claim.run_id()) << key;
    EXPECT_EQ(again.claim.fence(), claim.fence()) << key;
  }
}

TEST(Strict, OW_N_05_S_16_OfAllWhoReclaimAtTheSameMomentOneWins) {
  StrictStory story;
  const Answer first = story.Begin("eu", "k");
  ASSERT_EQ(first.kind, Kind::kExecute);
  story.Run(2500);
  std::vector<Answer> answers;
  for (const std::string& region : story.cluster.regions())
    for (int i = 0; i < 3; ++i)
      story.cluster.Submit(region, BeginCommand("acme", "k", 1, 2000, 3'600'000),
                           [&answers](const Answer& answer) { answers.push_back(answer); });
  ASSERT_TRUE(story.cluster.time().RunUntil([&] { return answers.size() == 9; }, 5000));
  std::vector<Answer> owners;
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.claim.run_id(), first.claim.run_id());
    if (answer.kind == Kind::kExecute) owners.push_back(answer);
  }
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_TRUE(owners[0].reclaimed);
  EXPECT_GT(owners[0].claim.fence(), first.claim.fence());
  EXPECT_EQ(story.Complete("eu", first).kind, Kind::kStaleFence);
  EXPECT_EQ(story.Complete("us", owners[0]).kind, Kind::kDone);
}

enum class Loss { kCut, kKilled, kPaused };

class LostLeader : public testing::TestWithParam<Loss> {};

// With the timings of production, on links of no more than ten milliseconds.
TEST_P(LostLeader, OW_MR_11_TheMajorityAnswersTheNextClaimWithinTwoSeconds) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    ClusterOptions options;
    options.seed = seed;
    StrictStory story(options);
    const std::string leader = story.Leader();
    const std::vector<std::string> others = story.Others(leader);
    story.Run(static_cast<std::int64_t>(seed));  // anywhere between two heartbeats
    if (GetParam() == Loss::kCut) story.cluster.Partition({leader}, others);
    if (GetParam() == Loss::kKilled) story.cluster.Crash(leader);
    if (GetParam() == Loss::kPaused) story.cluster.Pause(leader);
    const std::int64_t lost_us = story.cluster.time().MonotonicMicros();
    EXPECT_EQ(story.Begin(others[seed % 2], "k").kind, Kind::kExecute) << "seed " << seed;
    EXPECT_LE(story.cluster.time().MonotonicMicros() - lost_us, 2'000'000) << "seed " << seed;
    if (GetParam() == Loss::kPaused) story.cluster.Resume(leader);
  }
}

std::string NameOf(const testing::TestParamInfo<Loss>& info) {
  return info.param == Loss::kCut ? "Cut" : info.param == Loss::kKilled ? "Killed" : "Paused";
}

INSTANTIATE_TEST_SUITE_P(Ways, LostLeader,
                         testing::Values(Loss::kCut, Loss::kKilled, Loss::kPaused), NameOf);

}  // namespace
}  // namespace once
