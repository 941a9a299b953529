#include "replica/storage/hot_slots.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstring>

#include "replica/env/check.h"

namespace once {
namespace {

// What a slot costs beyond its serialized bytes: message objects, list and index nodes, string
// headers. Measured with 1 M small claims; it only has to be about right.
constexpr std::size_t kOverheadBytes = 900;
// A cleared message keeps its strings, so the memory of a large one is given back instead.
constexpr std::size_t kSpareBytesMax = 1024;

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
  if (hot) order_.splice(order_.begin(), order_, hot->place);
  return hot;
}

const HotSlot* HotSlots::Peek(std::string_view hash) const {
  return Look(hash);
}

HotSlot& HotSlots::Insert(std::string_view hash) {
  MakeRoom();
  if (spare_.empty())
    order_.emplace_front();
  else
    order_.splice(order_.begin(), spare_, spare_.begin());
  HotSlot& hot = order_.front();
  hot.hash = hash;
  hot.place = order_.begin();
  bytes_ += kOverheadBytes;
  Check(index_->by_hash.emplace(hot.hash, &hot).second, "a slot is inserted once");
  last_ = &hot;
  return hot;
}

void HotSlots::SetBytes(HotSlot& hot, std::size_t bytes) {
  bytes_ += bytes - hot.bytes;
  hot.bytes = bytes;
}

void HotSlots::Erase(HotSlot& hot) {
  bytes_ -= hot.bytes + kOverheadBytes;
  index_->by_hash.erase(hot.hash);
  last_ = nullptr;
  if (!spare_.empty() || hot.bytes > kSpareBytesMax) {
    order_.erase(hot.place);
    return;
  }
  spare_.splice(spare_.begin(), order_, hot.place);
  hot.slot.Clear();
  hot.bytes = 0;
  hot.batch = 0;
  hot.dirty = hot.erased = false;
}

void HotSlots::Clear() {
  last_ = nullptr;
  index_->by_hash.clear();
  order_.clear();
  bytes_ = 0;
}

// A few steps per insert keep the cost of one command bounded.
void HotSlots::MakeRoom() {
  for (int step = 0; step < 4 && bytes_ > bytes_max_ && !order_.empty(); ++step) {
    const auto oldest = std::prev(order_.end());
    if (oldest->dirty || oldest->batch > synced_)
      order_.splice(order_.begin(), order_, oldest);
    else
      Erase(*oldest);
  }
}

}  // namespace once
