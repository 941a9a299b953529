// Records of losers and late completions are the same in all regions, and counters are made of
// them.
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "conflict/probe.h"
#include "simulator/checks.h"
#include "simulator/oracle.h"

namespace once {
namespace {

using Records = std::map<std::pair<int, std::string>, Conflict>;  // by kind and loser

constexpr const char* kLost = "openwop_idempotency_cross_region_conflicts_total";
constexpr const char* kLate = "once_late_completions_total";

// Without its places in the region's lists.
std::string ContentOf(Conflict conflict) {
  conflict.clear_sequence();
  conflict.clear_tenant_sequence();
  return conflict.SerializeAsString();
}

std::string Name(const Conflict& conflict) {
  return std::string(conflict.kind() == LOST ? "the loser " : "the late completion of ") +
         conflict.loser();
}

std::uint64_t SumOf(const std::string& page, std::string_view name) {
  double sum = 0;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name) || line[name.size()] != '{') continue;
    sum += std::stod(line.substr(line.rfind(' ') + 1));
  }
  return static_cast<std::uint64_t>(sum);
}

Records ReadRecords(Tables& tables, const std::string& region, Violations& violations) {
  Records records;
  for (Conflict& conflict : tables.Conflicts(0, kConflictsMax)) {
    if (conflict.kind() == RUN_ID_COLLISION) continue;
    const auto [at, first] =
        records.emplace(std::pair(int{conflict.kind()}, conflict.loser()), conflict);
    if (!first) violations.push_back({"records", region + " lists twice " + Name(conflict), 0});
  }
  return records;
}

// A claim that nobody has any more brings its record to nobody.
bool IsHeld(const Holdings& holdings, const std::string& run_id) {
  for (const auto& [region, slots] : holdings)
    for (const auto& [key, slot] : slots)
      for (const Claim& claim : slot.claims())
        if (claim.run_id() == run_id) return true;
  return false;
}

void NoteSurvivors(const Records& records, const Holdings& holdings) {
  for (const auto& [key, slot] : holdings.begin()->second) {
    const Verdict verdict = Judge(slot);
    for (const std::string& loser : verdict.losers)
      if (const auto at = records.find({LOST, loser});
          at != records.end() && at->second.winner() != verdict.survivor_of.at(loser))
        Reached("a loser's survivor lost to a lower run");
  }
}

}  // namespace

Violations CheckCounters(Cluster& cluster, const std::string& region, bool in_the_end) {
  Violations violations;
  Tables& tables = cluster.replica(region).tables();
  std::uint64_t lost = 0;
  std::uint64_t late = 0;
  for (const Conflict& conflict : tables.Conflicts(0, kConflictsMax)) {
    if (conflict.region() != region) continue;
    if (conflict.kind() == LOST) ++lost;
    if (conflict.kind() == LATE_COMPLETION && conflict.late_status() < 400) ++late;
  }
  if (lost + late == 0 && !in_the_end) return violations;
  const auto compare = [&](const std::string& what, std::uint64_t counted, std::uint64_t listed) {
    if (counted != listed)
      violations.push_back({"records",
                            region + " counts " + std::to_string(counted) + " " + what +
                                " and lists " + std::to_string(listed),
                            0});
  };
  const std::string page = cluster.metrics(region).Text({});
  compare("losers", SumOf(page, kLost), lost);
  compare("losers on disk", tables.head().conflicts(), lost);
  compare("late completions", SumOf(page, kLate), late);
  return violations;
}

Violations CheckRecords(Cluster& cluster, const Holdings& holdings) {
  Violations violations;
  std::map<std::string, Records> of;
  for (const std::string& region : cluster.regions())
    of[region] = ReadRecords(cluster.replica(region).tables(), region, violations);
  NoteSurvivors(of.begin()->second, holdings);
  const bool forgets_soon = ForgetsSoon(cluster.options());
  for (const auto& [region, records] : of) {
    for (const auto& [place, record] : records) {
      for (const auto& [other, others] : of) {
        const auto at = others.find(place);
        const bool away = cluster.life(other) > 0 ||
                          cluster.options().gossip.silence_ms_max < GossipOptions().silence_ms_max;
        // An owner may come so late that its claim is forgotten before the record is told with it.
        const bool told =
            record.kind() != LATE_COMPLETION || !forgets_soon || IsHeld(holdings, record.loser());
        if (at == others.end() && told) {
          // What its winner was lost with is not told any more as a loss.
          if (!away || (IsHeld(holdings, record.loser()) && !WinnerMayBeUndone(cluster, record)))
            violations.push_back(
                {"records", other + " does not list " + Name(record) + " as " + region, 0});
        } else if (at != others.end() && cluster.life(record.region()) == 0 &&
                   ContentOf(at->second) != ContentOf(record)) {
          violations.push_back(
              {"records", other + " lists otherwise than " + region + " " + Name(record), 0});
        }
      }
    }
  }
  return violations;
}

}  // namespace once
