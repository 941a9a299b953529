#include "simulator/disk_watch.h"

#include <algorithm>

#include "conflict/probe.h"
#include "replica/env/check.h"
#include "replica/storage/keys.h"
#include "simulator/oracle.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

// Claims of a slot are in the order of their ids.
const Claim* Find(const Slot& slot, const std::string& run_id) {
  const auto at = std::lower_bound(
      slot.claims().begin(), slot.claims().end(), run_id,
      [](const Claim& claim, const std::string& wanted) { return claim.run_id() < wanted; });
  return at != slot.claims().end() && at->run_id() == run_id ? &*at : nullptr;
}

std::string Where(const std::string& region, const Slot& slot) {
  return region + " " + slot.tenant() + "/" + slot.key();
}

}  // namespace

DiskWatch::DiskWatch(Cluster& cluster, Keep keep)
    : cluster_(cluster), keep_(std::move(keep)), start_us_(cluster.time().MonotonicMicros()) {
  for (const std::string& region : cluster_.regions()) Follow(region);
}

std::int64_t DiskWatch::NowMillis() const {
  return (cluster_.time().MonotonicMicros() - start_us_) / 1000;
}

void DiskWatch::Follow(const std::string& region) {
  MemoryDisk& disk = cluster_.disk(region);
  held_[region] = Held();
  std::vector<std::string> keys;
  for (const auto& record : disk.durable())
    if (record.first.starts_with(keys::Slot(""))) keys.push_back(record.first);
  Look(region, keys);
  disk.on_durable = [this, region](const std::vector<std::string>& changed) {
    Look(region, changed);
  };
}

void DiskWatch::Look(const std::string& region, const std::vector<std::string>& keys) {
  Held& held = held_[region];
  Batch batch{RoomOfSync(held.slots.size(), held.bytes), {}, {}};
  const std::string slots = keys::Slot("");
  bool whole = false;
  for (const std::string& key : keys) {
    if (key.starts_with(slots)) Change(region, held, key, batch);
    whole |= key == keys::Head();
  }
  CheckGone(region, batch);
  if (!whole) return;
  // What comes back to a directory that lost it looks as if callers had added it.
  if (const std::string beyond = batch.room.AddedBeyond(cluster_.options());
      !beyond.empty() && cluster_.life(region) == 0)
    Say("sizes", region + " let its callers add " + beyond);
  if (const auto head = cluster_.disk(region).Durable(keys::Head())) CheckHead(region, held, *head);
}

void DiskWatch::Change(const std::string& region, Held& held, const std::string& key,
                       Batch& batch) {
  const auto bytes = cluster_.disk(region).Durable(key);
  Stored& stored = held.slots[key];
  if (bytes && stored.bytes == *bytes) return;
  const Slot before = std::move(stored.slot);
  held.bytes += (bytes ? bytes->size() : 0) - stored.bytes.size();
  stored.bytes = bytes.value_or("");
  Check(stored.slot.ParseFromString(stored.bytes), "a slot on disk parses");
  const Slot& slot = stored.slot;
  bool admitted = false;
  for (const Claim& claim : slot.claims()) {
    const Claim* const was = Find(before, claim.run_id());
    if (was && was->fence() == claim.fence()) continue;
    held.heard.insert(claim.run_id());
    const bool fresh = known_.emplace(claim.run_id(), claim.fence()).second;
    if (claim.region() != region) continue;
    admitted |= fresh && !was && !held.fence.contains(claim.run_id());
    if (fresh) CheckGrant(region, held, before, slot, claim);
    std::uint64_t& fence = held.fence[claim.run_id()];
    fence = std::max(fence, claim.fence());
  }
  batch.room.Change(before, slot, admitted);
  if (std::ranges::none_of(before.claims(),
                           [&](const Claim& was) { return Find(slot, was.run_id()); })) {
    if (before.claims_size() > 0 || !bytes) batch.gone.push_back(before);
    // Another claim to the key may have come and gone since the last sync.
    if (before.claims_size() == 0 && bytes) batch.put.push_back(slot);
  } else {
    for (const Claim& claim : before.claims())
      if (!Find(slot, claim.run_id())) CheckForgotten(region, before, claim);
  }
  if (!bytes) held.slots.erase(key);
}

// What is over goes whenever expiry comes round; anything else where there was no room.
void DiskWatch::CheckGone(const std::string& region, const Batch& batch) {
  const bool evicts =
      cluster_.options().evict_oldest && batch.room.MayHaveBeenFull(cluster_.options());
  if (evicts)
    for (const Slot& slot : batch.put) perhaps_.push_back({slot.tenant(), slot.key(), NowMillis()});
  for (const Slot& slot : batch.gone) {
    if (evicts)
      evictions_.push_back({slot.tenant(), slot.key(), NowMillis()});
    else
      for (const Claim& claim : slot.claims()) CheckForgotten(region, slot, claim);
  }
}

// By the region's own clock, which stamped the grant. What it heard together with the grant may
// have come later.
void DiskWatch::CheckGrant(const std::string& region, Held& held, const Slot& before,
                           const Slot& after, const Claim& claim) {
  if (const auto fence = held.fence.find(claim.run_id());
      fence != held.fence.end() && claim.fence() <= fence->second)
    Say("claim-fences", Where(region, after) + " gave run " + claim.run_id() + " the fence " +
                            std::to_string(claim.fence()) + " after " +
                            std::to_string(fence->second));
  for (const Claim& other : before.claims()) {
    if (other.region() == region || other.state() != PENDING) continue;
    const Claim* const still = Find(after, other.run_id());
    if (!still || still->state() != PENDING || still->fence() != other.fence()) continue;
    const std::int64_t until_ms = other.lease_until_ms() + kSkewBoundMs;
    if (claim.taken_up_ms() >= until_ms) {
      Reached("a region executed a key when the lease of another region's claim was over");
      continue;
    }
    Say("heard-lease", Where(region, after) + " let run " + claim.run_id() + " execute " +
                           std::to_string(until_ms - claim.taken_up_ms()) +
                           " ms before the lease of " + other.region() + "'s run " +
                           other.run_id() + " was over");
  }
}

void DiskWatch::CheckForgotten(const std::string& region, const Slot& before, const Claim& claim) {
  const auto bytes = cluster_.disk(region).Durable(keys::Head());
  Head head;
  Check(bytes && head.ParseFromString(*bytes), "a head on disk parses");
  const std::int64_t kept_ms = kSkewBoundMs + cluster_.options().forget_grace_ms;
  const std::int64_t until_ms =
      std::min(EndWithComponent(before, claim), kNoEndMs - kept_ms) + kept_ms;
  const std::string what = Where(region, before) + " forgot run " + claim.run_id();
  if (head.stamp_ms() < until_ms)
    Say("forgetting", what + " " + std::to_string(until_ms - head.stamp_ms()) + " ms early");
  // Of a stream that its home lost, and that a directory brings back, nobody may know all.
  if (cluster_.life(region) > 0 && cluster_.life(claim.region()) > 0) return;
  for (const auto& [other, held] : held_)
    if (cluster_.life(other) == 0 && !held.heard.count(claim.run_id()))
      Say("forgetting", what + ", of which " + other + " has not heard");
}

void DiskWatch::CheckHead(const std::string& region, const Held& held, const std::string& bytes) {
  Head head;
  Check(head.ParseFromString(bytes), "a head on disk parses");
  if (head.slots() != held.slots.size())
    Say("forgetting", region + " counts " + std::to_string(head.slots()) + " slots and has " +
                          std::to_string(held.slots.size()));
  if (head.slot_bytes() != held.bytes)
    Say("forgetting", region + " counts " + std::to_string(head.slot_bytes()) +
                          " bytes of slots and has " + std::to_string(held.bytes));
}

}  // namespace once
