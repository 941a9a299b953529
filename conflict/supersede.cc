#include "conflict/supersede.h"

#include <algorithm>
#include <optional>

#include "conflict/survivor.h"
#include "conflict/window.h"

namespace once {
namespace {

bool GivesWay(const Claim& claim, std::string_view region, std::int64_t now_ms,
              std::int64_t skew_ms) {
  if (claim.region() != region) return false;
  if (claim.state() == PENDING) return true;
  return claim.state() == RETRYABLE && AnswersAt(claim.expires_ms(), now_ms, skew_ms);
}

/// The end of the latest component that answers with a success.
std::optional<std::int64_t> AnswerExpires(const Slot& slot, std::int64_t now_ms,
                                          std::int64_t skew_ms) {
  std::optional<std::int64_t> expires_ms;
  for (const Component& component : Components(slot)) {
    const bool success =
        std::any_of(component.members.begin(), component.members.end(),
                    [](const Claim* claim) { return claim->state() == COMPLETED; });
    if (success && AnswersAt(component.expires_ms, now_ms, skew_ms)) {
      expires_ms = component.expires_ms;
    }
  }
  return expires_ms;
}

}  // namespace

int Supersede(Slot& slot, std::string_view region, std::int64_t now_ms, std::int64_t skew_ms) {
  if (slot.claims_size() < 2) return 0;
  const auto expires_ms = AnswerExpires(slot, now_ms, skew_ms);
  if (!expires_ms) return 0;
  int moved = 0;
  for (Claim& claim : *slot.mutable_claims()) {
    if (!GivesWay(claim, region, now_ms, skew_ms)) continue;
    claim.set_state(SUPERSEDED);
    claim.set_version(claim.version() + 1);
    claim.set_finalised_ms(now_ms);
    claim.set_expires_ms(*expires_ms);
    ++moved;
  }
  return moved;
}

}  // namespace once
