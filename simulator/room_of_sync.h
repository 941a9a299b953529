// How full a region's best-effort store was while what one sync made durable was changed: whether
// there was room for what its callers were let add, and whether there was none when slots were
// evicted.
#pragma once

#include <cstdint>
#include <string>

#include "conflict/claim.pb.h"
#include "simulator/cluster.h"

namespace once {

/// What became durable together. What is counted as put may have gone again before that, and then
/// nobody saw it.
class RoomOfSync {
 public:
  RoomOfSync(std::uint64_t slots, std::uint64_t bytes) : slots_(slots), bytes_(bytes) {}

  /// The slot was `before`, and is `after`; a slot without claims is none. `admitted`: the region
  /// let a run of its own begin there that nobody had seen.
  void Change(const Slot& before, const Slot& after, bool admitted);

  /// Whether the store may have been at its bound when something else was to be added.
  bool MayHaveBeenFull(const ClusterOptions& bounds) const;
  /// Empty, or what the region's callers were let add though there was no room for it. Others' may
  /// have come besides, later.
  std::string AddedBeyond(const ClusterOptions& bounds) const;

 private:
  std::uint64_t slots_;
  std::uint64_t bytes_;
  std::uint64_t slots_put_ = 0;
  std::uint64_t slots_gone_ = 0;
  std::uint64_t slots_admitted_ = 0;  // by callers of the region, and there in the end
  std::uint64_t bytes_put_ = 0;
  std::uint64_t bytes_gone_ = 0;
  bool unseen_ = false;  // something came and went
  bool admitted_ = false;
};

}  // namespace once
