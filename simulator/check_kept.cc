#include <algorithm>
#include <map>
#include <set>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

Slots ReadStrictSlots(Tables& tables) {
  Slots slots;
  for (int byte = 0; byte < 256; ++byte)
    tables.VisitSlots(static_cast<std::uint8_t>(byte), [&](const std::string&, const Slot& slot) {
      slots[{slot.tenant(), slot.key()}] = slot;
    });
  return slots;
}

// Empty, or what is missing of what the operation was told.
std::string Missing(const Operation& told, const Claim* claim) {
  if (!claim) return "is gone";
  if (claim->fence() < told.fence) return "fell back to an earlier owner";
  if (!IsFinalStatus(told.status) || told.answer == Operation::Answer::kExecute) return "";
  const bool same =
      claim->outcome().status() == told.status && claim->outcome().body() == told.answer_body;
  return same ? "" : "has lost its answer";
}

}  // namespace

Violations CheckKept(Cluster& cluster, const History& history, std::int64_t now_ms) {
  Violations violations;
  std::set<std::string> over;
  std::set<const Operation*> gave_way;
  std::map<std::pair<std::string, std::uint64_t>, std::int64_t> settled_ms;  // by run and fence
  for (const auto& [key, story] : StoriesOf(history)) {
    for (const Operation* operation : story.operations) {
      if (operation->kind == Operation::Kind::kSettle && operation->status == 0)
        over.insert(operation->run_id);
      if (operation->kind == Operation::Kind::kSettle)
        settled_ms.try_emplace({operation->run_id, operation->fence}, operation->invoked_ms);
      for (const Operation* known : story.operations)
        if (MayMakeRoom(*operation, *known)) gave_way.insert(known);
    }
    for (const auto& [run_id, facts] : story.runs)
      if (facts.kept_until_ms >= 0 && facts.kept_until_ms <= now_ms) over.insert(run_id);
  }
  for (const std::string& region : cluster.regions()) {
    const Slots slots = ReadStrictSlots(cluster.group(region)->tables());
    for (const Operation& told : history.operations) {
      const bool acknowledged = IsGrant(told) || IsAcceptedSettle(told);
      // One that was told so again had ended before.
      const auto settled = settled_ms.find({told.run_id, told.fence});
      const std::int64_t from_ms = settled != settled_ms.end()
                                       ? std::min(settled->second, told.invoked_ms)
                                       : told.invoked_ms;
      const bool abandoned =
          told.retention_ms > 0 && now_ms >= from_ms + static_cast<std::int64_t>(told.retention_ms);
      if (!told.strict || !acknowledged || abandoned || over.count(told.run_id) ||
          gave_way.count(&told))
        continue;
      if (const std::string missing = Missing(told, ClaimOf(slots, told)); !missing.empty())
        violations.push_back(
            {"kept", Describe(told) + " " + missing + " in " + region, told.returned_ms});
    }
  }
  return violations;
}

}  // namespace once
