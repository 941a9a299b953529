#include <algorithm>
#include <map>
#include <set>

#include "replica/storage/keys.h"
#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

Slots ReadStrictSlots(const MemoryDisk::Contents& disk) {
  Slots slots;
  const std::string prefix = keys::Strict(keys::Slot(""));
  for (auto at = disk.lower_bound(prefix); at != disk.end() && at->first.starts_with(prefix);
       ++at) {
    Slot slot;
    slot.ParseFromString(at->second);
    auto key = std::pair(slot.tenant(), slot.key());
    slots[std::move(key)] = std::move(slot);
  }
  return slots;
}

// Empty, or what is missing of what the operation was told.
std::string Missing(const Operation& told, const Claim* claim) {
  if (!claim) return "is gone";
  if (claim->fence() < told.fence) return "fell back to an earlier owner";
  if (!IsFinalStatus(told.status) || told.answer == Operation::Answer::kExecute) return "";
  const bool same = claim->outcome().status() == told.status &&
                    claim->outcome().body() == told.answer_body;
  return same ? "" : "has lost its answer";
}

}  // namespace

Violations CheckKept(Cluster& cluster, const History& history, std::int64_t now_ms) {
  Violations violations;
  std::set<std::string> released;
  for (const Operation& operation : history.operations)
    if (operation.kind == Operation::Kind::kSettle && operation.status == 0)
      released.insert(operation.run_id);
  for (const std::string& region : cluster.regions()) {
    const Slots slots = ReadStrictSlots(cluster.disk(region).visible());
    for (const Operation& told : history.operations) {
      const bool acknowledged = IsGrant(told) || IsAcceptedSettle(told);
      const auto kept_ms = static_cast<std::int64_t>(told.retention_ms);
      const bool over = told.retention_ms > 0 && now_ms >= told.invoked_ms + kept_ms;
      if (!told.strict || !acknowledged || over || released.count(told.run_id)) continue;
      const auto slot = slots.find({told.tenant, told.key});
      const Claim* found = nullptr;
      if (slot != slots.end())
        for (const Claim& claim : slot->second.claims())
          if (claim.run_id() == told.run_id) found = &claim;
      if (const std::string missing = Missing(told, found); !missing.empty())
        violations.push_back(
            {"kept", Describe(told) + " " + missing + " in " + region, told.returned_ms});
    }
  }
  return violations;
}

}  // namespace once
