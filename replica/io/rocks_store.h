// The disk: RocksDB under a write-ahead log of our own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "replica/env/kv_store.h"
#include "replica/env/scheduler.h"
#include "replica/io/pending_writes.h"
#include "replica/io/rocks_view.h"
#include "replica/io/write_ahead_log.h"

namespace boost::asio {
class thread_pool;
}
namespace rocksdb {
class DB;
class Env;
}  // namespace rocksdb

namespace once {

/// The production implementation of KvStore.
///
/// Write puts a batch where reads see it; Sync writes all such batches to the log as one record,
/// syncs it, reports, and then puts them into RocksDB, whose own log is off. While syncs are fast
/// they happen on the calling thread, because a hop to another one and back costs as much as a fast
/// sync. Slow syncs, and what is worth it of putting batches into RocksDB, move to a commit thread.
///
/// Every batch carries its number into the tables, so a start knows which records of the log are
/// missing there, and adds them.
///
/// A full disk. Write reports kFull while less than `space_reserve_bytes` are free, when the log
/// needs another file and there is no room for it, and while RocksDB cannot flush because there is
/// none, which it retries by itself; in each case nothing of the batch is stored and no restart is
/// needed. A record has its place on disk before it is written.
///
/// Start. A torn end of the log is cut back to the last whole record. Open refuses what only damage
/// can explain.
class RocksStore : public KvStore {
 public:
  struct Options {
    bool create = true;  // false: a path without a store is an error, it was there before
    std::int64_t inline_sync_max_us = 1000;  // 0: always on the commit thread
    /// A batch of this many puts and deletes goes into RocksDB on the commit thread: the replica's
    /// thread answers its callers meanwhile.
    std::size_t inline_apply_max_ops = 24;
    std::uint64_t space_reserve_bytes = 128u << 20;
    std::size_t write_buffer_bytes = 32u << 20;  // two of them, and a log of about that size
    std::size_t log_segment_bytes = 16u << 20;
    std::size_t block_cache_bytes = 32u << 20;
    std::function<void(std::int64_t sync_us)> on_sync = nullptr;  // called on the replica's thread
    rocksdb::Env* env = nullptr;  // borrowed; empty: the file system of the machine
  };

  /// The store at `path`, or a sentence for the operator. `scheduler` must outlive the store.
  static std::variant<std::unique_ptr<RocksStore>, std::string> Open(const std::string& path,
                                                                     Options options,
                                                                     Scheduler& scheduler);
  /// Closes.
  ~RocksStore() override;

  std::optional<std::string> Get(std::string_view key) override;
  void Scan(std::string_view from, std::string_view to, const Visitor& visit) override;
  std::unique_ptr<KvView> View(std::string_view from, std::string_view to) override;
  KvStatus Write(KvBatch batch) override;
  void Sync(std::function<void(KvStatus)> done) override;

  /// Waits for a sync under way (its `done` is still posted), makes everything written durable and
  /// lets go of the files. kFailed: the last part did not succeed. Only the first call does
  /// anything; no other call may follow it.
  KvStatus Close();

  /// Why the store is latched; empty while it is not. Callable from any thread.
  std::string failure() const;

 private:
  class FlushWatch;

  RocksStore(std::string path, Options options, Scheduler& scheduler);
  std::optional<std::string> OpenDb();
  /// Brings the tables to where the log is, and begins a new log.
  std::optional<std::string> Recover();
  bool HasSpace();
  /// What one sync makes durable.
  struct Work {
    WriteAheadLog::Place place;
    std::vector<PendingWrites::Batch> batches;
  };
  Work TakeWork();
  void PostToCommitThread(std::function<void()> task);
  // These run on either thread, one at a time.
  /// Writes to the log, syncs, reports. True: it is durable.
  bool Append(const Work& work, const std::function<void(KvStatus)>& done);
  void ApplyAlso(Work work);
  void ApplyAll();
  void Latch(const std::string& reason);

  const std::string path_;
  const Options options_;
  Scheduler& scheduler_;
  std::shared_ptr<const std::function<void(std::int64_t)>> on_sync_;
  std::shared_ptr<FlushWatch> flush_watch_;
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<WriteAheadLog> log_;
  std::uint64_t batch_ = 0;  // the last one written
  PendingWrites pending_;
  std::vector<std::weak_ptr<FrozenTables>> frozen_;  // of the views that are there
  std::vector<PendingWrites::Batch> unsynced_;
  std::size_t unsynced_bytes_ = 0;
  std::size_t unsynced_ops_ = 0;
  std::unique_ptr<boost::asio::thread_pool> commit_thread_;  // made when first needed

  std::deque<Work> unapplied_;              // of the thread that commits
  std::atomic<std::uint64_t> applied_ = 0;  // batches, since the start
  std::atomic<bool> tables_full_ = false;   // RocksDB takes nothing until there is room
  std::atomic<int> commits_posted_ = 0;     // the commit thread is at work, or will be
  std::atomic<std::int64_t> smoothed_sync_us_ = 0;
  std::atomic<bool> syncing_ = false;
  std::atomic<bool> failed_ = false;
  mutable std::mutex failure_mutex_;
  std::string failure_;
};

}  // namespace once
