#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

// A clock may be behind by the bound, and what a full disk refused is tried again after a second;
// whoever leads the strict group looks at all runs every five.
constexpr std::int64_t kSoonMs = 2 * kSkewBoundMs + 1000;
constexpr std::int64_t kLookMs = 5500;

}  // namespace

Violations CheckRunProgress(const RunHoldings& holdings, std::int64_t now_ms) {
  Violations violations;
  for (const auto& [region, held] : holdings)
    for (const auto& [run_id, seen] : held.runs) {
      const Run& run = seen.run;
      const bool strict = run.region() == kStrictRegion;
      if (run.status() != RUNNING || (!strict && run.region() != region)) continue;
      const std::int64_t since_ms = now_ms - run.due_ms();
      if (since_ms > kSoonMs + (strict ? kLookMs : 0))
        violations.push_back({"run-progress",
                              region + ": run " + run_id + " is due since " +
                                  std::to_string(since_ms) + " ms and was not carried on",
                              0});
    }
  return violations;
}

}  // namespace once
