// Slots in memory; the ones that were not used for longest make room for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "conflict/claim.pb.h"

namespace once {

struct HotSlot {
  std::string hash;
  Slot slot;
  std::size_t bytes = 0;    // of the slot, serialized; see HotSlots::SetBytes
  std::uint64_t batch = 0;  // the last batch that carries a change of it
  bool dirty = false;       // changed since the last batch was written
  bool erased = false;      // a dirty tombstone: answers "none" until the batch is written

 private:
  friend class HotSlots;
  std::list<HotSlot>::iterator place;
};

/// Dirty slots, and those whose batch is not durable, stay whatever the bound says.
class HotSlots {
 public:
  explicit HotSlots(std::size_t bytes_max);
  ~HotSlots();

  /// The slot, now the most recently used one, or null.
  HotSlot* Find(std::string_view hash);
  /// The same without using it.
  const HotSlot* Peek(std::string_view hash) const;
  /// An empty slot at `hash`, where there is none. Others may go.
  HotSlot& Insert(std::string_view hash);
  void Erase(HotSlot& hot);
  void SetBytes(HotSlot& hot, std::size_t bytes);
  void Clear();

  /// Batches up to `batch` are durable.
  void Synced(std::uint64_t batch) { synced_ = batch; }
  std::size_t size() const;

 private:
  struct Index;

  HotSlot* Look(std::string_view hash) const;
  void MakeRoom();

  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::uint64_t synced_ = 0;
  std::list<HotSlot> order_;  // most recently used first
  std::list<HotSlot> spare_;  // at most one, whose memory the next Insert uses again
  std::unique_ptr<Index> index_;
  mutable HotSlot* last_ = nullptr;  // found last: one command asks for one slot several times
};

}  // namespace once
