// Final answers, ready to send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "replica/api/http.h"

namespace once {

/// A final answer never changes, so a duplicate that asks the same needs neither the ledger nor a
/// second rendering. What is kept here must be taken out as soon as its slot changes in any way,
/// and is served only up to the expiry of its claim; past that the ledger decides.
///
/// Two generations, each bounded by half of `bytes_max`: an entry that is asked for moves to the
/// young one, and when that is full the old one goes.
class ReplayCache {
 public:
  explicit ReplayCache(std::size_t bytes_max) : generation_bytes_max_(bytes_max / 2) {}

  /// Rises whenever a slot changes. An answer may be kept only if this is what it was when the
  /// answer was made: the slot may have changed while the answer waited for its sync.
  std::uint64_t changes() const { return changes_; }
  /// Whether there is an answer to some request.
  bool Has(std::string_view slot_hash) const {
    return young_.contains(slot_hash) || old_.contains(slot_hash);
  }
  /// The answer to a request with that fingerprint, or null. Valid until the next call.
  const HttpReply* Find(std::string_view slot_hash, std::string_view fingerprint,
                        std::int64_t now_ms);
  void Put(std::string_view slot_hash, std::string_view fingerprint, std::int64_t expires_ms,
           const HttpReply& reply);
  /// The slot changed.
  void Erase(std::string_view slot_hash);
  /// All slots may have.
  void Clear();

 private:
  struct Entry {
    std::string fingerprint;
    std::int64_t expires_ms;
    HttpReply reply;
    std::size_t bytes;
  };
  /// Slot hashes are digests: their first bytes are as good as any hash.
  struct FirstBytes {
    using is_transparent = void;
    std::size_t operator()(std::string_view hash) const;
  };
  using Generation = std::unordered_map<std::string, Entry, FirstBytes, std::equal_to<>>;

  void Remove(std::string_view slot_hash);
  void MakeRoom(std::size_t bytes);

  const std::size_t generation_bytes_max_;
  Generation young_;
  Generation old_;
  std::size_t young_bytes_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace once
