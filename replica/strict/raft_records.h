// A Raft member's memory on disk: log, promises and beginning, in the batches of the ledger.
#pragma once

#include <cstdint>

#include "consensus/raft.h"
#include "replica/storage/tables.h"

namespace once {

/// Everything is put into the open batch of `tables`, which outlives it: durable with the next
/// sync, together with whatever else is in that batch.
class RaftRecords {
 public:
  explicit RaftRecords(Tables& tables) : tables_(tables) {}

  /// What is stored; `applied` is the state machine's. Throws KvUnreadable when it cannot be read
  /// or contradicts itself.
  RaftState Load(std::uint64_t applied);
  /// The entries, hard state and compaction of a portion of work, or the log's part of an install.
  void Put(const RaftWork& work);
  /// What a founder begins with.
  void PutFounding(const RaftState& state);

 private:
  void EraseEntries(std::uint64_t first, std::uint64_t last);

  Tables& tables_;
  std::uint64_t first_ = 1;  // stored are [first_, last_]
  std::uint64_t last_ = 0;
};

}  // namespace once
