// Which slots are surely not stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replica/env/kv_store.h"

namespace once {

/// Most keys that callers send are new. Looking for one on disk in vain costs more than all the
/// rest of a claim's storage; this answers from a few bits per slot (a Bloom filter), wrong in one
/// case of some hundred, and then only by "maybe".
///
/// It learns what is stored step by step, and says "maybe" of all until it knows. It does so
/// again when it was told of some millions of slots, because it cannot forget single ones. Of more
/// than two million that are there, or where one cannot be read, it always says "maybe".
class SlotFilter {
 public:
  /// Of a store that holds so many slots; of none it knows that with the first Learn.
  explicit SlotFilter(std::uint64_t slots) { Restart(slots); }

  /// The same, for another store or after changes that it was not told of.
  void Restart(std::uint64_t slots);
  /// A slot is there from now on.
  void Add(std::string_view hash);
  /// False: the slot is not stored.
  bool MayHave(std::string_view hash) const;
  /// Called with every batch: one step now and then, if there is something to learn. `slots`: how
  /// many `store` holds.
  void Learn(KvStore& store, std::uint64_t slots);

  bool knows() const { return knows_; }

 private:
  static constexpr std::size_t kBlockWords = 8;  // a line of the processor's cache
  struct Block {
    std::uint64_t words[kBlockWords] = {};
  };
  struct Layer {
    std::vector<Block> blocks;
    std::uint64_t slots = 0;  // for so many, ...
    std::uint64_t room = 0;   // ... and still for so many more
  };

  bool HasRoom();

  std::vector<Layer> layers_;  // each larger than the one before
  bool knows_ = false;
  std::uint64_t first_layer_slots_ = 0;
  std::uint64_t added_ = 0;  // since the last step
  int calls_ = 0;            // of Learn, since the start
  bool overfull_ = false;
  bool gave_up_ = false;  // part of the store cannot be read
  std::string learned_upto_;
};

}  // namespace once
