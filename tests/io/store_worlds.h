// The worlds in which the contract of KvStore is tested: each opens, syncs, restarts and crashes
// its own kind of store.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "replica/env/kv_store.h"
#include "replica/io/asio_scheduler.h"
#include "replica/io/rocks_store.h"
#include "simulator/memory_store.h"
#include "simulator/virtual_scheduler.h"
#include "tests/io/scratch_directory.h"

namespace once {

class MemoryWorld {
 public:
  MemoryWorld() { Open(); }

  KvStore& store() { return *store_; }
  void Sync(std::function<void(KvStatus)> done) { store_->Sync(std::move(done)); }
  void RunUntil(const std::function<bool()>& holds) { scheduler_.RunUntil(holds, 60'000); }
  void Restart() {
    store_.reset();
    Open();
  }
  void Crash() {
    disk_.CrashLosingUnsynced();
    Restart();
  }

 private:
  void Open() { store_ = std::make_unique<MemoryStore>(disk_, scheduler_); }

  VirtualScheduler scheduler_;
  MemoryDisk disk_;
  std::unique_ptr<MemoryStore> store_;
};

/// An event loop that waits for other threads, run by the test.
class EventLoop {
 public:
  Scheduler& scheduler() { return scheduler_; }
  void RunUntil(const std::function<bool()>& holds) {
    while (!holds()) context_.run_one();
  }

 private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      context_.get_executor()};
  AsioScheduler scheduler_{context_};
};

class RocksWorld {
 public:
  static constexpr std::size_t kLogBytes = 1u << 20;

  /// A small log: making its first file is most of what opening a store costs.
  explicit RocksWorld(RocksStore::Options options = {.log_segment_bytes = kLogBytes})
      : options_(std::move(options)) {
    Open();
  }

  KvStore& store() { return *store_; }
  RocksStore& rocks() { return *store_; }
  EventLoop& loop() { return loop_; }
  std::filesystem::path path() const { return scratch_ / ("db-" + std::to_string(generation_)); }

  void Sync(std::function<void(KvStatus)> done) { store_->Sync(std::move(done)); }
  void RunUntil(const std::function<bool()>& holds) { loop_.RunUntil(holds); }
  void Close() { store_.reset(); }
  void Restart() {
    Close();
    Open();
  }
  /// What is in the files now is all that the next process finds.
  void Abandon() {
    const std::filesystem::path before = path();
    ++generation_;
    // RocksDB's threads may make and drop files meanwhile: such a copy is of no moment.
    for (bool copied = false; !copied;) {
      std::filesystem::remove_all(path());
      const auto files = Files(before);
      const std::error_code error = Copy(before);
      if (error && error != std::errc::no_such_file_or_directory) throw std::system_error(error);
      copied = !error && Files(before) == files;
    }
    Close();
  }
  void Crash() {
    Abandon();
    Open();
  }
  /// The error of an attempt to open, if it is refused.
  std::optional<std::string> TryOpen() {
    auto opened = RocksStore::Open(path(), options_, loop_.scheduler());
    if (auto* error = std::get_if<std::string>(&opened)) return *error;
    store_ = std::get<std::unique_ptr<RocksStore>>(std::move(opened));
    return std::nullopt;
  }

 private:
  /// With their sizes.
  static std::map<std::filesystem::path, std::uintmax_t> Files(const std::filesystem::path& root) {
    std::map<std::filesystem::path, std::uintmax_t> files;
    std::error_code gone;
    for (std::filesystem::recursive_directory_iterator at(root, gone), end; at != end;
         at.increment(gone))
      if (at->is_regular_file(gone)) files[at->path()] = at->file_size(gone);
    return files;
  }
  std::error_code Copy(const std::filesystem::path& from) {
    std::error_code error;
    std::filesystem::copy(from, path(), std::filesystem::copy_options::recursive, error);
    return error;
  }
  void Open() {
    if (const auto error = TryOpen()) throw std::runtime_error(*error);
  }

  ScratchDirectory scratch_;
  EventLoop loop_;
  RocksStore::Options options_;
  int generation_ = 0;
  std::unique_ptr<RocksStore> store_;
};

class RocksSyncThreadWorld : public RocksWorld {
 public:
  RocksSyncThreadWorld() : RocksWorld({.inline_sync_max_us = 0, .log_segment_bytes = kLogBytes}) {}
};

class RocksSmallGroupsWorld : public RocksWorld {
 public:
  RocksSmallGroupsWorld() : RocksWorld({.apply_ops = 3, .log_segment_bytes = kLogBytes}) {}
};

/// The tables are always behind: syncs wait for them.
class RocksBehindWorld : public RocksWorld {
 public:
  RocksBehindWorld() : RocksWorld({.apply_bytes = 0, .log_segment_bytes = kLogBytes}) {}
};

template <typename World>
KvStatus SyncNow(World& world) {
  std::optional<KvStatus> outcome;
  world.Sync([&](KvStatus status) { outcome = status; });
  world.RunUntil([&] { return outcome.has_value(); });
  return outcome.value();
}

inline KvStatus PutOne(KvStore& store, const std::string& key, const std::string& value) {
  KvBatch batch;
  batch.Put(key, value);
  return store.Write(batch);
}

/// "a=1 b=2", so that a failure prints what was there. Of a store or a view.
template <typename Records>
std::string ScanText(Records& store, std::string_view from, std::string_view to) {
  std::string text;
  store.Scan(from, to, [&](std::string_view key, std::string_view value) {
    if (!text.empty()) text += ' ';
    text.append(key).append("=").append(value);
    return true;
  });
  return text;
}

}  // namespace once
