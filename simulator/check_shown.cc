#include <set>

#include "simulator/checks.h"

namespace once {

Violations CheckShown(const MemoryDisk& disk, const std::string& hash, const Slot& shown) {
  Slot kept;
  if (const auto durable = disk.Durable(keys::Slot(hash))) kept.ParseFromString(*durable);
  std::set<std::string> claims;
  for (const Claim& claim : kept.claims()) claims.insert(claim.SerializeAsString());
  for (const Claim& claim : shown.claims()) {
    if (claims.count(claim.SerializeAsString()) == 0)
      return {{"shown",
               "run " + claim.run_id() + " of " + shown.tenant() + "/" + shown.key() +
                   " was shown in a state that a crash would take back",
               0}};
  }
  return {};
}

}  // namespace once
