// Counting conflicts. The home region of a loser counts it once, when it first loses, and the slot
// keeps that mark over restarts and repeated merges. A later, lower survivor changes where the
// loser points (RedirectOf), not what was counted. The sum over the regions is the number of
// losers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conflict/claim.pb.h"

namespace once {

/// The two regions in bytewise order, joined with '|'. The same region twice is possible: a foreign
/// claim may bridge two generations of one region, and then the region loses against itself.
std::string RegionPair(std::string_view a, std::string_view b);

/// The losers whose home is `region` and that the slot has not recorded, ordered by run_id, each
/// with the survivor and region pair seen now. The caller cancels and counts each of them and
/// records them in the same durable write.
std::vector<Loss> NewLosses(const Slot& slot, std::string_view region);

/// Adds the marks and returns how many were new. A run that already has one keeps it as first seen.
/// The slot's losses stay ordered by run_id, each run once.
int RecordLosses(Slot& slot, const std::vector<Loss>& losses);

}  // namespace once
