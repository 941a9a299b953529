#include "replica/io/rocks_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <utility>

#include "replica/env/check.h"

namespace once {
namespace {

constexpr int kOpenFilesMax = 256;
constexpr int kSmoothing = 8;  // a sync moves the smoothed latency by an eighth of the difference

rocksdb::BlockBasedTableOptions TableOptions(const RocksStore::Options& options) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  return table;
}

rocksdb::CompressionType Compression() {
  const auto supported = rocksdb::GetSupportedCompressions();
  const bool lz4 = std::count(supported.begin(), supported.end(), rocksdb::kLZ4Compression) > 0;
  return lz4 ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
}

rocksdb::Options DbOptions(const RocksStore::Options& options) {
  rocksdb::Options db;
  if (options.env) db.env = options.env;
  db.create_if_missing = options.create;
  db.paranoid_checks = true;
  db.max_open_files = kOpenFilesMax;

  db.manual_wal_flush = true;
  db.write_buffer_size = options.write_buffer_bytes;
  db.max_write_buffer_number = 2;
  db.allow_concurrent_memtable_write = false;  // one thread writes
  db.memtable_whole_key_filtering = true;
  db.memtable_prefix_bloom_size_ratio = 0.1;

  db.table_factory.reset(rocksdb::NewBlockBasedTableFactory(TableOptions(options)));
  db.compression = Compression();
  db.compaction_style = rocksdb::kCompactionStyleLevel;
  db.ttl = 0;
  db.periodic_compaction_seconds = 0;

  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  db.skip_stats_update_on_db_open = true;
  db.info_log_level = rocksdb::WARN_LEVEL;
  db.keep_log_file_num = 2;
  db.max_log_file_size = 1u << 20;
  db.max_manifest_file_size = 16u << 20;
  return db;
}

/// Tells damage from a torn end: reads the log in the mode that refuses the first and allows the
/// second, and changes nothing on disk.
rocksdb::Status VerifyLog(rocksdb::Options options, const std::string& path) {
  if (!options.env->FileExists(path + "/CURRENT").ok()) return rocksdb::Status::OK();
  options.create_if_missing = false;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, path, &db);
  delete db;
  return status;
}

rocksdb::Slice AsSlice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

}  // namespace

/// Knows whether RocksDB met an error in the log, as opposed to one in a background flush: both
/// make Write report the same status.
class RocksStore::LogWatch : public rocksdb::EventListener {
 public:
  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status*) override {
    if (reason == rocksdb::BackgroundErrorReason::kWriteCallback ||
        reason == rocksdb::BackgroundErrorReason::kMemTable) {
      broken_ = true;
    }
  }
  bool broken() const { return broken_; }

 private:
  std::atomic<bool> broken_ = false;
};

RocksStore::RocksStore(std::string path, Options options, Scheduler& scheduler)
    : path_(std::move(path)),
      options_(std::move(options)),
      scheduler_(scheduler),
      on_sync_(std::make_shared<const std::function<void(std::int64_t)>>(options_.on_sync)),
      log_watch_(std::make_shared<LogWatch>()) {}

RocksStore::~RocksStore() {
  Close();
}

std::variant<std::unique_ptr<RocksStore>, std::string> RocksStore::Open(const std::string& path,
                                                                        Options options,
                                                                        Scheduler& scheduler) {
  std::unique_ptr<RocksStore> store(new RocksStore(path, std::move(options), scheduler));
  if (auto error = store->OpenDb()) return "cannot open the store at " + path + ": " + *error;
  return store;
}

std::optional<std::string> RocksStore::OpenDb() {
  rocksdb::Options options = DbOptions(options_);
  rocksdb::Status status = VerifyLog(options, path_);
  if (!status.ok()) return status.ToString();
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.listeners.push_back(log_watch_);
  rocksdb::DB* db = nullptr;
  status = rocksdb::DB::Open(options, path_, &db);
  if (!status.ok()) return status.ToString();
  db_.reset(db);
  return std::nullopt;
}

std::optional<std::string> RocksStore::Get(std::string_view key) {
  std::string value;
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), AsSlice(key), &value);
  if (status.ok()) return value;
  if (status.IsNotFound()) return std::nullopt;
  throw KvUnreadable(status.ToString());
}

void RocksStore::Scan(std::string_view from, std::string_view to, const Visitor& visit) {
  const rocksdb::Slice end = AsSlice(to);
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &end;
  const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(options));
  for (at->Seek(AsSlice(from)); at->Valid(); at->Next()) {
    if (!visit(at->key().ToStringView(), at->value().ToStringView())) return;
  }
  if (!at->status().ok()) throw KvUnreadable(at->status().ToString());
}

bool RocksStore::HasSpace() {
  std::uint64_t free_bytes = 0;
  const rocksdb::Status status = db_->GetEnv()->GetFreeSpace(path_, &free_bytes);
  return !status.ok() || free_bytes >= options_.space_reserve_bytes;
}

KvStatus RocksStore::Write(const KvBatch& batch) {
  if (failed_) return KvStatus::kFailed;
  if (batch.empty()) return KvStatus::kOk;
  if (!HasSpace()) return KvStatus::kFull;

  rocksdb::WriteBatch writes(batch.bytes() + 16 * batch.ops().size());
  for (const KvBatch::Op& op : batch.ops()) {
    if (op.value) {
      writes.Put(op.key, *op.value);
    } else {
      writes.Delete(op.key);
    }
  }
  const rocksdb::Status status = db_->Write(rocksdb::WriteOptions(), &writes);
  unsynced_ops_ += batch.ops().size();
  if (status.ok()) return KvStatus::kOk;
  if (status.IsNoSpace() && !log_watch_->broken()) return KvStatus::kFull;
  Latch("write: " + status.ToString());
  return KvStatus::kFailed;
}

void RocksStore::Sync(std::function<void(KvStatus)> done) {
  Check(!syncing_, "one sync at a time");
  if (failed_) {
    scheduler_.Post([done = std::move(done)] { done(KvStatus::kFailed); });
    return;
  }
  syncing_ = true;
  const bool small = unsynced_ops_ < options_.inline_sync_max_ops;
  unsynced_ops_ = 0;
  if (small && smoothed_sync_us_ < options_.inline_sync_max_us) {
    SyncLog(std::move(done));
    return;
  }
  if (!commit_thread_) commit_thread_ = std::make_unique<boost::asio::thread_pool>(1);
  boost::asio::post(*commit_thread_,
                    [this, done = std::move(done)]() mutable { SyncLog(std::move(done)); });
}

void RocksStore::SyncLog(std::function<void(KvStatus)> done) {
  const auto began = std::chrono::steady_clock::now();
  const rocksdb::Status status = db_->FlushWAL(true);
  const std::int64_t sync_us = std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now() - began)
                                   .count();
  smoothed_sync_us_ += (sync_us - smoothed_sync_us_) / kSmoothing;
  if (!status.ok()) Latch("sync: " + status.ToString());
  const KvStatus outcome = failed_ ? KvStatus::kFailed : KvStatus::kOk;
  syncing_ = false;
  scheduler_.Post([outcome, sync_us, on_sync = on_sync_, done = std::move(done)] {
    if (*on_sync) (*on_sync)(sync_us);
    done(outcome);
  });
}

void RocksStore::Latch(const std::string& reason) {
  const std::lock_guard lock(failure_mutex_);
  if (failure_.empty()) failure_ = reason;
  failed_ = true;
}

KvStatus RocksStore::Close() {
  if (!db_) return failed_ ? KvStatus::kFailed : KvStatus::kOk;
  if (commit_thread_) commit_thread_->join();
  if (!failed_) {
    const rocksdb::Status status = db_->FlushWAL(true);
    if (!status.ok()) Latch("close: " + status.ToString());
  }
  // What matters is synced, or latched; files that do not close cannot change that.
  db_->Close().PermitUncheckedError();
  db_.reset();
  return failed_ ? KvStatus::kFailed : KvStatus::kOk;
}

std::string RocksStore::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

}  // namespace once
