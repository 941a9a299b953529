// The disk: RocksDB with its write-ahead log under our own control.
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
#include <variant>

#include "replica/env/kv_store.h"
#include "replica/env/scheduler.h"

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
/// Write puts a batch into the memtable and into a buffer of the log; Sync writes that buffer to
/// the log file and syncs it. While syncs are fast they run on the calling thread, because a hop to
/// another one costs half a fast sync again. Once their smoothed latency reaches
/// `inline_sync_max_us` they move to a commit thread, so that a slow disk does not hold up reads,
/// and they come back when the disk is fast again. RocksDB guards the log buffer against a write
/// during such a sync; what is written meanwhile belongs to the next one.
///
/// A full disk. Write reports kFull while less than `space_reserve_bytes` are free, before anything
/// is stored, and after a background flush that ran out of space, which RocksDB retries by itself
/// as soon as there is room: neither needs a restart. When the log itself meets the end of the disk
/// in spite of the reserve, the store latches as after any other log error: RocksDB has then
/// dropped buffered records whose batches were already visible, and a later sync that succeeded
/// would acknowledge what is not there.
///
/// Start. A torn end of the log is cut back to the last whole batch, in the manner of
/// kPointInTimeRecovery, which also stops at the gap that a torn older log leaves. That mode would
/// silently drop synced batches behind a damaged byte too; so the log is read once before, in
/// the manner of kTolerateCorruptedTailRecords, and Open refuses what only damage can explain.
class RocksStore : public KvStore {
 public:
  struct Options {
    bool create = true;  // false: a path without a store is an error, it was there before
    std::int64_t inline_sync_max_us = 1000;  // 0: always on the commit thread
    /// A batch of this many puts and deletes is worth the hop to the commit thread: the replica's
    /// thread takes in the next requests while the disk works.
    std::size_t inline_sync_max_ops = 24;
    std::uint64_t space_reserve_bytes = 128u << 20;
    std::size_t write_buffer_bytes = 32u << 20;  // two of them, and a log of about that size
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
  KvStatus Write(const KvBatch& batch) override;
  void Sync(std::function<void(KvStatus)> done) override;

  /// Waits for a sync under way (its `done` is still posted), makes everything written durable and
  /// lets go of the files. kFailed: the last part did not succeed. Only the first call does
  /// anything; no other call may follow it.
  KvStatus Close();

  /// Why the store is latched; empty while it is not. Callable from any thread.
  std::string failure() const;

 private:
  class LogWatch;

  RocksStore(std::string path, Options options, Scheduler& scheduler);
  std::optional<std::string> OpenDb();
  bool HasSpace();
  /// Runs on either thread.
  void SyncLog(std::function<void(KvStatus)> done);
  void Latch(const std::string& reason);

  const std::string path_;
  const Options options_;
  Scheduler& scheduler_;
  std::shared_ptr<const std::function<void(std::int64_t)>> on_sync_;
  std::shared_ptr<LogWatch> log_watch_;
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<boost::asio::thread_pool> commit_thread_;  // made when first needed

  // Written by the thread that syncs; at most one does, and `syncing_` hands them over.
  std::int64_t smoothed_sync_us_ = 0;
  std::size_t unsynced_ops_ = 0;
  std::atomic<bool> syncing_ = false;

  std::atomic<bool> failed_ = false;
  mutable std::mutex failure_mutex_;
  std::string failure_;
};

}  // namespace once
