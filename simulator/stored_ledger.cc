#include "simulator/stored_ledger.h"

#include "simulator/story_of_key.h"

namespace once {
namespace {

MemoryDisk::Contents ReadStrict(StrictGroup& group) {
  group.Store();
  MemoryDisk::Contents records;
  group.tables().ScanRaw("", keys::kAfterTables, [&](std::string_view key, std::string_view value) {
    records.emplace(key, value);
    return true;
  });
  return records;
}

}  // namespace

std::vector<StoredLedger> ReadLedgers(Cluster& cluster) {
  std::vector<StoredLedger> ledgers;
  for (const std::string& region : cluster.regions()) {
    if (StrictGroup* const group = cluster.group(region))
      ledgers.push_back({"the strict ledger in " + region, ReadStrict(*group), 0});
    ledgers.push_back({region, cluster.disk(region).visible(), cluster.options().forget_grace_ms});
  }
  return ledgers;
}

std::int64_t ForgottenUntil(Cluster& cluster, const StoredLedger& ledger) {
  constexpr std::int64_t kSlackMs = 5000;
  return cluster.time().WallMillis() - ledger.grace_ms - 2 * kSkewBoundMs - kSlackMs;
}

std::multimap<std::string, std::int64_t> ReadExpiries(const StoredLedger& ledger,
                                                      keys::Expiring kind) {
  std::multimap<std::string, std::int64_t> expiries;
  const std::string prefix = keys::ExpiryTime(kind, 0).substr(0, keys::kExpiryKindBytes);
  VisitRecords(ledger, prefix, [&](const std::string& rest, std::string_view packed) {
    const auto time_ms = static_cast<std::int64_t>(keys::ReadBig64(rest));
    const std::string id = rest.substr(keys::kExpiryPrefixBytes - keys::kExpiryKindBytes);
    if (!id.empty()) {
      expiries.emplace(id, time_ms);
      return;
    }
    while (const auto one = keys::TakePart(packed)) expiries.emplace(*one, time_ms);
  });
  return expiries;
}

}  // namespace once
