// What is over leaves the store: the disk, the memory, the index, and what the head counts; of the
// strict ledger too. (That nothing leaves it early, and what the best-effort head counts, is asked
// at every sync: disk_watch.h.)
#include <algorithm>
#include <map>
#include <string>

#include "replica/env/check.h"
#include "simulator/checks.h"
#include "simulator/oracle.h"
#include "simulator/stored_ledger.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

// The index may hold a slot until the end that it had while it was worked on. One whose claims went
// before a begin that was refused for want of room says nothing of that end any more.
std::int64_t LatestMillis(const Slot& slot) {
  std::int64_t latest_ms = slot.claims_size() == 0 ? slot.indexed_ms() : 0;
  for (const Claim& claim : slot.claims()) {
    const auto retention_ms = static_cast<std::int64_t>(claim.retention_ms());
    if (retention_ms == 0) return kNoEndMs;
    latest_ms =
        std::max({latest_ms, claim.lease_until_ms() + retention_ms, EndWithComponent(slot, claim)});
  }
  return latest_ms;
}

struct Forgetful {
  const StoredLedger& ledger;
  Violations& violations;

  void Say(const std::string& what) const {
    violations.push_back({"forgetting", ledger.name + " " + what, 0});
  }

  void CheckOver(std::int64_t upto_ms) const {
    for (const auto& [key, slot] : ReadSlots(ledger.records))
      if (const std::int64_t end_ms = LatestMillis(slot); end_ms < upto_ms)
        Say("keeps " + key.first + "/" + key.second + ", which might have gone " +
            std::to_string(upto_ms - end_ms) + " ms ago");
  }

  void CheckIndex() const {
    const auto index = ReadExpiries(ledger, keys::Expiring::kSlot);
    std::size_t slots = 0;
    VisitRecords(ledger, keys::Slot(""), [&](const std::string& hash, const std::string& bytes) {
      ++slots;
      Slot slot;
      Check(slot.ParseFromString(bytes), "a slot on disk parses");
      const auto entry = index.find(hash);
      if (entry == index.end() || entry->second != slot.indexed_ms())
        Say("would not find " + slot.tenant() + "/" + slot.key() + " when it is over");
    });
    if (index.size() != slots)
      Say("indexes " + std::to_string(index.size()) + " slots and has " + std::to_string(slots));
  }

  void CheckCounts() const {
    std::uint64_t slots = 0;
    std::uint64_t bytes = 0;
    VisitRecords(ledger, keys::Slot(""), [&](const std::string&, const std::string& slot) {
      ++slots;
      bytes += slot.size();
    });
    Head head;
    const auto stored = ledger.records.find(keys::Head());
    if (stored == ledger.records.end()) return;  // it was just made
    Check(head.ParseFromString(stored->second), "a head on disk parses");
    if (head.slots() != slots || head.slot_bytes() != bytes)
      Say("counts " + std::to_string(head.slots()) + " slots of " +
          std::to_string(head.slot_bytes()) + " bytes and has " + std::to_string(slots) + " of " +
          std::to_string(bytes));
  }
};

}  // namespace

Violations CheckForgotten(Cluster& cluster) {
  Violations violations;
  for (const StoredLedger& ledger : ReadLedgers(cluster)) {
    const Forgetful forgetful{ledger, violations};
    forgetful.CheckOver(ForgottenUntil(cluster, ledger));
    forgetful.CheckIndex();
    forgetful.CheckCounts();
  }
  for (const std::string& region : cluster.regions()) {
    const Tables& tables = cluster.replica(region).tables();
    if (tables.hot().size() > tables.head().slots())
      violations.push_back({"forgetting",
                            region + " has " + std::to_string(tables.hot().size()) +
                                " slots in memory and " + std::to_string(tables.head().slots()) +
                                " in all",
                            0});
  }
  return violations;
}

}  // namespace once
