// Joining what two regions know about a slot: the union of their claims by run_id, and of one claim
// the state that stands. Commutative, associative and idempotent for any input, also a hostile one,
// because of two states of one run_id the same one stands whoever holds it:
//
// 1. A run_id names one claim: its region, created_ms and fingerprint never change. If they differ,
//    the run_id was used twice; the lower (created_ms, region, fingerprint) stands.
// 2. A final state stands over one that is not final, whatever their versions.
// 3. Of two final states the first stands: the one finalised earlier, then the lower version. What
//    was finalised first is immutable.
// 4. Of two others the one of the later owner stands (the higher fence), then one that this owner
//    has ended over one that is pending, then the higher version. A region that went on from an
//    earlier state, with a lease begun anew, does not undo what it had said.
// 5. At equal version the lower serialized bytes stand. No honest region gets here.
#pragma once

#include "conflict/claim.pb.h"

namespace once {

enum class Merged {
  kUnchanged,  // nothing new: equal to, or an earlier state of, what the slot holds
  kAdded,      // a run_id that the slot did not hold
  kAdvanced,   // the slot now holds the state that came
  kCollision,  // the two cannot both be states of one claim: a run_id used twice, or a final claim
               // that changed. The slot holds the one that stands by the rule above, which may be
               // the one that came, so the slot must be written back.
};

/// Joins one claim into the slot. Its claims stay ordered by run_id, each run_id once. Repeating a
/// final state under another version is no collision.
Merged MergeClaim(Slot& into, const Claim& claim);

}  // namespace once
