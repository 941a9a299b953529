// Follows what the disks of all regions durably hold of best-effort slots, at every sync: who was
// let execute beside a claim that the region had heard of, under which fence, what was forgotten or
// evicted, whether there was room for what was let in, and whether the numbers of the head are
// those of the store.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "simulator/checks.h"
#include "simulator/cluster.h"
#include "simulator/room_of_sync.h"

namespace once {

class DiskWatch {
 public:
  using Keep = std::function<void(Violations)>;

  /// `cluster` outlives it. `keep` gets what is found when it is.
  DiskWatch(Cluster& cluster, Keep keep);

  /// The region has another directory now.
  void Follow(const std::string& region);
  /// What went before its time, in a region that may do that when its store is at its bound.
  const std::vector<Eviction>& evictions() const { return evictions_; }
  /// Where something may have come and gone between two syncs, before what is there now.
  const std::vector<Eviction>& perhaps_evicted() const { return perhaps_; }

 private:
  struct Stored {
    std::string bytes;
    Slot slot;
  };
  struct Held {
    std::unordered_map<std::string, Stored> slots;  // by key on disk
    std::unordered_set<std::string> heard;          // run ids that were durable in this directory
    std::unordered_map<std::string, std::uint64_t>
        fence;                // of its own runs, the highest in this directory
    std::uint64_t bytes = 0;  // of all slots
  };
  struct Batch {
    RoomOfSync room;
    std::vector<Slot> gone;  // as they were; without claims: nobody saw it
    std::vector<Slot> put;   // where none was
  };
  std::int64_t NowMillis() const;
  void Look(const std::string& region, const std::vector<std::string>& keys);
  void Change(const std::string& region, Held& held, const std::string& key, Batch& batch);
  void CheckGone(const std::string& region, const Batch& batch);
  /// `claim` of the region is in `after` under a fence that nobody had seen.
  void CheckGrant(const std::string& region, Held& held, const Slot& before, const Slot& after,
                  const Claim& claim);
  void CheckForgotten(const std::string& region, const Slot& before, const Claim& claim);
  void CheckHead(const std::string& region, const Held& held, const std::string& head);
  void Say(const char* checker, const std::string& what) { keep_({{checker, what, 0}}); }

  Cluster& cluster_;
  const Keep keep_;
  const std::int64_t start_us_;
  std::map<std::string, Held> held_;  // by region
  std::vector<Eviction> evictions_;
  std::vector<Eviction> perhaps_;
  std::set<std::pair<std::string, std::uint64_t>> known_;  // (run, fence) on any disk, ever
};

}  // namespace once
