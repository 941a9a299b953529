// The records of one ledger as its store has them: a region's best-effort ledger, or its copy of
// the strict one. For checks, which must change nothing that is in memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replica/storage/keys.h"
#include "replica/storage/tables.h"
#include "simulator/cluster.h"

namespace once {

struct StoredLedger {
  std::string name;  // for people
  MemoryDisk::Contents records;
  std::int64_t grace_ms = 0;  // what is over is kept for so long besides
};

/// Of every region the best-effort ledger, and its strict one where there is a group.
std::vector<StoredLedger> ReadLedgers(Cluster& cluster);

/// What was over before that time must be gone: all regions cover it, and expiry came round.
std::int64_t ForgottenUntil(Cluster& cluster, const StoredLedger& ledger);

/// Called with what follows `prefix` in a key, and its record.
template <typename Visit>
void VisitRecords(const StoredLedger& ledger, const std::string& prefix, const Visit& visit) {
  const MemoryDisk::Contents& records = ledger.records;
  for (auto at = records.lower_bound(prefix); at != records.end() && at->first.starts_with(prefix);
       ++at)
    visit(at->first.substr(prefix.size()), at->second);
}

/// When what is due, by id, as the index has it. One may be due more than once.
std::multimap<std::string, std::int64_t> ReadExpiries(const StoredLedger& ledger,
                                                      keys::Expiring kind);

}  // namespace once
