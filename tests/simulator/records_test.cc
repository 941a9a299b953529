// Records of losers and late completions, and fences at home over all lives of a directory: right,
// and wrong in every way.
#include "simulator/checks.h"
#include "simulator/oracle.h"
#include "tests/simulator/calls.h"
#include "tests/story/story.h"

namespace once {
namespace {

using Heard = Operation::Answer;

std::string WhatIs(const Violations& violations) {
  std::string all;
  for (const Violation& violation : violations) all += violation.what + "\n";
  return all;
}

/// us has lost against eu; everybody knows.
class Records : public testing::Test {
 protected:
  Records() {
    story_.cluster.Partition({"eu"}, {"us", "ap"});
    story_.Claim("eu", "k1");
    story_.Run(5);
    loser_ = story_.Claim("us", "k1");
    story_.cluster.Heal();
    EXPECT_TRUE(story_.RunUntilQuiet());
  }
  std::string Judged() {
    std::string all = WhatIs(CheckRecords(story_.cluster, ReadHoldings(story_.cluster)));
    for (const std::string& region : story_.cluster.regions())
      all += WhatIs(CheckCounters(story_.cluster, region));
    return all;
  }
  /// What ap holds under that key becomes something else.
  void Change(const std::string& key, const std::optional<std::string>& value) {
    story_.cluster.Crash("ap");
    {
      MemoryStore store(story_.cluster.disk("ap"), story_.cluster.time());
      KvBatch batch;
      value ? batch.Put(key, *value) : batch.Delete(key);
      store.Write(std::move(batch));
      store.Sync([](KvStatus) {});
      story_.Run(1);
    }
    story_.cluster.Restart("ap");
    story_.Run(500);
  }

  Story story_;
  std::string loser_;
};

TEST_F(Records, TheSameEverywhereAreRight) {
  EXPECT_EQ(Judged(), "");
}

TEST_F(Records, OneThatIsMissingIsFound) {
  Change(keys::Conflict(1), std::nullopt);
  EXPECT_EQ(Judged(), "ap does not list the loser " + loser_ + " as eu\n" +
                          "ap does not list the loser " + loser_ + " as us\n");
}

TEST_F(Records, OneThatSaysSomethingElseIsFound) {
  Conflict conflict = story_.Listed("ap").at(0);
  conflict.set_payload_divergent(true);
  Change(keys::Conflict(1), conflict.SerializeAsString());
  EXPECT_NE(Judged().find("lists otherwise than"), std::string::npos);
}

TEST_F(Records, ACounterThatCountsOtherwiseIsFound) {
  story_.cluster.metrics("us").Conflict("acme", "POST /pay", "eu|us");
  EXPECT_EQ(Judged(), "us counts 2 losers and lists 1\n");
}

TEST_F(Records, ASuccessThatCameLateIsAskedForEverywhere) {
  story_.cluster.Partition({"eu"}, {"us", "ap"});
  const Answer slow = story_.Begin("eu", "k2");
  story_.Run(5);
  const std::string winner = story_.Claim("us", "k2");
  story_.cluster.Heal();
  ASSERT_TRUE(story_.RunUntilQuiet());
  Calls calls;
  Operation& late = calls.Settle(100, 101, Heard::kStaleFence, slow.claim.run_id(),
                                 slow.claim.fence(), "charged");
  late.winner = winner;
  EXPECT_EQ(CheckLateCompletions(story_.cluster, calls.history).size(), 3u) << "nobody lists it";
  EXPECT_EQ(story_.Complete("eu", slow).winner, winner);
  ASSERT_TRUE(story_.RunUntilQuiet());
  EXPECT_EQ(WhatIs(CheckLateCompletions(story_.cluster, calls.history)), "");
  EXPECT_EQ(Judged(), "");
  late.status = 422;
  EXPECT_EQ(WhatIs(CheckLateCompletions(story_.cluster, calls.history)), "") << "not executed";
}

class HomeFences : public testing::Test {
 protected:
  Operation& Grant(std::int64_t at_ms, const std::string& run_id, std::uint64_t fence,
                   std::uint32_t life) {
    Operation& grant = calls_.Begin(at_ms, at_ms + 1, Heard::kExecute, run_id, fence);
    grant.strict = false;
    grant.life = life;
    return grant;
  }
  std::string Judged() const { return WhatIs(CheckHomeFences(calls_.history)); }
  void Started(Fault::Kind kind, std::int64_t at_ms) {
    calls_.history.faults.push_back({kind, at_ms - 50, at_ms, "eu", "", 0});
  }

  Calls calls_;
};

TEST_F(HomeFences, RiseWithAnotherDirectoryToo) {
  Grant(0, "A", 5, 0);
  Grant(3000, "A", 9, 1);
  Grant(6000, "B", 12, 2);
  Grant(6000, "C", 3, 0).region = "us";
  EXPECT_EQ(Judged(), "");
}

TEST_F(HomeFences, OneThatDoesNotRiseIsFound) {
  Grant(0, "A", 5, 0);
  Grant(3000, "B", 5, 1);
  EXPECT_EQ(Judged(), "eu acme/k #2 run B was given fence 5 after #1 had got 5\n");
}

TEST_F(HomeFences, OnlyTwoStartsWithinTheBoundExcuse) {
  calls_.history.regions = {"eu"};
  Started(Fault::Kind::kEmptied, 4000);
  Grant(4100, "A", 5, 1);
  Grant(5500, "B", 4, 2);
  Started(Fault::Kind::kEmptied, 4900);
  EXPECT_EQ(Judged(), "");
  calls_.history.faults.back().to_ms = 5100;
  EXPECT_NE(Judged(), "") << "the clock cannot have gone back so far";
}

TEST_F(HomeFences, WithinOneDirectoryNothingExcuses) {
  calls_.history.regions = {"eu"};
  Started(Fault::Kind::kCrash, 4000);
  Grant(4100, "A", 5, 0);
  Started(Fault::Kind::kCrash, 4500);
  Grant(4600, "A", 4, 0);
  EXPECT_NE(Judged(), "");
}

}  // namespace
}  // namespace once
