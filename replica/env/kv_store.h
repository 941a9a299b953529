// The seam of the disk: an ordered map of bytes with an explicit sync.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace once {

/// A group of puts and deletes that becomes visible and durable as a whole or not at all.
class KvBatch {
 public:
  struct Op {
    std::string key;
    std::optional<std::string> value;  // empty: delete
  };

  void Reserve(std::size_t ops) { ops_.reserve(ops); }
  void Put(std::string key, std::string value) {
    bytes_ += key.size() + value.size();
    ops_.push_back({std::move(key), std::move(value)});
  }
  void Delete(std::string key) {
    bytes_ += key.size();
    ops_.push_back({std::move(key), std::nullopt});
  }
  const std::vector<Op>& ops() const { return ops_; }
  /// The same for who keeps them; the batch is not used afterwards.
  std::vector<Op> Take() { return std::move(ops_); }
  std::size_t bytes() const { return bytes_; }
  bool empty() const { return ops_.empty(); }
  void Clear() {
    ops_.clear();
    bytes_ = 0;
  }

 private:
  std::vector<Op> ops_;
  std::size_t bytes_ = 0;
};

enum class KvStatus {
  kOk,
  kFull,    // no space: nothing of this batch is stored, a later write may succeed
  kFailed,  // the store is latched: nothing more will be written by this process
};

/// Thrown by reads when what is on disk cannot be trusted (checksum, I/O error). Nothing else
/// throws.
class KvUnreadable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Told every record of a range; false: it has seen enough.
using KvVisitor = std::function<bool(std::string_view key, std::string_view value)>;

/// A range of a store as it was at one moment, whatever is written later. It is not scanned after
/// its store was closed.
class KvView {
 public:
  virtual ~KvView() = default;

  /// As KvStore's, within the range that the view was made of.
  virtual void Scan(std::string_view from, std::string_view to, const KvVisitor& visit) = 0;
};

/// Two implementations: RocksStore and MemoryStore. All calls come from the replica's thread.
///
/// Write makes a batch visible to reads at once; it is durable only when a Sync that was called
/// after it reports kOk. Batches become durable in the order they were written: after a crash a
/// prefix of them is there, never a batch without its predecessors.
///
/// After kFailed from either call every later Write and Sync reports kFailed: a failed sync leaves
/// the file in an unknown state, so trying again could acknowledge what is not there.
class KvStore {
 public:
  using Visitor = KvVisitor;

  virtual ~KvStore() = default;

  virtual std::optional<std::string> Get(std::string_view key) = 0;
  /// Visits [from, to) in bytewise key order until `visit` returns false.
  virtual void Scan(std::string_view from, std::string_view to, const Visitor& visit) = 0;
  /// [from, to) as reads see it now. It may make the store keep what is overwritten later, so it is
  /// not held for ever.
  virtual std::unique_ptr<KvView> View(std::string_view from, std::string_view to) = 0;
  virtual KvStatus Write(KvBatch batch) = 0;
  /// At most one Sync is under way; `done` is posted to the scheduler, never called from inside.
  virtual void Sync(std::function<void(KvStatus)> done) = 0;
};

}  // namespace once
