// What is over leaves the store: the disk, the memory, the index. (That nothing leaves it early,
// and what the head counts, is asked at every sync: disk_watch.h.)
#include <algorithm>
#include <map>
#include <string>

#include "replica/storage/keys.h"
#include "simulator/checks.h"
#include "simulator/oracle.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

constexpr std::int64_t kSlackMs = 5000;  // until all cover it, and expiry comes round

// The index may hold a slot until the end that it had while it was worked on.
std::int64_t LatestMillis(const Slot& slot) {
  std::int64_t latest_ms = 0;
  for (const Claim& claim : slot.claims()) {
    const auto retention_ms = static_cast<std::int64_t>(claim.retention_ms());
    if (retention_ms == 0) return kNoEndMs;
    latest_ms =
        std::max({latest_ms, claim.lease_until_ms() + retention_ms, EndWithComponent(slot, claim)});
  }
  return latest_ms;
}

// Hash to time, as the index has it; each slot once.
using Index = std::map<std::string, std::int64_t>;

Index ReadIndex(const MemoryDisk::Contents& disk, std::size_t& entries) {
  Index index;
  const std::string first = keys::ExpiryTime(keys::Expiring::kSlot, 0);
  const std::string prefix = first.substr(0, keys::kExpiryKindBytes);
  for (auto at = disk.lower_bound(prefix); at != disk.end() && at->first.starts_with(prefix);
       ++at) {
    const std::string_view key = at->first;
    const auto time_ms =
        static_cast<std::int64_t>(keys::ReadBig64(key.substr(keys::kExpiryKindBytes)));
    if (const std::string_view id = key.substr(keys::kExpiryPrefixBytes); !id.empty()) {
      index[std::string(id)] = time_ms, ++entries;
      continue;
    }
    for (std::string_view packed = at->second; const auto id = keys::TakePart(packed); ++entries)
      index[std::string(*id)] = time_ms;
  }
  return index;
}

struct Region {
  const std::string& name;
  const MemoryDisk::Contents& disk;
  Violations& violations;

  void Say(const std::string& what) const {
    violations.push_back({"forgetting", name + " " + what, 0});
  }

  void CheckOver(std::int64_t upto_ms) const {
    for (const auto& [key, slot] : ReadSlots(disk))
      if (const std::int64_t end_ms = LatestMillis(slot); end_ms < upto_ms)
        Say("keeps " + key.first + "/" + key.second + ", which might have gone " +
            std::to_string(upto_ms - end_ms) + " ms ago");
  }

  void CheckIndex() const {
    std::size_t entries = 0;
    const Index index = ReadIndex(disk, entries);
    std::size_t slots = 0;
    const std::string prefix = keys::Slot("");
    for (auto at = disk.lower_bound(prefix); at != disk.end() && at->first.starts_with(prefix);
         ++at, ++slots) {
      Slot slot;
      slot.ParseFromString(at->second);
      const auto entry = index.find(at->first.substr(prefix.size()));
      if (entry == index.end() || entry->second != slot.indexed_ms())
        Say("would not find " + slot.tenant() + "/" + slot.key() + " when it is over");
    }
    if (entries != slots)
      Say("indexes " + std::to_string(entries) + " slots and has " + std::to_string(slots));
  }
};

}  // namespace

Violations CheckForgotten(Cluster& cluster) {
  Violations violations;
  const std::int64_t upto_ms =
      cluster.time().WallMillis() - cluster.options().forget_grace_ms - 2 * kSkewBoundMs - kSlackMs;
  for (const std::string& name : cluster.regions()) {
    const MemoryDisk::Contents& disk = cluster.disk(name).visible();
    const Region region{name, disk, violations};
    region.CheckOver(upto_ms);
    region.CheckIndex();
    Tables& tables = cluster.replica(name).tables();
    if (tables.hot().size() > tables.head().slots())
      region.Say("has " + std::to_string(tables.hot().size()) + " slots in memory and " +
                 std::to_string(tables.head().slots()) + " in all");
  }
  return violations;
}

}  // namespace once
