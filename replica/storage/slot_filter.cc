#include "replica/storage/slot_filter.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "replica/storage/keys.h"

namespace once {
namespace {

constexpr std::uint64_t kFirstLayerSlots = 1u << 16;
constexpr std::uint64_t kLayerGrowth = 4;
constexpr std::uint64_t kLayerSlotsMax = 1u << 22;
constexpr std::uint64_t kSlotsPerBlock = 32;  // 16 bits for each
constexpr int kBitsPerSlot = 6;
// A step costs as much as thousands of slots before it has seen the first: those that are not in
// the tables yet have to be sorted. So there are few, and in between callers have their turn.
constexpr std::uint64_t kLearnStep = 2048;
constexpr std::size_t kLearnBytes = 1 << 20;
constexpr int kCallsPerStep = 16;

struct Place {
  XXH128_hash_t hash;

  explicit Place(std::string_view slot) : hash(XXH3_128bits(slot.data(), slot.size())) {}

  std::size_t Block(std::size_t blocks) const {
    return static_cast<std::size_t>((static_cast<unsigned __int128>(hash.low64) * blocks) >> 64);
  }
  /// The word and the bit in it of each of its bits.
  template <typename Visit>
  void EachBit(const Visit& visit) const {
    std::uint64_t bits = hash.high64;
    for (int i = 0; i < kBitsPerSlot; ++i, bits >>= 9)
      visit(static_cast<std::size_t>(bits >> 6 & 7), std::uint64_t{1} << (bits & 63));
  }
};

}  // namespace

void SlotFilter::Restart(std::uint64_t slots) {
  layers_.clear();
  learned_upto_.clear();
  knows_ = gave_up_ = false;
  calls_ = 0;
  overfull_ = slots > kLayerSlotsMax / 2;
  first_layer_slots_ = std::max(kFirstLayerSlots, 2 * slots);
}

// The first layer is made when it is needed: some who read never add.
bool SlotFilter::HasRoom() {
  if (overfull_) return false;
  if (!layers_.empty() && layers_.back().room > 0) return true;
  const std::uint64_t slots =
      layers_.empty() ? first_layer_slots_ : layers_.back().slots * kLayerGrowth;
  if (slots > kLayerSlotsMax) {
    overfull_ = true;
    knows_ = false;
    layers_.clear();
    return false;
  }
  Layer& layer = layers_.emplace_back();
  layer.slots = layer.room = slots;
  layer.blocks.resize(static_cast<std::size_t>(slots / kSlotsPerBlock + 1));
  return true;
}

void SlotFilter::Add(std::string_view hash) {
  ++added_;
  if (!HasRoom()) return;
  Layer& layer = layers_.back();
  --layer.room;
  const Place place(hash);
  Block& block = layer.blocks[place.Block(layer.blocks.size())];
  place.EachBit([&block](std::size_t word, std::uint64_t bit) { block.words[word] |= bit; });
}

bool SlotFilter::MayHave(std::string_view hash) const {
  if (!knows_) return true;
  const Place place(hash);
  return std::any_of(layers_.begin(), layers_.end(), [&place](const Layer& layer) {
    const Block& block = layer.blocks[place.Block(layer.blocks.size())];
    bool all = true;
    place.EachBit(
        [&](std::size_t word, std::uint64_t bit) { all &= (block.words[word] & bit) != 0; });
    return all;
  });
}

void SlotFilter::Learn(KvStore& store, std::uint64_t slots) {
  if (overfull_ && slots <= kLayerSlotsMax / 2) Restart(slots);
  if (knows_ || gave_up_ || overfull_ || calls_++ % kCallsPerStep != 0) return;
  // More than came meanwhile, or it would never be done.
  const std::uint64_t step = std::max(kLearnStep, 2 * std::exchange(added_, 0));
  std::uint64_t seen = 0;
  std::size_t bytes = 0;
  bool all = true;
  try {
    store.Scan(keys::Slot(learned_upto_), keys::After(keys::Slot("")),
               [&](std::string_view key, std::string_view value) {
                 const std::string_view hash = key.substr(keys::Slot("").size());
                 Add(hash);
                 learned_upto_ = std::string(hash) + '\0';
                 bytes += value.size();
                 return all = ++seen < step && bytes < kLearnBytes;
               });
  } catch (const KvUnreadable&) {
    gave_up_ = true;  // whoever needs that slot will say so
    return;
  }
  added_ = 0;
  knows_ = all && !overfull_;
}

}  // namespace once
