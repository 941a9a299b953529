// Slots in memory; the ones that were not used for longest make room for others.
//
// The bound holds always: all of them together take at most `bytes_max`, or at most one of them is
// durable. Those that are not durable yet must stay; the one used last is in somebody's hands.
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
  std::uint64_t batch = 0;  // the last batch that carries a change of it; see HotSlots::Stay
  bool dirty = false;       // changed since the last batch was written
  bool erased = false;      // a dirty tombstone: answers "none" until the batch is written

 private:
  friend class HotSlots;
  std::list<HotSlot>::iterator place;
};

class HotSlots {
 public:
  explicit HotSlots(std::size_t bytes_max);
  ~HotSlots();

  /// The slot, now the most recently used one, or null.
  HotSlot* Find(std::string_view hash);
  /// The same without using it.
  const HotSlot* Peek(std::string_view hash) const;
  /// An empty slot at `hash`, where there is none.
  HotSlot& Insert(std::string_view hash);
  void Erase(HotSlot& hot);
  /// Others may go.
  void SetBytes(HotSlot& hot, std::size_t bytes);
  /// It was changed in `batch`, the highest so far: it stays until that is durable.
  void Stay(HotSlot& hot, std::uint64_t batch);
  void Clear();

  /// Batches up to `batch` are durable. Slots may go.
  void Synced(std::uint64_t batch);
  std::size_t size() const;
  /// Of all, about as much as they take.
  std::size_t bytes() const { return bytes_; }
  std::size_t bytes_max() const { return bytes_max_; }
  /// How many may go.
  std::size_t durable() const { return order_.size(); }

 private:
  struct Index;

  HotSlot* Look(std::string_view hash) const;
  bool IsDurable(const HotSlot& hot) const { return hot.batch <= synced_; }
  std::list<HotSlot>& ListOf(const HotSlot& hot) { return IsDurable(hot) ? order_ : staying_; }
  void MakeRoom();

  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::uint64_t synced_ = 0;
  std::list<HotSlot> order_;    // durable ones, most recently used first
  std::list<HotSlot> staying_;  // the others, in order of batches
  std::list<HotSlot> spare_;    // at most one, whose memory the next Insert uses again
  std::unique_ptr<Index> index_;
  mutable HotSlot* last_ = nullptr;  // found last: one command asks for one slot several times
};

}  // namespace once
