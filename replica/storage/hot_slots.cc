#include "replica/storage/hot_slots.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstring>

#include "conflict/mutation.h"
#include "replica/env/check.h"

namespace once {
namespace {

// What a slot costs beyond its serialized bytes: list and index nodes, string headers. Measured
// with 1 M small claims; it only has to be about right.
constexpr std::size_t kOverheadBytes = 300;
// A cleared message keeps its strings, so the memory of a large one is given back instead.
constexpr std::size_t kSpareBytesMax = 1024;
constexpr std::size_t kSpareMax = 256;

// Slot hashes are digests: their first bytes are as good as any hash.
struct FirstBytes {
  std::size_t operator()(std::string_view hash) const {
    std::size_t first = 0;
    std::memcpy(&first, hash.data(), std::min(sizeof first, hash.size()));
    return first;
  }
};

}  // namespace

struct HotSlots::Index {
  boost::unordered_flat_map<std::string_view, HotSlot*, FirstBytes> by_hash;  // keys point into it
};

HotSlots::HotSlots(std::size_t bytes_max)
    : bytes_max_(bytes_max), index_(std::make_unique<Index>()) {}

HotSlots::~HotSlots() = default;

std::size_t HotSlots::size() const {
  return index_->by_hash.size();
}

HotSlot* HotSlots::Look(std::string_view hash) const {
  if (last_ && last_->hash == hash) return last_;
  const auto at = index_->by_hash.find(hash);
  if (at == index_->by_hash.end()) return nullptr;
  return last_ = at->second;
}

HotSlot* HotSlots::Find(std::string_view hash) {
  HotSlot* const hot = Look(hash);
  if (hot && IsDurable(*hot)) order_.splice(order_.begin(), order_, hot->place);
  return hot;
}

const HotSlot* HotSlots::Peek(std::string_view hash) const {
  return Look(hash);
}

HotSlot& HotSlots::Insert(std::string_view hash) {
  HotSlot& hot = order_.emplace_front();
  hot.hash = hash;
  hot.place = order_.begin();
  bytes_ += kOverheadBytes;
  // Slots that went leave traces in a full table, and it would soon be made anew at the same size.
  auto& by_hash = index_->by_hash;
  if (by_hash.size() >= by_hash.max_load()) by_hash.reserve(2 * by_hash.size());
  Check(by_hash.emplace(hot.hash, &hot).second, "a slot is inserted once");
  last_ = &hot;
  return hot;
}

Slot& HotSlots::SlotOf(HotSlot& hot) {
  if (unpacked_ && unpacked_ != &hot && !unpacked_->dirty) GiveBack(*unpacked_);
  unpacked_ = &hot;
  if (hot.slot) return *hot.slot;
  if (spare_.empty()) {
    hot.slot = std::make_unique<Slot>();
  } else {
    hot.slot = std::move(spare_.back());
    spare_.pop_back();
  }
  hot.largest = hot.packed.size();
  if (!hot.packed.empty())
    Check(hot.slot->ParseFromString(hot.packed), "what was packed is a slot");
  return *hot.slot;
}

void HotSlots::Pack(HotSlot& hot, std::string_view bytes) {
  if (hot.packed.capacity() > kSpareBytesMax) hot.packed = std::string();  // or it would keep that
  hot.packed = bytes;
  GiveBack(hot);
}

void HotSlots::GiveBack(HotSlot& hot) {
  if (unpacked_ == &hot) unpacked_ = nullptr;
  if (!hot.slot) return;
  if (hot.largest <= kSpareBytesMax && spare_.size() < kSpareMax) {
    hot.slot->Clear();
    spare_.push_back(std::move(hot.slot));
  }
  hot.slot.reset();
}

void HotSlots::SetBytes(HotSlot& hot, std::size_t bytes) {
  bytes_ += bytes - hot.bytes;
  hot.bytes = bytes;
  hot.largest = std::max(hot.largest, bytes);
  MakeRoom();
}

void HotSlots::Stay(HotSlot& hot, std::uint64_t batch) {
  if (hot.batch == batch) return;
  staying_.splice(staying_.end(), ListOf(hot), hot.place);
  hot.batch = batch;
}

void HotSlots::Synced(std::uint64_t batch) {
  synced_ = batch;
  while (!staying_.empty() && IsDurable(staying_.front()))
    order_.splice(order_.begin(), staying_, staying_.begin());
  MakeRoom();
}

void HotSlots::Erase(HotSlot& hot) {
  bytes_ -= hot.bytes + kOverheadBytes;
  index_->by_hash.erase(hot.hash);
  if (last_ == &hot) last_ = nullptr;
  GiveBack(hot);
  ListOf(hot).erase(hot.place);
}

void HotSlots::Clear() {
  last_ = unpacked_ = nullptr;
  index_->by_hash.clear();
  order_.clear();
  staying_.clear();
  bytes_ = 0;
}

// The next ones to go were not touched for long: they are on their way into the processor's cache
// until then.
void HotSlots::FetchOldest() const {
  if (order_.size() < 2) return;
  const auto last = std::prev(order_.end());
  __builtin_prefetch(last->hash.data());
  __builtin_prefetch(&*std::prev(last));
  __builtin_prefetch(reinterpret_cast<const char*>(&*std::prev(last)) + 64);
}

// As many as it takes: a large slot may need the room of many small ones, and each goes once.
void HotSlots::MakeRoom() {
  if (MutationOn("hot-slots-stay")) return;
  while (bytes_ > bytes_max_ && order_.size() > 1) Erase(order_.back());
  FetchOldest();
}

}  // namespace once
