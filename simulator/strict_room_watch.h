// Asks, at whatever members of the strict group apply, whether slots had room for a new one by
// their bytes. (By their number: CheckSizes.)
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "simulator/checks.h"
#include "simulator/cluster.h"

namespace once {

/// Of entries that hold one command: what others in an entry do to the bytes is not seen.
class StrictRoomWatch {
 public:
  /// `cluster` outlives it.
  explicit StrictRoomWatch(Cluster& cluster) : cluster_(cluster) {}

  /// The region's member has applied an entry, and this answer is of it.
  Violations Look(const std::string& region, const Answer& answer);

 private:
  struct Applied {
    std::uint64_t index = 0;
    std::uint64_t slots = 0;  // after it
    std::uint64_t bytes = 0;
    std::uint64_t answers = 0;
    std::string beyond = "";  // what was added to a store without room, if there is one answer
  };

  Cluster& cluster_;
  std::map<std::string, Applied> last_;  // by region
};

}  // namespace once
