// The disk: RocksDB under a write-ahead log of our own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "replica/env/kv_store.h"
#include "replica/env/scheduler.h"
#include "replica/io/pending_writes.h"
#include "replica/io/rocks_view.h"
#include "replica/io/spare_time.h"
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
/// syncs it, and reports. While syncs are fast they happen on the calling thread, because a hop to
/// another one and back costs as much as a fast sync; slow ones on a sync thread.
///
/// RocksDB, whose own log is off, gets what is in the log on a tables thread: many batches at once,
/// in the order of their keys and only the last of each, which costs far less than one after the
/// other. Until then reads find them in memory. That thread and RocksDB's own work in spare time,
/// as long as that is enough.
///
/// Every group ends with the number of its last batch, so a start knows which records of the log
/// may be missing in the tables, and adds them.
///
/// A file of the log is used again when the tables on disk have what is in it. Changes of the same
/// keys fill the log and not the tables, so the tables are also flushed when the log is twice as
/// large as they may become in memory.
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
    std::int64_t inline_sync_max_us = 1000;  // 0: always on the sync thread
    /// Batches go into RocksDB when they have so many puts and deletes, or so many bytes. While
    /// four times as many bytes wait for it, so do syncs.
    std::size_t apply_ops = 8192;
    std::size_t apply_bytes = 4u << 20;
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
  /// What is durable and not yet given to the tables thread.
  struct Logged {
    std::vector<Work> works;
    std::size_t ops = 0;
    std::size_t bytes = 0;

    void Add(Work work);
  };
  Work TakeWork();
  /// Gives what is logged to the tables thread, if it has nothing of that kind to do.
  void Apply(bool flush);
  void PostToTables(std::function<void()> task);
  /// Writes to the log and syncs. On any thread, one at a time. How long it took; empty: it failed,
  /// and the store is latched.
  std::optional<std::int64_t> Append(const Work& work);
  void AppendAndReport(Work work, std::function<void(KvStatus)> done);
  // Of the tables thread.
  void ApplyAlso(std::vector<Work> works, bool flush);
  void ApplyAll();
  void Flush();
  void Latch(const std::string& reason);

  const std::string path_;
  const Options options_;
  Scheduler& scheduler_;
  std::shared_ptr<const std::function<void(std::int64_t)>> on_sync_;
  std::shared_ptr<SpareTime> spare_time_ = std::make_shared<SpareTime>();
  std::shared_ptr<FlushWatch> flush_watch_;
  std::jthread watch_;  // over spare_time_, while the store is open
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<WriteAheadLog> log_;
  std::uint64_t batch_ = 0;  // the last one written
  PendingWrites pending_;
  std::vector<std::weak_ptr<FrozenTables>> frozen_;  // of the views that are there
  std::vector<PendingWrites::Batch> unsynced_;
  std::size_t unsynced_bytes_ = 0;
  std::shared_ptr<Logged> logged_ = std::make_shared<Logged>();
  std::unique_ptr<boost::asio::thread_pool> sync_thread_;    // made when first needed
  std::unique_ptr<boost::asio::thread_pool> tables_thread_;  // the same

  std::vector<Work> unapplied_;             // of the tables thread, ...
  std::uint64_t tables_batch_ = 0;          // ... as are the last batch that RocksDB has, ...
  std::uint64_t unflushed_bytes_ = 0;       // ... what the log took of it since a flush, ...
  std::uint64_t last_flushed_ = 0;          // ... which was this one
  std::atomic<std::uint64_t> applied_ = 0;  // batches, since the start
  std::atomic<bool> tables_full_ = false;   // RocksDB takes nothing until there is room
  std::atomic<bool> applying_ = false;      // the tables thread is, or will be
  std::atomic<std::int64_t> smoothed_sync_us_ = 0;
  std::atomic<bool> syncing_ = false;
  std::atomic<bool> failed_ = false;
  mutable std::mutex failure_mutex_;
  std::string failure_;
};

}  // namespace once
