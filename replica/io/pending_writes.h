// Batches that are visible but not in the tables yet.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "replica/env/kv_store.h"

namespace once {

/// Owned by the replica's thread. The batches themselves never change, so that another thread may
/// write them out meanwhile.
///
/// They are kept in a few generations, each with an index of its own, which go as a whole: what the
/// tables have is forgotten without being looked at again.
class PendingWrites {
 public:
  using Batch = std::shared_ptr<const KvBatch>;

  void Add(Batch batch);
  /// The tables have the first `count` batches of all that were ever added, so these need not stay.
  void Drop(std::uint64_t count);

  /// The newest put or delete of that key. Valid until the next change.
  std::optional<KvOp> Find(std::string_view key) const;
  /// The newest of every key in [from, to), in bytewise order. Valid until the next change.
  std::vector<KvOp> Range(std::string_view from, std::string_view to) const;

 private:
  struct Hash {
    using is_avalanching = void;
    std::size_t operator()(std::string_view key) const;
  };
  using Newest = boost::unordered_flat_map<std::string_view, const char*, Hash>;
  struct Generation {
    std::vector<Batch> batches;
    std::size_t ops = 0;
    std::size_t bytes = 0;
    // Where in the batches. By the first byte of the key, which is its kind: a range has to look at
    // all of its kind.
    std::array<Newest, 256> newest;
  };

  static std::size_t KindOf(std::string_view key) {
    return key.empty() ? 0 : static_cast<unsigned char>(key.front());
  }

  std::deque<std::unique_ptr<Generation>> generations_;  // the newest last
  std::unique_ptr<Generation> spare_;                    // empty; its memory is used again
  std::uint64_t dropped_ = 0;                            // batches of generations that went
};

}  // namespace once
