// Which claim of a slot stands. A pure function of the set of claims: every region that holds the
// same set names the same survivor, in whatever order the claims came.
//
// Final claims whose windows overlap are connected; connection is transitive. In each connected
// component the lowest run_id among the successes survives, and where there is no success the
// lowest run_id among the terminal failures. Claims in other states do not compete.
//
// As the set grows, components only grow and join. So a loser stays a loser, and a cancellation is
// never wrong later; only the survivor that it points at may be replaced by a lower one. The price:
// a claim whose window bridges two generations joins them, and the later generation may be
// cancelled.
//
// Returned pointers belong to the slot and hold until it is changed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "conflict/claim.pb.h"

namespace once {

/// Claims that contend with each other. A member that is neither the survivor nor a loser is a
/// terminal failure that yielded: it is only redirected. Every vector is ordered by run_id.
struct Component {
  std::vector<const Claim*> members;
  const Claim* survivor = nullptr;   // never null
  std::vector<const Claim*> losers;  // successes that did not survive: cancelled and counted
  std::int64_t expires_ms = 0;       // latest window end; the survivor answers until then
};

/// The order that decides: bytewise, over any bytes, a prefix before its extensions.
bool IsLowerRunId(std::string_view a, std::string_view b);

/// All components of the slot's final claims, earliest first.
std::vector<Component> Components(const Slot& slot);

/// The claim that the slot answers with at `now_ms`, or null when none does. A component answers
/// until its latest expiry plus `skew_ms`, also before its start: a peer's clock may be ahead. Of
/// several that still answer, the latest generation does. Allocates nothing while at most one claim
/// of the slot is final, and costs O(1) for a slot of one claim.
const Claim* SurvivorAt(const Slot& slot, std::int64_t now_ms, std::int64_t skew_ms);

/// Where a run that lost, yielded or was superseded points: straight at the survivor, which itself
/// points nowhere. Null for a survivor, for a claim that does not compete, for an unknown run, and
/// for a superseded one whose winner has been forgotten.
const Claim* RedirectOf(const Slot& slot, std::string_view run_id);

}  // namespace once
