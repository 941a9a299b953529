// Group commit without a timer: what was applied while the last sync ran goes into the next one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "replica/env/kv_store.h"
#include "replica/env/scheduler.h"
#include "replica/storage/tables.h"

namespace once {

enum class Durable {
  kYes,
  kFull,     // the disk is full: what was applied is undone, the caller may try again later
  kUnknown,  // the sync failed: it may or may not be on disk; this process writes no more
};

class Commit {
 public:
  using Done = std::function<void(Durable)>;

  Commit(Tables& tables, KvStore& store, Scheduler& scheduler);

  /// Calls `done` once batch `batch` is durable (see Tables::BatchOf, open_batch); at once, from
  /// inside, when it already is. In order of batches.
  void WhenDurable(std::uint64_t batch, Done done) {
    WhenDurable(batch, kCallersRounds, std::move(done));
  }
  /// The same of what was gathered before: it waits less for others that may share its sync.
  void WhenGatheredIsDurable(std::uint64_t batch, Done done) {
    WhenDurable(batch, kGatheredRounds, std::move(done));
  }

  bool IsDurable(std::uint64_t batch) const { return batch <= durable_; }
  /// The same for everything applied so far.
  void WhenAllDurable(Done done);

  /// Called after every sync that succeeded, before its callers are answered.
  std::function<void()> on_durable;

  /// The store failed a sync or a write: nothing more is acknowledged.
  bool failed() const { return failed_; }
  /// The last write found no space; cleared by the next one that succeeds.
  bool full() const { return full_; }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  // Turns of the event loop before a sync.
  static constexpr int kCallersRounds = 6;
  static constexpr int kGatheredRounds = 3;

  void WhenDurable(std::uint64_t batch, int rounds, Done done);
  void Schedule(int rounds = kCallersRounds);
  void Gather(int rounds);
  void Flush();
  void Finish(std::uint64_t upto, Durable durable);

  Tables& tables_;
  KvStore& store_;
  Scheduler& scheduler_;
  std::deque<std::pair<std::uint64_t, Done>> waiting_;  // batch numbers never fall
  std::uint64_t durable_ = 0;
  bool scheduled_ = false;
  bool syncing_ = false;
  bool failed_ = false;
  bool full_ = false;
};

}  // namespace once
