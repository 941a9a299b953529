// When slots and runs are to be looked at again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replica/storage/keys.h"

namespace once {

class Tables;

/// Ids in order of time, per kind. Those of one millisecond share an entry on disk, up to a bound:
/// under load a batch of claims costs one or two entries, not one per claim. What it does and what
/// it writes does not depend on when Write is called.
class ExpiryIndex {
 public:
  /// Reads and writes through `tables`, which owns it.
  explicit ExpiryIndex(Tables& tables) : tables_(tables) {}

  void Put(keys::Expiring kind, std::int64_t at_ms, std::string_view id);
  void Erase(keys::Expiring kind, std::int64_t at_ms, std::string_view id);

  struct Due {
    std::int64_t at_ms;
    std::string id;
  };
  /// The first `limit` with at_ms <= until_ms, oldest first.
  std::vector<Due> Oldest(keys::Expiring kind, std::int64_t until_ms, std::size_t limit);
  /// The first `limit` with at_ms >= from_ms, oldest first, and all that share the last one's time.
  std::vector<Due> From(keys::Expiring kind, std::int64_t from_ms, std::size_t limit);
  /// As Oldest, and takes them out.
  std::vector<Due> Take(keys::Expiring kind, std::int64_t until_ms, std::size_t limit);

  /// Whether something was put that Write has not written.
  bool dirty() const { return !open_.empty(); }
  /// Puts what came since the last time into the tables; part of every batch.
  void Write();
  /// Forgets what was put since the last Write.
  void Clear() { open_.clear(); }

 private:
  /// Visits entries as (key, time, ids) until `visit` returns false.
  template <typename Visit>
  void Scan(keys::Expiring kind, std::int64_t from_ms, std::int64_t until_ms, const Visit& visit);

  Tables& tables_;
  std::map<std::pair<keys::Expiring, std::int64_t>, std::string> open_;  // ids, packed
};

}  // namespace once
