#include "conflict/survivor.h"
#include "simulator/checks.h"
#include "simulator/oracle.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

std::string BytesOf(const Slot& slot) {
  std::string bytes;
  for (const Claim& claim : slot.claims()) bytes += claim.SerializeAsString();
  return bytes;
}

std::string Shown(const Slot& slot) {
  std::string shown;
  for (const Claim& claim : slot.claims())
    shown += " " + claim.run_id() + ":" + claim.region() + ":v" + std::to_string(claim.version()) +
             ":" + ClaimState_Name(claim.state());
  return shown;
}

void CheckSlot(const std::string& where, const Slot& slot, Violations& violations) {
  const Verdict verdict = Judge(slot);
  for (const auto& [run, survivor] : verdict.survivor_of) {
    const Claim* redirect = RedirectOf(slot, run);
    const std::string named = redirect ? redirect->run_id() : run;
    if (named != survivor)
      violations.push_back(
          {"survivor", where + ": run " + run + " points at " + named + ", not " + survivor, 0});
  }
}

// An attempt at home must have given way to an answer from elsewhere.
void CheckGaveWay(const std::string& region, const std::string& where, const Slot& slot,
                  std::int64_t now_ms, Violations& violations) {
  const Claim* survivor = SurvivorAt(slot, now_ms, kSkewBoundMs);
  if (!survivor || survivor->region() == region || survivor->state() != COMPLETED) return;
  for (const Claim& claim : slot.claims())
    if (claim.region() == region && claim.state() == PENDING)
      violations.push_back({"survivor",
                            where + ": run " + claim.run_id() + " is pending beside the answer " +
                                survivor->run_id(),
                            0});
}

}  // namespace

Violations CheckSurvivor(Cluster& cluster, const Holdings& holdings) {
  Violations violations;
  const Slots& first = holdings.begin()->second;
  for (const auto& [region, slots] : holdings) {
    if (slots.size() != first.size())
      violations.push_back({"survivor", region + " holds another number of keys", 0});
    for (const auto& [key, slot] : slots) {
      const std::string where = region + " " + key.first + "/" + key.second;
      const auto other = first.find(key);
      if (other == first.end() || BytesOf(other->second) != BytesOf(slot))
        violations.push_back({"survivor",
                              where + " holds" + Shown(slot) + ", the first region" +
                                  (other == first.end() ? " nothing" : Shown(other->second)),
                              0});
      CheckSlot(where, slot, violations);
      CheckGaveWay(region, where, slot, cluster.replica(region).NowMillis(), violations);
    }
  }
  return violations;
}

}  // namespace once
