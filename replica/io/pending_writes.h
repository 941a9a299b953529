// Batches that are visible but not in the tables yet.
#pragma once

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
  /// The tables have the first `count` batches of all that were ever added.
  void DropFirst(std::uint64_t count);

  /// The newest put or delete of that key, or null. Valid until the next change.
  const KvBatch::Op* Find(std::string_view key) const;
  /// The newest of every key in [from, to), in bytewise order.
  std::vector<const KvBatch::Op*> Range(std::string_view from, std::string_view to) const;

 private:
  struct Hash {
    using is_avalanching = void;
    std::size_t operator()(std::string_view key) const;
  };

  std::deque<Batch> batches_;
  std::uint64_t dropped_ = 0;
  boost::unordered_flat_map<std::string_view, const KvBatch::Op*, Hash> newest_;  // into the ops
};

}  // namespace once
