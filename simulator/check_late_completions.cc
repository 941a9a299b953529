#include <algorithm>
#include <set>
#include <string>

#include "simulator/checks.h"
#include "simulator/oracle.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

// What its owner said first is kept, whatever it says then.
bool SaidOtherwise(const History& history, const Operation& late) {
  return std::any_of(history.operations.begin(), history.operations.end(),
                     [&late](const Operation& other) {
                       return other.kind == Operation::Kind::kSettle &&
                              other.run_id == late.run_id && other.fence == late.fence &&
                              IsFinalStatus(other.status) && other.status != late.status;
                     });
}

}  // namespace

Violations CheckLateCompletions(Cluster& cluster, const History& history) {
  Violations violations;
  std::set<std::string> asked;
  for (const Operation& late : history.operations) {
    if (late.winner.empty() || !IsSuccess(late.status)) continue;
    if (late.life != cluster.life(late.region) || SaidOtherwise(history, late)) continue;
    if (!asked.insert(late.run_id).second) continue;
    for (const std::string& region : cluster.regions()) {
      const auto record =
          cluster.replica(region).tables().FindConflict(LATE_COMPLETION, late.run_id);
      const auto say = [&](const std::string& what) {
        violations.push_back({"late-completions",
                              region + " " + what + " " + Describe(late) +
                                  ", which succeeded after it had given way to " + late.winner,
                              late.returned_ms});
      };
      // One that came back may have heard of it when the claim was forgotten; and an owner may come
      // so late that its claim is forgotten before the record is told with it.
      if (!record) {
        const bool may_lack = region != late.region && ForgetsSoon(cluster.options());
        if (cluster.life(region) == 0 && !may_lack) say("does not list");
      } else if (record->region() != late.region || record->late_status() != late.status) {
        say("does not list as a success of " + late.region);
      }
    }
  }
  return violations;
}

}  // namespace once
