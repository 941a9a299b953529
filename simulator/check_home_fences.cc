#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

constexpr std::int64_t kStartsApartMs = kSkewBoundMs;

// When the region's processes began, as far as its faults tell.
std::map<std::string, std::vector<std::int64_t>> StartsOf(const History& history) {
  std::map<std::string, std::vector<std::int64_t>> starts;
  for (const std::string& region : history.regions) starts[region].push_back(0);
  for (const Fault& fault : history.faults) {
    if (EndsProcess(fault) && fault.to_ms >= 0) starts[fault.region].push_back(fault.to_ms);
  }
  for (auto& [region, all] : starts) std::sort(all.begin(), all.end());
  return starts;
}

// With another directory only the clock says what was given before, and it may have gone back by
// less than the bound.
bool StartedTwice(const std::vector<std::int64_t>& starts, const Operation& earlier,
                  const Operation& later) {
  for (std::size_t i = 1; i < starts.size(); ++i)
    if (starts[i] > earlier.invoked_ms && starts[i] <= later.returned_ms &&
        starts[i] - starts[i - 1] < kStartsApartMs)
      return true;
  return false;
}

}  // namespace

Violations CheckHomeFences(const History& history) {
  Violations violations;
  const auto starts = StartsOf(history);
  std::map<std::pair<std::string, std::string>, std::vector<const Operation*>> keys;
  for (const Operation& operation : history.operations)
    if (IsGrant(operation) && !operation.strict && operation.fence > 0)
      keys[{operation.tenant + "/" + operation.key, operation.region}].push_back(&operation);
  for (const auto& [key, grants] : keys) {
    for (const Operation* later : grants) {
      for (const Operation* earlier : grants) {
        if (earlier->returned_ms >= later->invoked_ms || earlier->fence < later->fence) continue;
        const auto known = starts.find(key.second);
        if (later->life > earlier->life && known != starts.end() &&
            StartedTwice(known->second, *earlier, *later))
          continue;
        violations.push_back(
            {"home-fences",
             Describe(*later) + " was given fence " + std::to_string(later->fence) + " after #" +
                 std::to_string(earlier->id) + " had got " + std::to_string(earlier->fence),
             later->returned_ms});
      }
    }
  }
  return violations;
}

}  // namespace once
