#include "conflict/survivor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "conflict/window.h"
#include "tests/conflict/oracle.h"
#include "tests/conflict/story.h"

namespace once {
namespace {

TEST(Survivor, OW_MR_06_TwoOverlappingSuccessesHaveOneSurvivor) {
  const Slot slot = SlotOf({Success("b", "us", 1, 25), Success("a", "eu", 0, 24)});
  const auto components = Components(slot);
  ASSERT_EQ(components.size(), 1u);
  EXPECT_EQ(components[0].survivor->run_id(), "a");
  ASSERT_EQ(components[0].losers.size(), 1u);
  EXPECT_EQ(components[0].losers[0]->run_id(), "b");
  EXPECT_EQ(components[0].expires_ms, 25);
}

TEST(Survivor, OW_MR_07_LowestRunIdWinsInEveryOrderForTwoToFiveRegions) {
  for (int regions = 2; regions <= 5; ++regions) {
    std::vector<Claim> claims;
    for (int at = 0; at < regions; ++at) {
      claims.push_back(Success("run-" + std::to_string(at), "r" + std::to_string(at), at, 24 + at));
    }
    for (const auto& order : Orders(regions)) {
      std::vector<Claim> arrived;
      for (int at : order) arrived.push_back(claims[at]);
      const Slot slot = SlotOf(arrived);
      EXPECT_EQ(RunIdOf(SurvivorAt(slot, 10, 0)), "run-0");
      ASSERT_EQ(Components(slot).size(), 1u);
      EXPECT_EQ(Components(slot)[0].losers.size(), static_cast<std::size_t>(regions - 1));
    }
  }
}

TEST(Survivor, OW_MR_07_AnyStringIsARunId) {
  using namespace std::string_view_literals;
  // Bytewise: a prefix first, upper before lower case, high bytes last although char is signed.
  const std::vector<std::string_view> rising = {""sv,  "\0"sv, "\0a"sv, "9"sv,       "A"sv,
                                                "a"sv, "aa"sv, "é"sv,   "\xff\x01"sv};
  for (std::size_t low = 0; low < rising.size(); ++low) {
    for (std::size_t high = low + 1; high < rising.size(); ++high) {
      EXPECT_TRUE(IsLowerRunId(rising[low], rising[high]));
      const Slot slot = SlotOf({Success(std::string(rising[high]), "us", 0, 24),
                                Success(std::string(rising[low]), "eu", 0, 24)});
      EXPECT_EQ(SurvivorAt(slot, 0, 0)->run_id(), rising[low]);
    }
  }
}

TEST(Survivor, S_37_BridgedWindowsAreOneComponentInEveryOrder) {
  // The first and the third do not overlap; the second bridges them. Each may be the lowest.
  for (const std::string ids : {"abc", "bac", "cab", "acb", "bca", "cba"}) {
    const std::vector<Claim> claims = {Success(ids.substr(0, 1), "eu", 0, 24),
                                       Success(ids.substr(1, 1), "us", 23, 47),
                                       Success(ids.substr(2, 1), "ap", 25, 49)};
    for (const auto& order : Orders(3)) {
      Slot slot = EmptySlot();
      std::set<std::string> lost;
      for (int at : order) {
        MergeClaim(slot, claims[at]);
        const Verdict verdict = VerdictOf(slot);
        EXPECT_TRUE(
            std::includes(verdict.losers.begin(), verdict.losers.end(), lost.begin(), lost.end()));
        lost = verdict.losers;
      }
      EXPECT_EQ(VerdictOf(slot).survivors, std::set<std::string>{"a"});
      EXPECT_EQ(lost, (std::set<std::string>{"b", "c"}));
    }
  }
}

TEST(Survivor, S_35_RedirectIsOneHopAfterLowerIdsArriveTwice) {
  Slot slot = SlotOf({Success("c", "ap", 0, 24)});
  EXPECT_EQ(RedirectOf(slot, "c"), nullptr);
  MergeClaim(slot, Success("b", "us", 1, 25));
  EXPECT_EQ(RunIdOf(RedirectOf(slot, "c")), "b");
  MergeClaim(slot, Success("a", "eu", 2, 26));
  EXPECT_EQ(RunIdOf(RedirectOf(slot, "c")), "a");
  EXPECT_EQ(RunIdOf(RedirectOf(slot, "b")), "a");
  EXPECT_EQ(RedirectOf(slot, "a"), nullptr);
  EXPECT_EQ(RedirectOf(slot, "unknown"), nullptr);
}

TEST(Survivor, S_36_ConflictFoundAfterOneSideExpiredFollowsTheComponent) {
  // "a" expired at 24. At 30 it arrives late: it survives, and answers as long as the component
  // does.
  Slot slot = SlotOf({Success("b", "us", 20, 44)});
  EXPECT_EQ(RunIdOf(SurvivorAt(slot, 30, 0)), "b");
  MergeClaim(slot, Success("a", "eu", 0, 24));
  EXPECT_EQ(RunIdOf(SurvivorAt(slot, 30, 0)), "a");
  EXPECT_EQ(RunIdOf(RedirectOf(slot, "b")), "a");
  EXPECT_EQ(RunIdOf(SurvivorAt(slot, 43, 0)), "a");
  EXPECT_EQ(SurvivorAt(slot, 44, 0), nullptr);
}

TEST(Survivor, S_38_AnExpiredClaimThatIsDeliveredAgainDoesNotAnswer) {
  Slot slot = EmptySlot();
  MergeClaim(slot, Success("a", "eu", 0, 24));
  EXPECT_EQ(SurvivorAt(slot, 29, 5), nullptr);
  EXPECT_EQ(RunIdOf(SurvivorAt(slot, 28, 5)), "a");
}

TEST(Survivor, AnEarlierGenerationDoesNotTouchALaterOne) {
  const Slot slot = SlotOf({Success("a", "eu", 0, 24), Success("b", "us", 24, 48)});
  EXPECT_EQ(Components(slot).size(), 2u);
  EXPECT_TRUE(VerdictOf(slot).losers.empty());
  EXPECT_EQ(RedirectOf(slot, "b"), nullptr);
  EXPECT_EQ(RunIdOf(SurvivorAt(slot, 30, 0)), "b");
}

TEST(Survivor, OfSeveralThatStillAnswerTheLatestGenerationDoes) {
  const Slot slot = SlotOf({Success("a", "eu", 0, 24), Success("b", "us", 24, 48)});
  EXPECT_EQ(RunIdOf(SurvivorAt(slot, 25, 5)), "b");
  EXPECT_EQ(RunIdOf(SurvivorAt(slot, 52, 5)), "b");
  EXPECT_EQ(SurvivorAt(slot, 53, 5), nullptr);
}

TEST(Survivor, TerminalFailureYieldsToASuccessAndIsNoLoser) {
  const Slot slot = SlotOf({Failure("a", "eu", 0, 24), Success("b", "us", 1, 25)});
  const Verdict verdict = VerdictOf(slot);
  EXPECT_EQ(verdict.survivors, std::set<std::string>{"b"});
  EXPECT_TRUE(verdict.losers.empty());
  EXPECT_EQ(RunIdOf(RedirectOf(slot, "a")), "b");
}

TEST(Survivor, TerminalFailuresAloneKeepTheLowest) {
  const Slot slot = SlotOf({Failure("b", "us", 1, 25), Failure("a", "eu", 0, 24)});
  EXPECT_EQ(RunIdOf(SurvivorAt(slot, 2, 0)), "a");
  EXPECT_TRUE(VerdictOf(slot).losers.empty());
  EXPECT_EQ(RunIdOf(RedirectOf(slot, "b")), "a");
}

TEST(Survivor, ATerminalFailureMayBridgeTwoSuccesses) {
  const Slot slot =
      SlotOf({Success("b", "eu", 0, 24), Failure("a", "us", 20, 40), Success("c", "ap", 30, 54)});
  EXPECT_EQ(VerdictOf(slot).survivors, std::set<std::string>{"b"});
  EXPECT_EQ(VerdictOf(slot).losers, std::set<std::string>{"c"});
}

TEST(Survivor, S_41_ARetryableOutcomeNeverAnswersNorCompetes) {
  Slot slot = SlotOf({Retryable("a", "eu", 0, 24)});
  EXPECT_EQ(SurvivorAt(slot, 1, 0), nullptr);
  MergeClaim(slot, Success("b", "us", 1, 25));
  EXPECT_EQ(RunIdOf(SurvivorAt(slot, 2, 0)), "b");
  EXPECT_TRUE(VerdictOf(slot).losers.empty());
  EXPECT_EQ(RedirectOf(slot, "a"), nullptr);
}

TEST(Survivor, ClaimsThatAreNotFinalDoNotBridge) {
  for (ClaimState state : {PENDING, RETRYABLE, RELEASED, SUPERSEDED, static_cast<ClaimState>(99)}) {
    const Slot slot = SlotOf({Success("b", "eu", 0, 24), MakeClaim("a", "us", state, 20, 40),
                              Success("c", "ap", 30, 54)});
    EXPECT_EQ(Components(slot).size(), 2u) << state;
    EXPECT_TRUE(VerdictOf(slot).losers.empty()) << state;
  }
}

TEST(Survivor, AClaimThatNeverExpiresAnswersForEver) {
  const Slot slot = SlotOf({Success("b", "eu", 0, kNeverMs), Success("a", "us", 10, 20)});
  EXPECT_EQ(RunIdOf(SurvivorAt(slot, kNeverMs - 1, 1'000)), "a");
}

TEST(Survivor, AnEmptyWindowStandsAloneAndDoesNotSplitItsSurroundings) {
  const Slot slot =
      SlotOf({Success("b", "eu", 0, 24), Success("a", "us", 5, 5), Success("c", "ap", 10, 34)});
  EXPECT_EQ(VerdictOf(slot).survivors, (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(VerdictOf(slot).losers, std::set<std::string>{"c"});
}

}  // namespace
}  // namespace once
