#include "simulator/state_watch.h"

#include "replica/storage/keys.h"
#include "simulator/trace.h"

namespace once {
namespace {

std::uint64_t HashOf(Tables& tables) {
  Trace hash;
  tables.ScanRaw("", keys::kAfterTables, [&hash](std::string_view key, std::string_view value) {
    hash.Add(key).Add(value);
    return true;
  });
  return hash.hash();
}

}  // namespace

Violations StateWatch::Look(std::int64_t now_ms) {
  Violations violations;
  for (const std::string& region : cluster_.regions()) {
    StrictGroup* const group = cluster_.group(region);
    if (!group) continue;
    const std::uint64_t index = group->tables().head().applied();
    std::uint64_t& last = last_looked_[region];
    if (index == 0 || last == index) continue;
    last = index;
    group->Store();
    const std::uint64_t hash = HashOf(group->tables());
    const auto [seen, first] = seen_.try_emplace(index, Seen{region, hash});
    if (!first && seen->second.hash != hash)
      violations.push_back({"equal-states",
                            region + " and " + seen->second.region + " differ after applying " +
                                std::to_string(index),
                            now_ms});
  }
  return violations;
}

}  // namespace once
