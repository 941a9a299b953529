// The life of a claim inside one slot: begin, settle, renew. Pure functions over the slot.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conflict/claim.pb.h"
#include "replica/ledger/answer.h"
#include "replica/ledger/command.pb.h"

namespace once {

inline constexpr std::uint32_t kSlotFormat = 1;

/// What the rules depend on besides the slot and the command.
struct ClaimRules {
  std::string region;
  std::int64_t skew_ms = 0;
  std::uint64_t boot = 0;
  std::int64_t boot_stamp_ms = 0;

  /// When the lease of one of our own claims ends: in full again after a restart, because nobody
  /// counted its time while the node was down.
  std::int64_t LeaseEnd(const Claim& claim) const;
};

enum class Begun {
  kNew,      // a claim was added
  kTakenUp,  // a retryable claim, or one whose lease ran out, has a new owner
  kReplay,
  kInFlight,
  kMismatch,
  kCrowded,  // a claim would have to be added, and the slot has kSlotClaimsMax of this region
};

struct BeginResult {
  Begun begun;
  Claim* claim;             // the claim the answer is about; null for kCrowded alone
  bool reclaimed = false;   // an owner whose lease ran out lost the key
  bool mismatched = false;  // unless kMismatch: the policy let a differing body through
  std::vector<std::string> closed = {};  // run ids of claims that went to released
};

/// What the slot already knows about the request: kReplay or kMismatch. Null claim: nothing final.
BeginResult RecallOn(Slot& slot, const Begin& begin, std::int64_t now_ms, const ClaimRules& rules);

/// Whether BeginOn would add a claim to `slot`, if it may hold one more.
bool WouldAdd(Slot& slot, const Begin& begin, std::int64_t now_ms, const ClaimRules& rules);

/// Decides a begin on `slot`, and for kNew and kTakenUp changes it: state pending, lease from now,
/// fence = `fence`. A claim keeps its request: where the policy lets another one through, open
/// claims of this region that differ are released, and the request gets a claim of its own.
BeginResult BeginOn(Slot& slot, const Begin& begin, const Stamp& stamp, std::uint64_t fence,
                    const ClaimRules& rules);

/// Moves a claim that is pending under `fence` to `state`. False (and no change) when the fence is
/// not the claim's current one or the claim is not pending.
bool SettleClaim(Claim& claim, std::uint64_t fence, ClaimState state, const Outcome& outcome,
                 std::int64_t now_ms);

/// Extends the lease of a claim that is pending under `fence`.
bool RenewClaim(Claim& claim, std::uint64_t fence, std::uint64_t lease_ms, std::int64_t now_ms,
                const ClaimRules& rules);

/// Writes down that leases from before this boot run anew from it, so that everything that looks at
/// lease_until_ms agrees. True when a claim changed.
bool RestartLeases(Slot& slot, const ClaimRules& rules);

/// The claim with that run id, or null.
Claim* FindClaim(Slot& slot, std::string_view run_id);

}  // namespace once
