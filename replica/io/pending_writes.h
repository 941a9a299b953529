// Batches that are visible but not in the tables yet.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "replica/env/kv_store.h"

namespace once {

/// Owned by the replica's thread. The batches themselves never change, so that another thread may
/// write them out meanwhile.
class PendingWrites {
 public:
  using Batch = std::shared_ptr<const KvBatch>;

  void Add(Batch batch);
  /// The tables have the first `count` batches of all that were ever added. They go batch by batch
  /// until `ops_max` of their puts and deletes are gone; the rest with a later call.
  void DropFirst(std::uint64_t count, std::size_t ops_max);

  /// The newest put or delete of that key, or null. Valid until the next change.
  const KvBatch::Op* Find(std::string_view key) const;
  /// The newest of every key in [from, to), in bytewise order.
  std::vector<const KvBatch::Op*> Range(std::string_view from, std::string_view to) const;

 private:
  struct Hash {
    using is_avalanching = void;
    std::size_t operator()(std::string_view key) const;
  };

  using Newest = boost::unordered_flat_map<std::string_view, const KvBatch::Op*, Hash>;
  static std::size_t KindOf(std::string_view key) {
    return key.empty() ? 0 : static_cast<unsigned char>(key.front());
  }

  std::deque<Batch> batches_;
  std::uint64_t dropped_ = 0;
  // Into the ops. By the first byte of the key, which is its kind: most keys are of kinds that
  // nobody asks ranges of, and a range has to look at all of its kind.
  std::array<Newest, 256> newest_;
};

}  // namespace once
