// Slots in memory; the ones that were not used for longest make room for others.
//
// A slot that is neither changed nor in somebody's hands is kept as its serialized bytes: a fifth
// of the memory, and the messages in use are few enough to stay in the processor's caches.
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
#include <vector>

#include "conflict/claim.pb.h"

namespace once {

struct HotSlot {
  std::string hash;
  std::size_t bytes = 0;    // of the slot, serialized; see HotSlots::SetBytes
  std::uint64_t batch = 0;  // the last batch that carries a change of it; see HotSlots::Stay
  bool dirty = false;       // changed since the last batch was written
  bool erased = false;      // a dirty tombstone: answers "none" until the batch is written

 private:
  friend class HotSlots;
  std::unique_ptr<Slot> slot;  // null: it is packed
  std::size_t largest = 0;     // its bytes at most since it was unpacked
  std::string packed;          // as it was last packed
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
  /// The slot itself. Valid until the next SlotOf, or, if it is dirty by then, until it is packed,
  /// erased or goes.
  Slot& SlotOf(HotSlot& hot);
  bool IsUnpacked(const HotSlot& hot) const { return hot.slot != nullptr; }
  /// Its serialized bytes are kept instead of it.
  void Pack(HotSlot& hot, std::string_view bytes);
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
  void GiveBack(HotSlot& hot);
  void MakeRoom();
  void FetchOldest() const;

  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::uint64_t synced_ = 0;
  std::list<HotSlot> order_;                  // durable ones, most recently used first
  std::list<HotSlot> staying_;                // the others, in order of batches
  std::vector<std::unique_ptr<Slot>> spare_;  // empty ones, whose memory is used again
  HotSlot* unpacked_ = nullptr;               // whose SlotOf was called last
  std::unique_ptr<Index> index_;
  mutable HotSlot* last_ = nullptr;  // found last: one command asks for one slot several times
};

}  // namespace once
