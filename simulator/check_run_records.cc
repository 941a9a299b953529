#include <set>

#include "replica/ledger/effects.h"
#include "replica/ledger/workflows.h"
#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {

Violations CheckRunRecords(const RunHoldings& holdings, std::int64_t now_ms,
                           std::int64_t retention_ms) {
  Violations violations;
  std::map<std::string, const Run*> runs;  // of each one record that is there
  for (const auto& [region, held] : holdings)
    for (const auto& [run_id, seen] : held.runs)
      if (!seen.run.run_id().empty()) runs.emplace(run_id, &seen.run);
  for (const auto& [run_id, run] : runs) {
    const bool may_be_gone =
        IsTerminal(run->status()) && run->updated_ms() + retention_ms <= now_ms + 2 * kSkewBoundMs;
    for (const auto& [region, held] : holdings) {
      const auto say = [&, region = region, run_id = run_id](const std::string& what) {
        violations.push_back({"run-records", region + ": run " + run_id + " " + what, 0});
      };
      const auto at = held.runs.find(run_id);
      if (at == held.runs.end() || at->second.run.run_id().empty()) {
        if (!may_be_gone) say("is not there");
        continue;
      }
      const Run& here = at->second.run;
      if (here.SerializeAsString() != run->SerializeAsString())
        say(std::string("is ") + RunStatusName(here.status()) + " in version " +
            std::to_string(here.version()) + ", elsewhere " + RunStatusName(run->status()) +
            " in version " + std::to_string(run->version()));
      if (here.status() == WAITING_APPROVAL && !at->second.token_known)
        say("waits, and its token leads nowhere");
    }
  }
  return violations;
}

}  // namespace once
