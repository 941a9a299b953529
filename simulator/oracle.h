// The rule of design as plainly as it can be said, without a line of the product: final claims are
// connected when their windows overlap, and of each connected component the lowest run id among the
// successes survives. Slow and obvious on purpose.
#pragma once

#include <map>
#include <set>
#include <string>

#include "conflict/claim.pb.h"
#include "simulator/cluster.h"
#include "simulator/history.h"

namespace once {

struct Verdict {
  std::map<std::string, std::string> survivor_of;  // every final run -> the run that stands for it
  std::set<std::string> losers;                    // successes that did not survive
};

Verdict Judge(const Slot& slot);

inline constexpr std::int64_t kNoEndMs = INT64_MAX;
/// When the claim is over, in words of docs/CONSISTENCY.md: a final one with the last of its
/// component, a pending one when nobody came back for it.
std::int64_t EndWithComponent(const Slot& slot, const Claim& claim);

inline constexpr std::size_t kConflictsMax = 100'000;  // more than any world makes

/// What a disk holds, by (tenant, key). Looking changes nothing in the region's memory.
using Slots = std::map<std::pair<std::string, std::string>, Slot>;
Slots ReadSlots(const MemoryDisk::Contents& disk);
/// The claim that the operation was told of, or null.
const Claim* ClaimOf(const Slots& slots, const Operation& told);
/// The same of every region.
using Holdings = std::map<std::string, Slots>;
Holdings ReadHoldings(Cluster& cluster);
/// Without what a region may have forgotten by now, whichever clock it goes by.
Holdings WithoutForgettable(Holdings holdings, std::int64_t now_ms, std::int64_t grace_ms);
/// Only what a crash cannot take away.
Holdings ReadDurable(Cluster& cluster);

}  // namespace once
