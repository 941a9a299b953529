// Compares the strict ledgers of all regions: at the same index of the log they are the same, byte
// for byte. That is state machine safety, seen from the machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "simulator/checks.h"
#include "simulator/cluster.h"

namespace once {

/// The whole state is hashed, which is too dear after every step: the runner lets it look every
/// half second, and in the end. What was seen at an index is remembered, so that members need not
/// be there at the same time.
class StateWatch {
 public:
  /// `cluster` outlives it.
  explicit StateWatch(Cluster& cluster) : cluster_(cluster) {}

  Violations Look(std::int64_t now_ms);

 private:
  struct Seen {
    std::string region;
    std::uint64_t hash = 0;
  };

  Cluster& cluster_;
  std::map<std::uint64_t, Seen> seen_;                // by index
  std::map<std::string, std::uint64_t> last_looked_;  // index, by region
};

}  // namespace once
