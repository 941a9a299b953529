#include "simulator/room_of_sync.h"

#include <algorithm>

namespace once {
namespace {

bool HasAnyOf(const Slot& slot, const Slot& before) {
  return std::ranges::any_of(before.claims(), [&slot](const Claim& was) {
    return std::ranges::any_of(
        slot.claims(), [&was](const Claim& claim) { return claim.run_id() == was.run_id(); });
  });
}

bool IsOfOne(const Slot& slot) {
  return std::ranges::all_of(slot.claims(), [&slot](const Claim& claim) {
    return claim.region() == slot.claims(0).region();
  });
}

}  // namespace

void RoomOfSync::Change(const Slot& before, const Slot& after, bool admitted) {
  const bool was = before.claims_size() > 0;
  const bool is = after.claims_size() > 0;
  const bool stayed = was && is && HasAnyOf(after, before);
  unseen_ |= !was && !is;
  if (is && !stayed) ++slots_put_;
  if (was && !stayed) ++slots_gone_;
  // Where others had a claim to the key first, that made the slot.
  if (!was && admitted && IsOfOne(after)) ++slots_admitted_;
  admitted_ |= admitted;
  bytes_put_ += after.ByteSizeLong();
  bytes_gone_ += before.ByteSizeLong();
}

bool RoomOfSync::MayHaveBeenFull(const ClusterOptions& bounds) const {
  return unseen_ || slots_ + slots_put_ > bounds.slots_max ||
         bytes_ + bytes_put_ >= bounds.slot_bytes_max;
}

std::string RoomOfSync::AddedBeyond(const ClusterOptions& bounds) const {
  const std::uint64_t slots_left = slots_ - std::min(slots_, slots_gone_);
  // Where claims are forgotten soon, one may go and come back from a peer between two syncs: there
  // was room meanwhile.
  static const std::int64_t kUsualGraceMs = ClusterOptions().forget_grace_ms;
  const std::uint64_t came_back =
      bounds.forget_grace_ms < kUsualGraceMs && bounds.regions.size() > 1;
  if (slots_admitted_ > 0 && slots_left + slots_admitted_ > bounds.slots_max + came_back)
    return std::to_string(slots_admitted_) + " slots beside " + std::to_string(slots_left) +
           " where " + std::to_string(bounds.slots_max) + " are allowed";
  const std::uint64_t bytes_left = bytes_ - std::min(bytes_, bytes_gone_);
  if (admitted_ && bytes_left >= bounds.slot_bytes_max)
    return "a claim to slots of " + std::to_string(bytes_left) + " bytes where " +
           std::to_string(bounds.slot_bytes_max) + " are allowed";
  return "";
}

}  // namespace once
