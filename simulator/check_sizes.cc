#include <algorithm>

#include "replica/limits.h"
#include "simulator/checks.h"

namespace once {
namespace {

bool WasFull(const History& history, const Operation& refused) {
  return std::any_of(history.faults.begin(), history.faults.end(), [&](const Fault& fault) {
    return fault.kind == Fault::Kind::kDiskFull && fault.region == refused.region &&
           fault.from_ms <= refused.returned_ms &&
           (fault.to_ms < 0 || fault.to_ms >= refused.invoked_ms);
  });
}

// The key was given back so often that its slot may hold no more.
bool IsCrowded(const History& history, const Operation& refused) {
  const auto given_back = std::count_if(
      history.operations.begin(), history.operations.end(), [&refused](const Operation& settle) {
        return settle.kind == Operation::Kind::kSettle && settle.status == 0 &&
               (refused.strict || settle.region == refused.region) &&
               settle.tenant == refused.tenant && settle.key == refused.key &&
               settle.invoked_ms <= refused.returned_ms;
      });
  return static_cast<std::size_t>(given_back) >= kSlotClaimsMax / 2;
}

std::size_t CountOwn(const Slot& slot, const std::string& region) {
  return static_cast<std::size_t>(
      std::count_if(slot.claims().begin(), slot.claims().end(),
                    [&region](const Claim& claim) { return claim.region() == region; }));
}

}  // namespace

Violations CheckSizes(Cluster& cluster) {
  Violations violations;
  const std::uint64_t bound = cluster.options().slots_max;
  const auto check = [&](const std::string& where, Tables& tables) {
    if (tables.head().slots() > bound)
      violations.push_back({"sizes",
                            where + " keeps " + std::to_string(tables.head().slots()) +
                                " slots where " + std::to_string(bound) + " are allowed",
                            0});
  };
  for (const std::string& region : cluster.regions()) {
    if (!cluster.IsUp(region)) continue;
    // What other regions admitted is kept beyond the bound.
    if (cluster.regions().size() == 1) check(region, cluster.replica(region).tables());
    if (StrictGroup* const group = cluster.group(region))
      check("the strict ledger in " + region, group->tables());
  }
  return violations;
}

Violations CheckRoom(const Cluster& cluster, const Holdings& holdings, const History& history) {
  Violations violations;
  for (const auto& [region, slots] : holdings)
    for (const auto& [key, slot] : slots)
      // What comes back to a region that lost it comes beside what it has admitted since.
      if (const std::size_t own = CountOwn(slot, region);
          own > kSlotClaimsMax && cluster.life(region) == 0)
        violations.push_back({"sizes",
                              region + " has " + std::to_string(own) + " claims of its own to " +
                                  key.first + "/" + key.second,
                              0});
  for (const Operation& operation : history.operations)
    if (operation.answer == Operation::Answer::kFull && operation.room &&
        !IsCrowded(history, operation) && !WasFull(history, operation))
      violations.push_back({"sizes",
                            operation.region + " " + operation.tenant + "/" + operation.key + " #" +
                                std::to_string(operation.id) +
                                " was refused for want of room, and there was some",
                            operation.returned_ms});
  return violations;
}

}  // namespace once
