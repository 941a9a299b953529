#include "replica/ledger/claims.h"

#include <algorithm>

#include "conflict/forget.h"
#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "conflict/survivor.h"
#include "conflict/window.h"
#include "replica/ledger/run_id.h"
#include "replica/limits.h"

namespace once {
namespace {

bool SameRequest(const Claim& claim, const Begin& begin) {
  if (MutationOn("mismatch-ignored")) return true;
  return claim.fingerprint_version() == begin.fingerprint_version() &&
         claim.fingerprint() == begin.fingerprint();
}

// An open claim can still become a result: pending or retryable, and not at its end.
bool Open(const Claim& claim, std::int64_t now_ms, std::int64_t skew_ms) {
  return (claim.state() == PENDING || claim.state() == RETRYABLE) &&
         AnswersAt(EndOf(claim), now_ms, skew_ms);
}

bool HasPending(const Slot& slot) {
  return std::any_of(slot.claims().begin(), slot.claims().end(),
                     [](const Claim& claim) { return claim.state() == PENDING; });
}

void TakeUp(Claim& claim, const Begin& begin, std::int64_t now_ms, std::uint64_t fence,
            const ClaimRules& rules) {
  claim.set_version(claim.version() + 1);
  claim.set_state(PENDING);
  if (claim.fence() == 0 || !MutationOn("fence-not-rising")) claim.set_fence(fence);
  claim.set_lease_ms(begin.lease_ms());
  claim.set_lease_until_ms(SaturatingAdd(now_ms, static_cast<std::int64_t>(begin.lease_ms())));
  claim.set_lease_boot(rules.boot);
  claim.set_taken_up_ms(now_ms);
  claim.set_finalised_ms(0);
  claim.set_expires_ms(0);
  claim.set_retention_ms(begin.retention_ms());
  claim.set_tries(claim.tries() + 1);
  claim.set_actor(begin.actor());
  claim.clear_outcome();
}

// What the begin meets in the slot; changes nothing. A null claim: one is to be added.
BeginResult Decide(Slot& slot, const Begin& begin, std::int64_t now_ms, const ClaimRules& rules) {
  const auto known = RecallOn(slot, begin, now_ms, rules);
  if (known.claim && !(HasPending(slot) && MutationOn("work-before-answers"))) return known;
  // Whoever works on it goes first, also when an own attempt that failed stands before it.
  for (Claim& claim : *slot.mutable_claims())
    if (claim.state() == PENDING && Open(claim, now_ms, rules.skew_ms) &&
        now_ms < rules.LeaseEnd(claim))
      return {Begun::kInFlight, &claim};
  BeginResult result{Begun::kNew, nullptr};
  for (Claim& claim : *slot.mutable_claims()) {
    // Another region's claim is never taken over, and one that nobody works on blocks nobody.
    if (!Open(claim, now_ms, rules.skew_ms) || claim.region() != rules.region) continue;
    const bool same = SameRequest(claim, begin);
    if (!same && begin.mismatch() == REJECT) return {Begun::kMismatch, &claim, false, true};
    result.reclaimed |= claim.state() == PENDING;
    if (same) {
      result.begun = Begun::kTakenUp;
      result.claim = &claim;
      return result;
    }
    result.mismatched = true;
  }
  return result;
}

// The region's open claims that another request made.
void CloseOthers(Slot& slot, const Begin& begin, std::int64_t now_ms, const ClaimRules& rules,
                 std::vector<std::string>& closed) {
  for (Claim& claim : *slot.mutable_claims()) {
    if (!Open(claim, now_ms, rules.skew_ms) || claim.region() != rules.region) continue;
    if (SameRequest(claim, begin)) continue;
    Reached("an open claim made room for another request");
    if (MutationOn("claims-left-open")) continue;
    claim.set_version(claim.version() + 1);
    claim.set_state(RELEASED);
    claim.set_finalised_ms(now_ms);
    claim.set_expires_ms(RetainedUntil(now_ms, claim.retention_ms()));
    claim.clear_outcome();
    closed.push_back(claim.run_id());
  }
}

bool MayHoldOneMore(const Slot& slot, const std::string& region) {
  const auto own = std::count_if(slot.claims().begin(), slot.claims().end(),
                                 [&](const Claim& claim) { return claim.region() == region; });
  return static_cast<std::size_t>(own) < kSlotClaimsMax;
}

bool HasSuccessor(const Slot& slot, const Claim& claim) {
  return std::any_of(slot.claims().begin(), slot.claims().end(), [&claim](const Claim& other) {
    return other.region() == claim.region() && other.created_ms() > claim.taken_up_ms();
  });
}

// Claims stay ordered by run id, so that equal sets are equal bytes.
Claim* AddClaim(Slot& slot, std::string run_id) {
  Claim* claim = slot.add_claims();
  claim->set_run_id(std::move(run_id));
  int at = slot.claims_size() - 1;
  for (; at > 0 && slot.claims(at - 1).run_id() > slot.claims(at).run_id(); --at)
    slot.mutable_claims()->SwapElements(at - 1, at);
  return slot.mutable_claims(at);
}

}  // namespace

std::int64_t ClaimRules::LeaseEnd(const Claim& claim) const {
  if (claim.region() != region) {
    if (claim.taken_up_ms() < boot_stamp_ms && MutationOn("hint-forgotten-at-start")) return 0;
    if (MutationOn("hint-without-bound")) return claim.lease_until_ms();
    if (MutationOn("hint-for-ever")) return kNeverMs;
    if (MutationOn("hint-by-first-lease"))
      return claim.taken_up_ms() + static_cast<std::int64_t>(claim.lease_ms()) + skew_ms;
    return SaturatingAdd(claim.lease_until_ms(), skew_ms);
  }
  if (claim.lease_boot() == boot) return claim.lease_until_ms();
  if (MutationOn("lease-ignored-after-restart")) return 0;
  return std::max(claim.lease_until_ms(),
                  SaturatingAdd(boot_stamp_ms, static_cast<std::int64_t>(claim.lease_ms())));
}

BeginResult RecallOn(Slot& slot, const Begin& begin, std::int64_t now_ms, const ClaimRules& rules) {
  const Claim* survivor = SurvivorAt(slot, now_ms, rules.skew_ms);
  if (!survivor && MutationOn("replayed-when-over")) survivor = SurvivorAt(slot, 0, 0);
  if (!survivor) return {Begun::kReplay, nullptr};
  Claim* claim = FindClaim(slot, survivor->run_id());
  const bool same = SameRequest(*claim, begin);
  if (!same && begin.mismatch() == REJECT) return {Begun::kMismatch, claim, false, true};
  return {Begun::kReplay, claim, false, !same};
}

bool WouldAdd(Slot& slot, const Begin& begin, std::int64_t now_ms, const ClaimRules& rules) {
  return Decide(slot, begin, now_ms, rules).begun == Begun::kNew;
}

BeginResult BeginOn(Slot& slot, const Begin& begin, const Stamp& stamp, std::uint64_t fence,
                    const ClaimRules& rules) {
  const std::int64_t now_ms = stamp.now_ms;
  BeginResult result = Decide(slot, begin, now_ms, rules);
  if (result.begun != Begun::kNew && result.begun != Begun::kTakenUp) return result;
  if (!result.claim && !MayHoldOneMore(slot, rules.region)) {
    Reached("a slot held as many claims of a region as it may");
    if (!MutationOn("slots-without-bound")) return {Begun::kCrowded, nullptr};
  }
  if (result.mismatched) CloseOthers(slot, begin, now_ms, rules, result.closed);
  if (!result.claim) {
    result.claim = AddClaim(slot, MintRunId(now_ms, rules.region, stamp.entropy[0]));
    result.claim->set_region(rules.region);
    result.claim->set_fingerprint(begin.fingerprint());
    result.claim->set_fingerprint_version(begin.fingerprint_version());
    result.claim->set_created_ms(now_ms);
  }
  TakeUp(*result.claim, begin, now_ms, fence, rules);
  return result;
}

bool SettleClaim(Claim& claim, std::uint64_t fence, ClaimState state, const Outcome& outcome,
                 std::int64_t now_ms) {
  if (claim.state() != PENDING) return false;
  if (claim.fence() != fence && !MutationOn("stale-fence-accepted")) return false;
  claim.set_version(claim.version() + 1);
  claim.set_state(state);
  claim.set_finalised_ms(now_ms);
  claim.set_expires_ms(RetainedUntil(now_ms, claim.retention_ms()));
  if (state != RELEASED) *claim.mutable_outcome() = outcome;
  return true;
}

bool RenewClaim(Claim& claim, std::uint64_t fence, std::uint64_t lease_ms, std::int64_t now_ms,
                const ClaimRules& rules) {
  if (claim.state() != PENDING) return false;
  if (claim.fence() != fence && !MutationOn("renewed-by-late-owner")) return false;
  if (now_ms >= rules.LeaseEnd(claim)) Reached("an owner renewed after the end of its lease");
  claim.set_version(claim.version() + 1);
  if (lease_ms == 0) lease_ms = claim.lease_ms();
  claim.set_lease_ms(lease_ms);
  if (!MutationOn("renewal-without-effect"))
    claim.set_lease_until_ms(SaturatingAdd(now_ms, static_cast<std::int64_t>(lease_ms)));
  claim.set_lease_boot(rules.boot);
  return true;
}

bool RestartLeases(Slot& slot, const ClaimRules& rules) {
  bool changed = false;
  for (Claim& claim : *slot.mutable_claims()) {
    if (claim.state() != PENDING || claim.region() != rules.region) continue;
    if (claim.lease_boot() == rules.boot) continue;
    // It was abandoned when the region made another one.
    if (HasSuccessor(slot, claim)) continue;
    claim.set_version(claim.version() + 1);
    claim.set_lease_until_ms(rules.LeaseEnd(claim));
    claim.set_lease_boot(rules.boot);
    changed = true;
  }
  return changed;
}

Claim* FindClaim(Slot& slot, std::string_view run_id) {
  for (Claim& claim : *slot.mutable_claims())
    if (claim.run_id() == run_id) return &claim;
  return nullptr;
}

}  // namespace once
