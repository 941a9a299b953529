#include "conflict/forget.h"

#include <algorithm>
#include <vector>

#include "conflict/survivor.h"
#include "conflict/window.h"

namespace once {
namespace {

/// What ended by this time may go now.
std::int64_t HorizonMs(std::int64_t now_ms, std::int64_t skew_ms, std::int64_t grace_ms) {
  return SaturatingAdd(SaturatingAdd(now_ms, -skew_ms), -grace_ms);
}

/// The claims whose end is at or before `horizon_ms`, in no particular order.
std::vector<const Claim*> EndedBy(std::int64_t horizon_ms, const Slot& slot) {
  std::vector<const Claim*> claims;
  for (const Claim& claim : slot.claims()) {
    if (!IsFinal(claim) && Past(EndOf(claim), horizon_ms)) claims.push_back(&claim);
  }
  for (const Component& component : Components(slot)) {
    if (!Past(component.expires_ms, horizon_ms)) continue;
    claims.insert(claims.end(), component.members.begin(), component.members.end());
  }
  return claims;
}

void DropLossesWithoutClaim(Slot& slot) {
  const auto has_no_claim = [&slot](const Loss& loss) {
    return std::none_of(slot.claims().begin(), slot.claims().end(),
                        [&](const Claim& claim) { return claim.run_id() == loss.run_id(); });
  };
  auto* losses = slot.mutable_losses();
  losses->erase(std::remove_if(losses->begin(), losses->end(), has_no_claim), losses->end());
}

}  // namespace

std::int64_t EndOf(const Claim& claim) {
  switch (claim.state()) {
    case PENDING:
      return RetainedUntil(claim.lease_until_ms(), claim.retention_ms());
    case COMPLETED:
    case TERMINAL_FAILURE:
    case RETRYABLE:
    case SUPERSEDED:
      return claim.expires_ms();
    case RELEASED:
      return std::max(claim.finalised_ms(), claim.lease_until_ms());
    default:
      return kNeverMs;
  }
}

std::int64_t LatestEnd(const Slot& slot) {
  std::int64_t end_ms = 0;
  for (const Claim& claim : slot.claims()) end_ms = std::max(end_ms, EndOf(claim));
  return end_ms;
}

int Forget(Slot& slot, std::int64_t now_ms, std::int64_t skew_ms, std::int64_t grace_ms,
           bool covered_by_all) {
  if (!covered_by_all) return 0;
  const std::vector<const Claim*> going = EndedBy(HorizonMs(now_ms, skew_ms, grace_ms), slot);
  // Backwards, so that a removal moves only places that were visited.
  for (int at = slot.claims_size() - 1; at >= 0; --at) {
    const bool goes = std::find(going.begin(), going.end(), &slot.claims(at)) != going.end();
    if (goes) slot.mutable_claims()->DeleteSubrange(at, 1);
  }
  if (!going.empty()) DropLossesWithoutClaim(slot);
  return static_cast<int>(going.size());
}

}  // namespace once
