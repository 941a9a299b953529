#include "replica/io/rocks_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "replica/env/check.h"
#include "replica/env/overlaid_view.h"

namespace once {
namespace {

constexpr int kOpenFilesMax = 256;
constexpr std::size_t kBehind = 4;
constexpr std::size_t kLogPerBuffer = 2;
constexpr int kTablesNice = 10;
constexpr std::uint32_t kPartOps = 128;
// A larger record takes too long to write, whatever the last syncs took.
constexpr std::size_t kInlineSyncBytesMax = 1u << 20;
constexpr int kSmoothing = 8;  // a sync moves the smoothed latency by an eighth of the difference

rocksdb::BlockBasedTableOptions TableOptions(const RocksStore::Options& options) {
  rocksdb::BlockBasedTableOptions table;
  // In one piece: a shard of the default number would be smaller than a large table's filter, which
  // would then be read and checked anew for every key that is not there.
  table.block_cache = rocksdb::NewLRUCache(options.block_cache_bytes, 0);
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

  db.write_buffer_size = options.write_buffer_bytes;
  db.max_write_buffer_number = 2;
  db.allow_concurrent_memtable_write = false;  // one thread writes
  // Batches come in the order of their keys: each place is near the one before.
  db.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(1));
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

// The number of the last batch in the tables. Behind every key of the replica, and the last thing
// in every group.
constexpr std::string_view kBatchKey =
    "\xff\xff\xff\xff\xff\xff\xff\xff"
    "batch";

rocksdb::Slice AsSlice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

template <typename Number>
void AppendNumber(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename Number>
Number TakeNumber(std::string_view& bytes) {
  Number number = 0;
  Check(bytes.size() >= sizeof number, "a record is whole");
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

rocksdb::Status AddTo(rocksdb::WriteBatch& writes, const KvOp& op) {
  return op.value ? writes.Put(AsSlice(op.key), AsSlice(*op.value))
                  : writes.Delete(AsSlice(op.key));
}

rocksdb::Status WriteTo(rocksdb::DB& db, rocksdb::WriteBatch& writes) {
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  const rocksdb::Status status = db.Write(unlogged, &writes);
  writes.Clear();
  return status;
}

rocksdb::Status WriteNumber(rocksdb::DB& db, rocksdb::WriteBatch& writes, std::uint64_t batch) {
  std::string number;
  AppendNumber(number, batch);
  const rocksdb::Status status = writes.Put(AsSlice(kBatchKey), number);
  return status.ok() ? WriteTo(db, writes) : status;
}

/// The last of `ops` for each key, in the order of the keys, and then the number of their last
/// batch. In parts: until the number is there too, a start adds all of them again.
rocksdb::Status WriteNewest(rocksdb::DB& db, std::vector<KvOp> ops, std::uint64_t last_batch) {
  std::stable_sort(ops.begin(), ops.end(),
                   [](const KvOp& a, const KvOp& b) { return a.key < b.key; });
  rocksdb::WriteBatch writes;
  for (auto at = ops.begin(); at != ops.end(); ++at) {
    if (std::next(at) != ops.end() && std::next(at)->key == at->key) continue;
    Check(AddTo(writes, *at).ok(), "a batch fits into memory");
    if (writes.Count() < kPartOps) continue;
    if (const rocksdb::Status status = WriteTo(db, writes); !status.ok()) return status;
    std::this_thread::yield();  // a thread of the idle class has the processor until the next tick
  }
  return WriteNumber(db, writes, last_batch);
}

void WatchSpareTime(std::stop_token stop, std::shared_ptr<SpareTime> spare_time) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (
      !stopped.wait_for(lock, stop, SpareTime::kLookEvery, [&] { return stop.stop_requested(); }))
    spare_time->Look(std::chrono::steady_clock::now());
}

}  // namespace

/// Knows how far the tables on disk have come, in RocksDB's own numbers, and has its threads work
/// in spare time.
class RocksStore::FlushWatch : public rocksdb::EventListener {
 public:
  explicit FlushWatch(std::shared_ptr<SpareTime> spare_time) : spare_time_(std::move(spare_time)) {}

  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override { spare_time_->Enter(); }
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    spare_time_->Enter();
  }
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& flush) override {
    flushed_ = std::max<std::uint64_t>(flushed_, flush.largest_seqno);
  }
  std::uint64_t flushed() const { return flushed_; }

 private:
  const std::shared_ptr<SpareTime> spare_time_;
  std::atomic<std::uint64_t> flushed_ = 0;
};

RocksStore::RocksStore(std::string path, Options options, Scheduler& scheduler)
    : path_(std::move(path)),
      options_(std::move(options)),
      scheduler_(scheduler),
      on_sync_(std::make_shared<const std::function<void(std::int64_t)>>(options_.on_sync)),
      flush_watch_(std::make_shared<FlushWatch>(spare_time_)) {}

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
  options.listeners.push_back(flush_watch_);
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, path_, &db);
  if (!status.ok()) return status.ToString();
  db_.reset(db);
  try {
    if (auto error = Recover()) return error;
  } catch (const KvUnreadable& damage) {
    return damage.what();
  }
  if (spare_time_->active()) watch_ = std::jthread(WatchSpareTime, spare_time_);
  return std::nullopt;
}

std::optional<std::string> RocksStore::Recover() {
  log_ =
      std::make_unique<WriteAheadLog>(*db_->GetEnv(), path_ + "/log", options_.log_segment_bytes);
  const auto applied = Get(kBatchKey);
  if (applied) {
    std::string_view bytes = *applied;
    batch_ = TakeNumber<std::uint64_t>(bytes);
  }
  rocksdb::Status status;
  const auto apply = [&](std::string_view payload, std::uint64_t last_batch) {
    rocksdb::WriteBatch writes(payload.size());
    for (const KvOp op : KvOps(payload)) AddTo(writes, op).PermitUncheckedError();
    if (status.ok()) status = WriteNumber(*db_, writes, last_batch);
  };
  if (auto error = log_->Replay(batch_, applied.has_value(), apply)) return error;
  batch_ = std::max(batch_, log_->last_batch());
  if (status.ok()) status = db_->Flush(rocksdb::FlushOptions());
  if (status.ok()) status = log_->Restart(batch_);
  tables_batch_ = batch_;
  if (!status.ok()) return status.ToString();
  return std::nullopt;
}

std::optional<std::string> RocksStore::Get(std::string_view key) {
  if (const auto op = pending_.Find(key)) return std::optional<std::string>(op->value);
  std::string value;
  const SpareTime::Visit visit(*spare_time_);
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), AsSlice(key), &value);
  if (status.ok()) return value;
  if (status.IsNotFound()) return std::nullopt;
  throw KvUnreadable(status.ToString());
}

void RocksStore::Scan(std::string_view from, std::string_view to, const Visitor& visit) {
  const auto pending = pending_.Range(from, to);
  auto next = pending.begin();
  // False: the visitor has had enough.
  const auto visit_pending_before = [&](const std::optional<std::string_view>& key) {
    for (; next != pending.end() && (!key || next->key < *key); ++next)
      if (next->value && !visit(next->key, *next->value)) return false;
    return true;
  };
  const rocksdb::Slice end = AsSlice(to);
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &end;
  const SpareTime::Visit visiting(*spare_time_);
  const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(options));
  for (at->Seek(AsSlice(from)); at->Valid(); at->Next()) {
    const std::string_view key = at->key().ToStringView();
    if (!visit_pending_before(key)) return;
    const bool overwritten = next != pending.end() && next->key == key;
    if (!overwritten && !visit(key, at->value().ToStringView())) return;
  }
  if (!at->status().ok()) throw KvUnreadable(at->status().ToString());
  visit_pending_before(std::nullopt);
}

// What is pending may reach the tables before they are frozen: it is the same there.
std::unique_ptr<KvView> RocksStore::View(std::string_view from, std::string_view to) {
  std::vector<OverlaidView::Change> over;
  for (const KvOp& op : pending_.Range(from, to))
    over.push_back({std::string(op.key), std::optional<std::string>(op.value)});
  auto tables = std::make_shared<FrozenTables>(*db_, spare_time_);
  std::erase_if(frozen_, [](const auto& frozen) { return frozen.expired(); });
  frozen_.push_back(tables);
  return std::make_unique<OverlaidView>(std::make_unique<RocksView>(std::move(tables)),
                                        std::move(over));
}

bool RocksStore::HasSpace() {
  std::uint64_t free_bytes = 0;
  const rocksdb::Status status = db_->GetEnv()->GetFreeSpace(path_, &free_bytes);
  return !status.ok() || free_bytes >= options_.space_reserve_bytes;
}

KvStatus RocksStore::Write(KvBatch batch) {
  if (failed_) return KvStatus::kFailed;
  if (batch.empty()) return KvStatus::kOk;
  pending_.Drop(applied_);
  log_->Reclaim(flush_watch_->flushed());
  if (tables_full_ || !HasSpace()) {
    Apply(true);  // what the tables have on disk, the log need not keep
    return KvStatus::kFull;
  }
  const std::size_t bytes = unsynced_bytes_ + batch.bytes().size();
  if (const rocksdb::Status status = log_->Reserve(bytes); !status.ok()) {
    if (status.IsNoSpace()) return KvStatus::kFull;
    Latch("write: " + status.ToString());
    return KvStatus::kFailed;
  }
  ++batch_;
  unsynced_bytes_ = bytes;
  unsynced_.push_back(std::make_shared<const KvBatch>(std::move(batch)));
  pending_.Add(unsynced_.back());
  return KvStatus::kOk;
}

RocksStore::Work RocksStore::TakeWork() {
  Work work;
  if (unsynced_.empty()) return work;
  work.place = log_->Make(unsynced_bytes_, batch_);
  work.batches = std::exchange(unsynced_, {});
  unsynced_bytes_ = 0;
  return work;
}

void RocksStore::Logged::Add(Work work) {
  if (work.batches.empty()) return;
  for (const auto& batch : work.batches) ops += batch->size();
  bytes += work.place.payload_bytes;
  works.push_back(std::move(work));
}

void RocksStore::Sync(std::function<void(KvStatus)> done) {
  Check(!syncing_, "one sync at a time");
  if (failed_) {
    scheduler_.Post([done = std::move(done)] { done(KvStatus::kFailed); });
    return;
  }
  syncing_ = true;
  if (logged_->ops >= options_.apply_ops || logged_->bytes >= options_.apply_bytes) Apply(false);
  const bool brief = unsynced_bytes_ < kInlineSyncBytesMax;
  const bool behind = logged_->bytes >= kBehind * options_.apply_bytes;
  Work work = TakeWork();
  if (brief && !behind && smoothed_sync_us_ < options_.inline_sync_max_us)
    return AppendAndReport(std::move(work), std::move(done));
  auto task = [this, work = std::move(work), done = std::move(done)]() mutable {
    AppendAndReport(std::move(work), std::move(done));
  };
  if (behind) {
    spare_time_->Hurry(true);
    return PostToTables(std::move(task));
  }
  if (!sync_thread_) sync_thread_ = std::make_unique<boost::asio::thread_pool>(1);
  boost::asio::post(*sync_thread_, std::move(task));
}

void RocksStore::Apply(bool flush) {
  if (applying_.exchange(true)) return;
  spare_time_->Give(std::chrono::steady_clock::now());
  PostToTables([this, flush, works = std::exchange(*logged_, {}).works]() mutable {
    ApplyAlso(std::move(works), flush);
    spare_time_->Done();
    applying_ = false;
  });
}

void RocksStore::PostToTables(std::function<void()> task) {
  if (!tables_thread_) {
    tables_thread_ = std::make_unique<boost::asio::thread_pool>(1);
    boost::asio::post(*tables_thread_, [this] {
      setpriority(PRIO_PROCESS, 0, kTablesNice);
      spare_time_->Enter();
    });
  }
  boost::asio::post(*tables_thread_, std::move(task));
}

std::optional<std::int64_t> RocksStore::Append(const Work& work) {
  if (!work.place.segment) return failed_ ? std::nullopt : std::optional<std::int64_t>(0);
  const auto began = std::chrono::steady_clock::now();
  std::string joined;
  if (work.batches.size() > 1)
    for (const auto& batch : work.batches) joined += batch->bytes();
  const rocksdb::Status status = WriteAheadLog::Append(
      work.place, work.batches.size() > 1 ? joined : work.batches.front()->bytes());
  if (!status.ok()) Latch("sync: " + status.ToString());
  const std::int64_t sync_us = std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now() - began)
                                   .count();
  smoothed_sync_us_ = smoothed_sync_us_ + (sync_us - smoothed_sync_us_) / kSmoothing;
  return failed_ ? std::nullopt : std::optional(sync_us);
}

void RocksStore::AppendAndReport(Work work, std::function<void(KvStatus)> done) {
  const auto sync_us = Append(work);
  syncing_ = false;
  scheduler_.Post([sync_us, work = std::move(work), logged = logged_, on_sync = on_sync_,
                   done = std::move(done)]() mutable {
    if (!sync_us) return done(KvStatus::kFailed);
    logged->Add(std::move(work));
    if (*on_sync) (*on_sync)(*sync_us);
    done(KvStatus::kOk);
  });
}

void RocksStore::ApplyAlso(std::vector<Work> works, bool flush) {
  for (const Work& work : works) unflushed_bytes_ += work.place.payload_bytes;
  std::move(works.begin(), works.end(), std::back_inserter(unapplied_));
  ApplyAll();
  if (last_flushed_ != flush_watch_->flushed()) {
    last_flushed_ = flush_watch_->flushed();
    unflushed_bytes_ = 0;
  }
  if (flush || unflushed_bytes_ >= kLogPerBuffer * options_.write_buffer_bytes) Flush();
}

void RocksStore::Flush() {
  unflushed_bytes_ = 0;
  rocksdb::FlushOptions options;
  options.wait = false;
  options.allow_write_stall = true;  // it is this thread that would wait
  // One that fails is tried again by RocksDB itself, or with the next.
  db_->Flush(options).PermitUncheckedError();
}

void RocksStore::ApplyAll() {
  std::vector<KvOp> ops;
  std::uint64_t next_batch = tables_batch_ + 1;
  for (const Work& work : unapplied_) {
    Check(work.place.first_batch == next_batch, "the tables have all before");
    next_batch = work.place.last_batch + 1;
    for (const auto& batch : work.batches)
      for (const KvOp op : batch->ops()) ops.push_back(op);
  }
  const rocksdb::Status status = WriteNewest(*db_, std::move(ops), next_batch - 1);
  // The log has it, and so has the next start; until there is room nothing more is taken.
  // (Incomplete: a compaction found none, and RocksDB does not let a write wait for it.)
  tables_full_ = status.IsNoSpace() || status.IsIncomplete();
  if (tables_full_) return;
  if (!status.ok()) return Latch("write: " + status.ToString());
  tables_batch_ = next_batch - 1;
  for (Work& work : std::exchange(unapplied_, {})) {
    WriteAheadLog::Applied(work.place, db_->GetLatestSequenceNumber());
    applied_ += work.batches.size();
  }
}

void RocksStore::Latch(const std::string& reason) {
  const std::lock_guard lock(failure_mutex_);
  if (failure_.empty()) failure_ = reason;
  failed_ = true;
}

KvStatus RocksStore::Close() {
  if (!db_) return failed_ ? KvStatus::kFailed : KvStatus::kOk;
  watch_ = {};
  spare_time_->Hurry(true);
  if (sync_thread_) sync_thread_->join();
  if (tables_thread_) tables_thread_->join();
  if (!failed_ && !unsynced_.empty()) Append(TakeWork());
  for (const auto& frozen : frozen_)
    if (const auto tables = frozen.lock()) tables->Release();
  // What matters is in the log, or latched; tables that are not flushed cannot change that.
  db_->Close().PermitUncheckedError();
  db_.reset();
  log_.reset();
  return failed_ ? KvStatus::kFailed : KvStatus::kOk;
}

std::string RocksStore::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

}  // namespace once
