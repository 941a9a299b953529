// Random minutes of a strict group under crashes, cuts, loss, slow and full disks: what was
// acknowledged stays, and nothing is admitted twice.
#include "tests/strict/strict_story.h"

namespace once {
namespace {

using Kind = Answer::Kind;

class Minute {
 public:
  explicit Minute(std::uint64_t seed) : random_(seed), story_(Options(seed)) {}

  void Play() {
    for (int step = 0; step < 300; ++step) {
      Disturb();
      for (int i = 0; i < 3; ++i) Call();
      story_.Run(static_cast<std::int64_t>(random_.Below(300)));
    }
    Mend();
  }

  void Check() {
    ASSERT_FALSE(story_.AwaitLeader().empty());
    ASSERT_TRUE(story_.AllEqual());
    for (const auto& [key, id] : completed_) {
      const Answer again = story_.BeginPatiently("eu", key);
      EXPECT_EQ(again.kind, Kind::kReplay) << key;
      EXPECT_EQ(again.claim.run_id(), id) << key;
    }
    EXPECT_FALSE(completed_.empty());
  }

 private:
  static ClusterOptions Options(std::uint64_t seed) {
    ClusterOptions options;
    options.seed = seed;
    options.strict_log_entries = 16;
    options.lease_ms = 1000;
    return options;
  }
  std::string Region() { return story_.cluster.regions()[random_.Below(3)]; }

  // A caller begins; who is told to execute completes. Both may be answered much later, or never.
  void Call() {
    const std::string region = Region();
    if (!story_.cluster.IsUp(region)) return;
    const std::string key = "k" + std::to_string(random_.Below(60));
    const bool settled = completed_.count(key) > 0;
    story_.cluster.Submit(region, BeginCommand("acme", key, 1, 1000, 3'600'000),
                          [this, region, key, settled](const Answer& begun) {
                            EXPECT_FALSE(settled && begun.kind == Kind::kExecute) << key;
                            Begun(region, key, begun);
                          });
  }
  void Begun(const std::string& region, const std::string& key, const Answer& begun) {
    if (begun.kind == Kind::kReplay) {
      EXPECT_EQ(begun.claim.run_id(),
                completed_.try_emplace(key, begun.claim.run_id()).first->second);
      return;
    }
    if (begun.kind != Kind::kExecute) return;
    EXPECT_TRUE(fences_.insert(begun.claim.fence()).second) << "a fence was given twice";
    const std::string at = random_.OneIn(2) ? region : Region();
    if (!story_.cluster.IsUp(at) || random_.OneIn(5)) return;  // the owner dies
    const Command command = Story::CompleteCommand(begun);
    story_.cluster.Submit(at, command, [this, key, id = begun.claim.run_id()](const Answer& done) {
      if (done.kind != Kind::kDone && done.kind != Kind::kReplay) return;
      EXPECT_EQ(completed_.try_emplace(key, id).first->second, id) << "completed twice";
    });
  }

  void Disturb() {
    const std::string region = Region();
    const bool up = story_.cluster.IsUp(region);
    switch (random_.Below(14)) {
      case 0:
        if (up) story_.cluster.Crash(region);
        break;
      case 1:
      case 2:
        if (!up) story_.cluster.Restart(region);
        break;
      case 3:
        story_.cluster.Partition({region}, story_.Others(region));
        break;
      case 4:
      case 5:
        story_.cluster.Heal();
        break;
      case 6:
        story_.cluster.disk(region).SetSyncDelay(static_cast<std::int64_t>(random_.Below(100)));
        break;
      case 7:
        story_.cluster.disk(region).SetFull(random_.OneIn(4));
        break;
      case 8: {
        LinkRules rules;
        rules.loss_percent = static_cast<std::uint32_t>(random_.Below(20));
        rules.repeat_percent = static_cast<std::uint32_t>(random_.Below(20));
        rules.very_late_permille = static_cast<std::uint32_t>(random_.Below(20));
        story_.cluster.network().SetRules(rules);
        break;
      }
      case 9:
        if (up && story_.Leader() == region)
          story_.Group(region).engine().Transfer(story_.Others(region)[0] + "/0");
        break;
      default:
        break;
    }
  }
  void Mend() {
    story_.cluster.Heal();
    story_.cluster.network().SetRules({});
    for (const std::string& region : story_.cluster.regions()) {
      story_.cluster.disk(region).SetFull(false);
      story_.cluster.disk(region).SetSyncDelay(0);
      // A start on a full disk ends the process.
      if (story_.cluster.IsUp(region)) story_.cluster.Crash(region);
      story_.cluster.Restart(region);
    }
  }

  Random random_;
  StrictStory story_;
  std::map<std::string, std::string> completed_;  // acknowledged, by key
  std::set<std::uint64_t> fences_;
};

class StrictChaos : public testing::TestWithParam<int> {};

TEST_P(StrictChaos, NothingIsAdmittedTwiceAndNothingAcknowledgedIsLost) {
  Minute minute(static_cast<std::uint64_t>(GetParam()));
  minute.Play();
  minute.Check();
}

INSTANTIATE_TEST_SUITE_P(Seeds, StrictChaos, testing::Range(1, 61));

}  // namespace
}  // namespace once
