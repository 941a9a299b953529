// Faults of a node's disk; see preload/sync_fault.c.
#pragma once

#include <string>
#include <vector>

namespace once {

/// Environment of a node whose syncs do as `fault` says: "skip:FILE", "error:FILE" or "hang:FILE".
inline std::vector<std::string> SyncFault(const std::string& fault) {
  // Sanitizers want to be the first library of a process; these tests are not about that.
  return {"LD_PRELOAD=" ONCE_SYNC_FAULT_LIBRARY, "ONCE_SYNC_FAULT=" + fault,
          "ASAN_OPTIONS=verify_asan_link_order=0"};
}

}  // namespace once
