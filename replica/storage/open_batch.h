// Puts and deletes that will be written together.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replica/env/kv_store.h"
#include "replica/env/overlaid_view.h"

namespace once {

/// The last put or delete of each key counts. They are kept as the bytes of a batch from the start:
/// writing them costs nothing more.
class OpenBatch {
 public:
  OpenBatch();
  ~OpenBatch();

  /// None of the bytes given may be its own.
  void Put(std::string_view key, std::string_view value) { Add({key, value}); }
  void Delete(std::string_view key) { Add({key, std::nullopt}); }

  /// What counts for that key, if anything does. Valid until the next change.
  std::optional<KvOp> Find(std::string_view key) const;
  /// All of [from, to), in bytewise order.
  std::vector<OverlaidView::Change> Range(std::string_view from, std::string_view to) const;
  std::size_t size() const;  // keys
  bool empty() const { return size() == 0; }

  /// All of them, and none is left.
  KvBatch Take();
  void Clear();

 private:
  struct Index;

  void Add(const KvOp& op);
  void DropReplaced();

  KvBatch batch_;
  std::size_t replaced_bytes_ = 0;  // in it, of puts and deletes that do not count any more
  std::unique_ptr<Index> index_;
};

}  // namespace once
