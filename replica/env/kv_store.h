// The seam of the disk: an ordered map of bytes with an explicit sync.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace once {

/// A put, or a delete if there is no value.
struct KvOp {
  std::string_view key;
  std::optional<std::string_view> value;
};

/// The puts and deletes that a string of bytes holds, in their order. The views are of those bytes.
class KvOps {
 public:
  class Iterator {
   public:
    explicit Iterator(const char* at) : at_(at) {}
    KvOp operator*() const { return At(at_); }
    /// Where it is; At gives the same for as long as the bytes are there.
    const char* place() const { return at_; }
    Iterator& operator++() {
      at_ += EncodedBytes(At(at_));
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const char* at_;
  };

  explicit KvOps(std::string_view bytes) : bytes_(bytes) {}
  Iterator begin() const { return Iterator(bytes_.data()); }
  Iterator end() const { return Iterator(bytes_.data() + bytes_.size()); }

  static KvOp At(const char* place) {
    const auto number = [](const char* from) {
      std::uint32_t read = 0;
      std::memcpy(&read, from, sizeof read);
      return read;
    };
    const std::uint32_t key_bytes = number(place);
    const std::uint32_t value_bytes = number(place + sizeof key_bytes);
    const char* const key = place + kLengthsBytes;
    if (value_bytes == kDeleted) return {{key, key_bytes}, std::nullopt};
    return {{key, key_bytes}, std::string_view(key + key_bytes, value_bytes)};
  }
  static std::size_t EncodedBytes(const KvOp& op) {
    return kLengthsBytes + op.key.size() + (op.value ? op.value->size() : 0);
  }
  static void Append(std::string& bytes, const KvOp& op) {
    const auto append_number = [&bytes](std::uint32_t number) {
      bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    append_number(static_cast<std::uint32_t>(op.key.size()));
    append_number(op.value ? static_cast<std::uint32_t>(op.value->size()) : kDeleted);
    bytes.append(op.key);
    if (op.value) bytes.append(*op.value);
  }

 private:
  static constexpr std::uint32_t kDeleted = UINT32_MAX;  // in place of a value's length
  static constexpr std::size_t kLengthsBytes = 2 * sizeof(std::uint32_t);

  std::string_view bytes_;
};

/// A group of puts and deletes that becomes visible and durable as a whole or not at all.
class KvBatch {
 public:
  void Put(std::string_view key, std::string_view value) { Add({key, value}); }
  void Delete(std::string_view key) { Add({key, std::nullopt}); }
  void Add(const KvOp& op) {
    KvOps::Append(bytes_, op);
    ++size_;
  }
  KvOps ops() const { return KvOps(bytes_); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// What KvOps reads.
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::size_t size_ = 0;
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
