// What the regions hold of runs and webhooks in the end, for checks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replica/ledger/records.pb.h"
#include "simulator/cluster.h"

namespace once {

struct HeldRun {
  Run run;
  std::vector<RunEvent> events;  // in the order of their sequences
  bool token_known = false;      // the run's interrupt leads to it
};

/// Of one region: best-effort ones, and those of the strict group.
struct HeldRuns {
  std::map<std::string, HeldRun> runs;          // by run id
  std::map<std::string, std::size_t> webhooks;  // registered, by address
  std::map<std::string, Conflict> lost;         // recorded as such, by run id, of all regions
  std::uint32_t life = 0;                       // how often its directory was replaced
};

/// By region.
using RunHoldings = std::map<std::string, HeldRuns>;
RunHoldings ReadRunHoldings(Cluster& cluster);

/// The name of a run's home among these regions, "*" where it is the strict group's; empty: it is
/// nobody's.
std::string HomeOfRun(const std::string& run_id, const std::vector<std::string>& regions);

inline constexpr const char* kLossReason = "cross_region_dedup_loss";
/// It is cancelled because it lost.
bool IsCancelledByLoss(const Run& run);

}  // namespace once
