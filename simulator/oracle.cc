#include "simulator/oracle.h"

#include <algorithm>
#include <vector>

#include "conflict/forget.h"
#include "replica/env/check.h"
#include "replica/storage/keys.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

bool Succeeded(const Claim& claim) {
  return claim.state() == COMPLETED;
}

bool Meet(const Claim& a, const Claim& b) {
  const auto empty = [](const Claim& c) { return c.expires_ms() <= c.taken_up_ms(); };
  return !empty(a) && !empty(b) &&
         std::max(a.taken_up_ms(), b.taken_up_ms()) < std::min(a.expires_ms(), b.expires_ms());
}

}  // namespace

Verdict Judge(const Slot& slot) {
  std::vector<const Claim*> finals;
  for (const Claim& claim : slot.claims())
    if (Succeeded(claim) || claim.state() == TERMINAL_FAILURE) finals.push_back(&claim);
  std::vector<std::size_t> group(finals.size());
  for (std::size_t i = 0; i < group.size(); ++i) group[i] = i;
  for (std::size_t i = 0; i < finals.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (group[i] != group[j] && Meet(*finals[i], *finals[j]))
        std::replace(group.begin(), group.end(), std::size_t(group[i]), std::size_t(group[j]));
  Verdict verdict;
  for (std::size_t i = 0; i < finals.size(); ++i) {
    const Claim* best = finals[i];
    for (std::size_t j = 0; j < finals.size(); ++j) {
      if (group[j] != group[i]) continue;
      const bool better = Succeeded(*finals[j]) != Succeeded(*best)
                              ? Succeeded(*finals[j])
                              : finals[j]->run_id() < best->run_id();
      if (better) best = finals[j];
    }
    verdict.survivor_of[finals[i]->run_id()] = best->run_id();
    if (best != finals[i] && Succeeded(*finals[i])) verdict.losers.insert(finals[i]->run_id());
  }
  return verdict;
}

std::int64_t EndWithComponent(const Slot& slot, const Claim& claim) {
  if (claim.state() == PENDING)
    return claim.retention_ms() == 0
               ? kNoEndMs
               : claim.lease_until_ms() + static_cast<std::int64_t>(claim.retention_ms());
  if (claim.state() == RELEASED) return std::max(claim.finalised_ms(), claim.lease_until_ms());
  const Verdict verdict = Judge(slot);
  const auto survivor = verdict.survivor_of.find(claim.run_id());
  if (survivor == verdict.survivor_of.end()) return claim.expires_ms();
  std::int64_t end_ms = 0;
  for (const Claim& other : slot.claims())
    if (const auto at = verdict.survivor_of.find(other.run_id());
        at != verdict.survivor_of.end() && at->second == survivor->second)
      end_ms = std::max(end_ms, other.expires_ms());
  return end_ms;
}

Slots ReadSlots(const MemoryDisk::Contents& disk) {
  Slots slots;
  const std::string prefix = keys::Slot("");
  for (auto at = disk.lower_bound(prefix); at != disk.end() && at->first.starts_with(prefix);
       ++at) {
    Slot slot;
    Check(slot.ParseFromString(at->second), "a slot on disk parses");
    auto key = std::pair(slot.tenant(), slot.key());
    slots[std::move(key)] = std::move(slot);
  }
  return slots;
}

const Claim* ClaimOf(const Slots& slots, const Operation& told) {
  const auto slot = slots.find({told.tenant, told.key});
  if (slot == slots.end()) return nullptr;
  for (const Claim& claim : slot->second.claims())
    if (claim.run_id() == told.run_id) return &claim;
  return nullptr;
}

Holdings ReadHoldings(Cluster& cluster) {
  Holdings holdings;
  for (const std::string& region : cluster.regions())
    holdings[region] = ReadSlots(cluster.disk(region).visible());
  return holdings;
}

Holdings WithoutForgettable(Holdings holdings, std::int64_t now_ms, std::int64_t grace_ms) {
  for (auto& [region, slots] : holdings) {
    for (auto& [key, slot] : slots) Forget(slot, now_ms + 2 * kSkewBoundMs, 0, grace_ms, true);
    std::erase_if(slots, [](const auto& entry) { return entry.second.claims_size() == 0; });
  }
  return holdings;
}

Holdings ReadDurable(Cluster& cluster) {
  Holdings holdings;
  for (const std::string& region : cluster.regions())
    holdings[region] = ReadSlots(cluster.disk(region).durable());
  return holdings;
}

}  // namespace once
