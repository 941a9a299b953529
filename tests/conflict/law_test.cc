// The laws of the conflict rule, over random sets of claims. Few run ids, versions and instants, so
// that equal, contradicting, touching and bridging claims are frequent.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "conflict/forget.h"
#include "conflict/merge.h"
#include "conflict/survivor.h"
#include "conflict/tally.h"
#include "tests/conflict/oracle.h"
#include "tests/conflict/story.h"

namespace once {
namespace {

/// Any claim at all: also such as no honest region makes.
rc::Gen<Claim> AnyClaim() {
  return rc::gen::exec([] {
    const auto state = *rc::gen::inRange(0, 8);
    const auto starts_ms = *rc::gen::inRange(0, 12);
    Claim claim = MakeClaim(*rc::gen::element<std::string>("a", "b", "c", "d"),
                            *rc::gen::element<std::string>("eu", "us"),
                            static_cast<ClaimState>(state), starts_ms, 0);
    claim.set_expires_ms(starts_ms + *rc::gen::inRange(-1, 7));
    claim.set_version(*rc::gen::inRange(1, 4));
    claim.set_created_ms(*rc::gen::inRange(0, 2));
    claim.mutable_outcome()->set_body(*rc::gen::element<std::string>("", "x", "y"));
    return claim;
  });
}

/// Honest final claims: distinct run ids, non-empty windows.
rc::Gen<std::vector<Claim>> FinalClaims() {
  return rc::gen::exec([] {
    const auto count = *rc::gen::inRange(0, 9);
    std::vector<Claim> claims;
    for (int at = 0; at < count; ++at) {
      const auto starts_ms = *rc::gen::inRange(0, 40);
      claims.push_back(MakeClaim(std::string(1, static_cast<char>('a' + at)),
                                 *rc::gen::element<std::string>("ap", "eu", "us"),
                                 *rc::gen::element(COMPLETED, COMPLETED, TERMINAL_FAILURE),
                                 starts_ms, starts_ms + *rc::gen::inRange(1, 15)));
    }
    return claims;
  });
}

/// The claims in a random order.
std::vector<Claim> Shuffled(std::vector<Claim> claims) {
  for (std::size_t left = claims.size(); left > 1; --left) {
    std::swap(claims[left - 1], claims[*rc::gen::inRange<std::size_t>(0, left)]);
  }
  return claims;
}

std::string Bytes(const Slot& slot) {
  return slot.SerializeAsString();
}

bool Includes(const std::set<std::string>& all, const std::set<std::string>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

RC_GTEST_PROP(Law, MergeIsCommutativeAssociativeAndIdempotent, ()) {
  const Slot a = SlotOf(*rc::gen::container<std::vector<Claim>>(AnyClaim()));
  const Slot b = SlotOf(*rc::gen::container<std::vector<Claim>>(AnyClaim()));
  const Slot c = SlotOf(*rc::gen::container<std::vector<Claim>>(AnyClaim()));
  RC_ASSERT(Bytes(Join(a, b)) == Bytes(Join(b, a)));
  RC_ASSERT(Bytes(Join(Join(a, b), c)) == Bytes(Join(a, Join(b, c))));
  RC_ASSERT(Bytes(Join(a, a)) == Bytes(a));
  RC_ASSERT(Bytes(Join(Join(a, b), b)) == Bytes(Join(a, b)));
}

RC_GTEST_PROP(Law, MergeReportsEveryChangeAndKeepsTheOrder, ()) {
  Slot slot = SlotOf(*rc::gen::container<std::vector<Claim>>(AnyClaim()));
  const std::string before = Bytes(slot);
  const Merged merged = MergeClaim(slot, *AnyClaim());
  if (merged == Merged::kUnchanged) RC_ASSERT(Bytes(slot) == before);
  if (merged == Merged::kAdded || merged == Merged::kAdvanced) RC_ASSERT(Bytes(slot) != before);
  for (int at = 1; at < slot.claims_size(); ++at) {
    RC_ASSERT(slot.claims(at - 1).run_id() < slot.claims(at).run_id());
  }
}

RC_GTEST_PROP(Law, TheVerdictIsTheNaiveOneInAnyOrder, ()) {
  const auto claims = *FinalClaims();
  const Slot slot = SlotOf(Shuffled(claims));
  RC_ASSERT(VerdictOf(slot) == NaiveVerdict(claims));
  const auto now_ms = *rc::gen::inRange(0, 60);
  const auto skew_ms = *rc::gen::inRange(0, 4);
  RC_ASSERT(RunIdOf(SurvivorAt(slot, now_ms, skew_ms)) == NaiveSurvivorAt(claims, now_ms, skew_ms));
}

RC_GTEST_PROP(Law, OnceALoserAlwaysALoser, ()) {
  Slot slot = EmptySlot();
  Verdict before;
  for (const Claim& claim : Shuffled(*FinalClaims())) {
    MergeClaim(slot, claim);
    const Verdict after = VerdictOf(slot);
    RC_ASSERT(Includes(after.losers, before.losers));
    for (const auto& [run_id, winner] : before.redirects)
      RC_ASSERT(after.redirects.count(run_id) == 1u);
    before = after;
  }
}

RC_GTEST_PROP(Law, EachMemberHasOneRoleAndRedirectsAreOneHop, ()) {
  const Slot slot = SlotOf(*rc::gen::container<std::vector<Claim>>(AnyClaim()));
  std::set<std::string> seen;
  for (const Component& component : Components(slot)) {
    const auto& losers = component.losers;
    for (const Claim* member : component.members) {
      RC_ASSERT(seen.insert(member->run_id()).second);
      const bool survives = member == component.survivor;
      RC_ASSERT(RedirectOf(slot, member->run_id()) == (survives ? nullptr : component.survivor));
      RC_ASSERT(std::count(losers.begin(), losers.end(), member) ==
                (!survives && member->state() == COMPLETED ? 1 : 0));
    }
  }
  for (const Claim& claim : slot.claims()) {
    const Claim* winner = RedirectOf(slot, claim.run_id());
    if (winner) RC_ASSERT(RedirectOf(slot, winner->run_id()) == nullptr);
  }
}

RC_GTEST_PROP(Law, OW_MR_05_LossesOverAllRegionsAreTheLosersEachOnce, ()) {
  const auto claims = *FinalClaims();
  std::map<std::string, int> counted;
  for (const std::string region : {"ap", "eu", "us"}) {
    Slot slot = EmptySlot();
    auto arrivals = Shuffled(claims);
    const auto again = Shuffled(claims);
    arrivals.insert(arrivals.end(), again.begin(), again.end());
    for (const Claim& claim : arrivals) {
      MergeClaim(slot, claim);
      const auto losses = NewLosses(slot, region);
      for (const Loss& loss : losses) ++counted[loss.run_id()];
      RC_ASSERT(RecordLosses(slot, losses) == static_cast<int>(losses.size()));
    }
  }
  const auto losers = NaiveVerdict(claims).losers;
  RC_ASSERT(counted.size() == losers.size());
  for (const auto& [run_id, times] : counted) {
    RC_ASSERT(times == 1);
    RC_ASSERT(losers.count(run_id) == 1u);
  }
}

RC_GTEST_PROP(Law, ForgettingTakesWholeComponentsAndNeverALiveOne, ()) {
  const auto claims = *FinalClaims();
  const Slot before = SlotOf(claims);
  const auto now_ms = *rc::gen::inRange(0, 70);
  Slot after = before;
  const int went = Forget(after, now_ms, 2, 3, true);
  RC_ASSERT(went == before.claims_size() - after.claims_size());
  RC_ASSERT(RunIdOf(SurvivorAt(after, now_ms, 2)) == RunIdOf(SurvivorAt(before, now_ms, 2)));
  const Verdict kept = VerdictOf(after);
  const Verdict all = VerdictOf(before);
  RC_ASSERT(Includes(all.survivors, kept.survivors));
  for (const auto& [run_id, winner] : kept.redirects) RC_ASSERT(all.redirects.at(run_id) == winner);
  RC_ASSERT(Forget(after, now_ms, 2, 3, true) == 0);
}

}  // namespace
}  // namespace once
