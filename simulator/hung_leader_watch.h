// A leader whose own disk hangs, while the others decide without it, gives way.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "simulator/checks.h"
#include "simulator/cluster.h"

namespace once {

/// To be looked at every quarter of a second. What was decided under a leader that stands not still
/// is on that leader's own disk before long, or it does not lead any more.
class HungLeaderWatch {
 public:
  /// `cluster` outlives it.
  explicit HungLeaderWatch(Cluster& cluster) : cluster_(cluster) {}

  Violations Look(std::int64_t now_ms);

 private:
  struct Watched {
    std::uint64_t term = 0;
    std::uint64_t decided = 0;
    std::int64_t since_ms = 0;
  };

  Cluster& cluster_;
  std::map<std::string, Watched> watched_;  // by region
};

}  // namespace once
