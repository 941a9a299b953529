// A disk in memory that can lose, fail and fill up on request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replica/env/kv_store.h"
#include "replica/env/random.h"
#include "replica/env/scheduler.h"

namespace once {

/// What outlives the process: the bytes, and the faults of the medium they are on. One MemoryStore
/// at a time is open on it.
///
/// The faults stay within what KvStore promises: a crash loses only batches that no Sync has
/// reported, and always a suffix of them.
class MemoryDisk {
 public:
  using Contents = std::map<std::string, std::string, std::less<>>;

  MemoryDisk() = default;
  /// A directory that was copied from elsewhere.
  explicit MemoryDisk(Contents contents) : visible_(std::move(contents)) {}

  /// The process dies, or the power: a random prefix of the unsynced batches survives. The open
  /// store must not be used any more, and its sync under way never reports.
  void Crash(Random& random);
  /// The same, and nothing unsynced survives.
  void CrashLosingUnsynced();

  /// The next sync to complete reports kFailed.
  void FailNextSync(bool fail = true) { fail_next_sync_ = fail; }
  /// While full, Write reports kFull and stores nothing.
  void SetFull(bool full) { full_ = full; }
  /// Reads that touch `key` throw KvUnreadable until it is made readable again.
  void SetUnreadable(std::string key) { unreadable_.insert(std::move(key)); }
  void SetReadable(const std::string& key) { unreadable_.erase(key); }
  /// Time from Sync to its report; 0: the report is the next thing posted. A sync under way
  /// notices within half a second: what would take for ever is a disk that hangs until this is set
  /// to less.
  void SetSyncDelay(std::int64_t delay_ms) { sync_delay_ms_ = delay_ms; }

  std::size_t unsynced_batches() const { return unsynced_.size(); }
  /// What reads see, for oracles and trace hashes.
  const Contents& visible() const { return visible_; }
  /// What is sure to survive a crash.
  Contents durable() const;
  /// The same of one key.
  std::optional<std::string> Durable(std::string_view key) const;
  /// Called with the keys of what has just become durable, each as often as it was written.
  std::function<void(const std::vector<std::string>& keys)> on_durable;

 private:
  friend class MemoryStore;

  /// What a batch overwrote, in the order of its operations. Undoing it backwards restores the map.
  using Undo = std::vector<std::pair<std::string, std::optional<std::string>>>;

  static void TakeBack(const Undo& undo, Contents& contents);
  void Apply(const KvBatch& batch);
  void KeepUnsynced(std::size_t batches);
  /// The oldest of them are on the medium.
  void Settle(std::size_t batches);

  Contents visible_;
  std::deque<Undo> unsynced_;
  std::uint64_t crashes_ = 0;
  bool has_store_ = false;
  bool fail_next_sync_ = false;
  bool full_ = false;
  std::int64_t sync_delay_ms_ = 0;
  std::set<std::string, std::less<>> unreadable_;
};

/// One process's handle on a MemoryDisk: the simulated implementation of KvStore. A restart is a
/// new MemoryStore on the same disk. Destroying it is a clean exit: what was written stays, and a
/// sync under way never reports.
class MemoryStore : public KvStore {
 public:
  /// Both must outlive the store.
  MemoryStore(MemoryDisk& disk, Scheduler& scheduler);
  ~MemoryStore() override;
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  std::optional<std::string> Get(std::string_view key) override;
  void Scan(std::string_view from, std::string_view to, const Visitor& visit) override;
  std::unique_ptr<KvView> View(std::string_view from, std::string_view to) override;
  KvStatus Write(KvBatch batch) override;
  void Sync(std::function<void(KvStatus)> done) override;

 private:
  class FrozenRange;

  void CheckAlive() const;
  void CheckReadable(std::string_view key) const;
  void Visit(const MemoryDisk::Contents& records, std::string_view from, std::string_view to,
             const Visitor& visit) const;
  /// Calls `report` when the sync that began then has taken as long as the disk takes.
  void ReportLater(std::int64_t began_us, std::function<void()> report);
  KvStatus FinishSync(std::size_t batches);

  MemoryDisk& disk_;
  Scheduler& scheduler_;
  const std::uint64_t crashes_;  // the disk's count when this process started
  bool failed_ = false;
  bool syncing_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace once
