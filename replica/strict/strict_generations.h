// Where the strict ledger's records are: the present state, one that arrives beside it, and what
// earlier ones left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "replica/storage/tables.h"

namespace once {

/// Every state that arrives as a snapshot has a generation of its own, a number that no key on this
/// disk had before. It is put there piece by piece while the present one is served, and one small
/// record makes it the present one. What is then, or at any start, of another generation is left
/// over, and erased in portions.
///
/// All of it goes into the open batch of `outer`, which outlives it.
class StrictGenerations {
 public:
  /// May throw KvUnreadable.
  explicit StrictGenerations(Tables& outer) : outer_(outer) { Load(); }

  /// Reads anew which is the present one. What was arriving is left over. May throw KvUnreadable.
  void Load();

  /// What the keys of the present state begin with.
  std::string present() const { return keys::Strict(present_); }

  /// A state begins to arrive. What had arrived of another is left over.
  void Begin();
  bool arriving() const { return arriving_ != 0; }
  void Put(const std::string& key, std::string value);
  std::optional<std::string> Get(const std::string& key);
  void Abandon();
  /// What arrived is the present state, and what was is left over.
  void Flip();

  /// Erases so many records at most of those that are left over. False: there was none. May throw
  /// KvUnreadable.
  bool EraseLeftovers(std::size_t records_max);

 private:
  void PutRecord();

  Tables& outer_;
  std::uint64_t present_ = 0;
  std::uint64_t last_ = 0;      // the highest that was ever used here
  std::uint64_t arriving_ = 0;  // 0: none
  std::string swept_;           // up to here nothing is left over
};

}  // namespace once
