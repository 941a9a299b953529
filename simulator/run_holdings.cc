#include "simulator/run_holdings.h"

#include "replica/env/check.h"
#include "replica/ledger/run_id.h"
#include "replica/limits.h"
#include "simulator/oracle.h"

namespace once {
namespace {

void ReadInto(HeldRuns& held, Tables& tables) {
  const std::string runs = keys::Run("");
  tables.ScanRaw(runs, keys::After(runs), [&](std::string_view, std::string_view value) {
    Run run;
    Check(run.ParseFromArray(value.data(), static_cast<int>(value.size())), "a run parses");
    held.runs[run.run_id()].run = std::move(run);
    return true;
  });
  const std::string events = "e";
  tables.ScanRaw(events, keys::After(events), [&](std::string_view key, std::string_view value) {
    RunEvent event;
    Check(event.ParseFromArray(value.data(), static_cast<int>(value.size())), "an event parses");
    held.runs[std::string(key.substr(1, kRunIdBytes))].events.push_back(std::move(event));
    return true;
  });
  for (auto& [run_id, seen] : held.runs)
    if (const std::string& token = seen.run.interrupt_token(); !token.empty())
      seen.token_known |= tables.FindInterrupt(token) == run_id;
  tables.VisitWebhooks([&](const Webhook& webhook) { ++held.webhooks[webhook.url()]; });
  for (const Conflict& conflict : tables.Conflicts(0, kConflictsMax))
    if (conflict.kind() == LOST) held.lost[conflict.loser()] = conflict;
}

}  // namespace

RunHoldings ReadRunHoldings(Cluster& cluster) {
  RunHoldings holdings;
  for (const std::string& region : cluster.regions()) {
    HeldRuns& held = holdings[region];
    held.life = cluster.life(region);
    ReadInto(held, cluster.replica(region).tables());
    if (StrictGroup* const group = cluster.group(region)) ReadInto(held, group->tables());
  }
  return holdings;
}

std::string HomeOfRun(const std::string& run_id, const std::vector<std::string>& regions) {
  if (IsStrictRunId(run_id)) return std::string(kStrictRegion);
  for (const std::string& region : regions)
    if (run_id.size() == kRunIdBytes && run_id.compare(10, 4, RegionCode(region)) == 0)
      return region;
  return "";
}

bool IsCancelledByLoss(const Run& run) {
  return run.status() == RUN_CANCELLED && run.reason() == kLossReason;
}

}  // namespace once
