// What a slot need not remember any longer. A union cannot delete, so a claim goes only when every
// member holds it and enough time has passed that no honest message about it is on its way. A
// conflict with a claim that is older than this horizon may go undetected.
//
// A claim may go at its end plus skew plus grace, if all members cover it. Its end is
//   final                 the latest expiry in its component: a component goes as a whole
//   RETRYABLE, SUPERSEDED expires_ms
//   RELEASED              finalised_ms or lease_until_ms, whichever is later
//   PENDING               lease_until_ms plus retention: nobody came back for it
// A retention of 0 never ends, and a state that this build does not know is kept.
#pragma once

#include <cstdint>

#include "conflict/claim.pb.h"

namespace once {

/// When the claim by itself ends, whatever others its component holds; kNeverMs for never.
std::int64_t EndOf(const Claim& claim);

/// When the last claim of the slot ends.
std::int64_t LatestEnd(const Slot& slot);

/// Removes the claims that may go, and the losses of claims that the slot no longer holds. Returns
/// how many claims went. `covered_by_all` says that every member's version vector covers all that
/// the slot holds; without that nothing goes.
int Forget(Slot& slot, std::int64_t now_ms, std::int64_t skew_ms, std::int64_t grace_ms,
           bool covered_by_all);

}  // namespace once
