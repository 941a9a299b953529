// Every order of arrival and every shape of merge tree, for three and four claims over a grid of
// windows that overlap, bridge, touch and lie apart, against the naive rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "conflict/merge.h"
#include "conflict/survivor.h"
#include "conflict/tally.h"
#include "tests/conflict/oracle.h"
#include "tests/conflict/story.h"

namespace once {
namespace {

struct Span {
  std::int64_t starts_ms;
  std::int64_t expires_ms;
};

constexpr Span kSpans[] = {{0, 24}, {23, 47}, {25, 49}, {24, 48}, {48, 72}, {0, 60}};
constexpr int kSpanCount = 6;

/// All slots that merging claims order[from..to) in this order can give, one per tree shape.
std::vector<Slot> Trees(const std::vector<Claim>& claims, const std::vector<int>& order,
                        std::size_t from, std::size_t to) {
  if (to - from == 1) return {SlotOf({claims[order[from]]})};
  std::vector<Slot> trees;
  for (std::size_t cut = from + 1; cut < to; ++cut) {
    const auto lefts = Trees(claims, order, from, cut);
    const auto rights = Trees(claims, order, cut, to);
    for (const Slot& left : lefts) {
      for (const Slot& right : rights) {
        trees.push_back(Join(left, right));
      }
    }
  }
  return trees;
}

/// Lets the claims arrive one by one; the verdict must be the naive one of what has arrived, and
/// losers must stay losers.
void ExpectNaiveVerdictAtEachStep(const std::vector<Claim>& claims, const std::vector<int>& order) {
  Slot slot = EmptySlot();
  std::vector<Claim> arrived;
  std::set<std::string> lost;
  for (int at : order) {
    arrived.push_back(claims[at]);
    MergeClaim(slot, claims[at]);
    const Verdict verdict = VerdictOf(slot);
    ASSERT_EQ(verdict, NaiveVerdict(arrived)) << slot.DebugString();
    ASSERT_TRUE(
        std::includes(verdict.losers.begin(), verdict.losers.end(), lost.begin(), lost.end()))
        << slot.DebugString();
    for (std::int64_t now_ms : {0, 23, 24, 26, 47, 50, 62, 75}) {
      ASSERT_EQ(RunIdOf(SurvivorAt(slot, now_ms, 2)), NaiveSurvivorAt(arrived, now_ms, 2))
          << now_ms << "\n"
          << slot.DebugString();
    }
    lost = verdict.losers;
  }
}

/// Claims "a", "b", ... of regions of their own; `spans` in base kSpanCount, `failures` in bits.
std::vector<Claim> Configuration(int count, int spans, int failures) {
  std::vector<Claim> claims;
  for (int at = 0; at < count; ++at, spans /= kSpanCount, failures /= 2) {
    const Span span = kSpans[spans % kSpanCount];
    const std::string name(1, static_cast<char>('a' + at));
    claims.push_back(MakeClaim(name, "region-" + name,
                               failures % 2 == 1 ? TERMINAL_FAILURE : COMPLETED, span.starts_ms,
                               span.expires_ms));
  }
  return claims;
}

int Power(int base, int exponent) {
  return exponent == 0 ? 1 : base * Power(base, exponent - 1);
}

void ExpectOneResult(const std::vector<Claim>& claims,
                     const std::vector<std::vector<int>>& orders) {
  const std::string expected = SlotOf(claims).SerializeAsString();
  for (const auto& order : orders) {
    ASSERT_NO_FATAL_FAILURE(ExpectNaiveVerdictAtEachStep(claims, order));
    for (const Slot& slot : Trees(claims, order, 0, order.size())) {
      ASSERT_EQ(slot.SerializeAsString(), expected);
    }
  }
}

TEST(Arrival, OW_MR_04_ThreeClaimsConvergeInEveryOrderAndTree) {
  const auto orders = Orders(3);
  for (int spans = 0; spans < Power(kSpanCount, 3); ++spans) {
    for (int failures = 0; failures < 8; ++failures) {
      ASSERT_NO_FATAL_FAILURE(ExpectOneResult(Configuration(3, spans, failures), orders));
    }
  }
}

TEST(Arrival, OW_MR_04_FourClaimsConvergeInEveryOrderAndTree) {
  const auto orders = Orders(4);
  for (int spans = 0; spans < Power(kSpanCount, 4); ++spans) {
    const int failures = spans % 3 == 0 ? spans / 3 % 16 : 0;
    ASSERT_NO_FATAL_FAILURE(ExpectOneResult(Configuration(4, spans, failures), orders));
  }
}

TEST(Arrival, OW_MR_05_EveryOrderCountsEachLoserOnceAtHome) {
  const auto orders = Orders(3);
  for (int spans = 0; spans < Power(kSpanCount, 3); ++spans) {
    const auto claims = Configuration(3, spans, 0);
    for (const auto& order : orders) {
      std::multiset<std::string> counted;
      for (const Claim& home : claims) {
        Slot slot = EmptySlot();
        for (int at : order) {
          MergeClaim(slot, claims[at]);
          const auto losses = NewLosses(slot, home.region());
          RecordLosses(slot, losses);
          for (const Loss& loss : losses) counted.insert(loss.run_id());
        }
      }
      const auto losers = NaiveVerdict(claims).losers;
      ASSERT_EQ(counted, std::multiset<std::string>(losers.begin(), losers.end()));
    }
  }
}

}  // namespace
}  // namespace once
