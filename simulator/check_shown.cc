#include "simulator/checks.h"

namespace once {

Violations CheckShown(const MemoryDisk& disk, const std::string& hash, const Slot& shown) {
  const MemoryDisk::Contents durable = disk.durable();
  const auto at = durable.find(keys::Slot(hash));
  Slot kept;
  if (at != durable.end()) kept.ParseFromString(at->second);
  for (const Claim& claim : shown.claims()) {
    bool same = false;
    for (const Claim& other : kept.claims())
      same = same || other.SerializeAsString() == claim.SerializeAsString();
    if (!same)
      return {{"shown",
               "run " + claim.run_id() + " of " + shown.tenant() + "/" + shown.key() +
                   " was shown in a state that a crash would take back",
               0}};
  }
  return {};
}

}  // namespace once
