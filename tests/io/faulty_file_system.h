// The machine's file system with faults on request, for RocksDB.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace once {

struct DiskFaults {
  std::atomic<bool> log_sync_fails = false;
  std::atomic<bool> log_write_fails = false;
  std::atomic<bool> log_is_full = false;  // there is no room for another file of it
  std::atomic<bool> tables_are_full = false;
  std::atomic<std::uint64_t> free_bytes = 0;  // 0: what the machine says
};

class FaultyFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyFile(std::unique_ptr<rocksdb::FSWritableFile> file, bool is_log, const DiskFaults& faults)
      : FSWritableFileOwnerWrapper(std::move(file)), is_log_(is_log), faults_(faults) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    if (IsFull()) return rocksdb::IOStatus::NoSpace("injected");
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& info,
                           rocksdb::IODebugContext* debug) override {
    if (IsFull()) return rocksdb::IOStatus::NoSpace("injected");
    return FSWritableFileOwnerWrapper::Append(data, options, info, debug);
  }

 private:
  bool IsFull() const { return is_log_ ? faults_.log_is_full : faults_.tables_are_full; }

  const bool is_log_;
  const DiskFaults& faults_;
};

class FaultyLogFile : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  FaultyLogFile(std::unique_ptr<rocksdb::FSRandomRWFile> file, const DiskFaults& faults)
      : FSRandomRWFileOwnerWrapper(std::move(file)), faults_(faults) {}

  rocksdb::IOStatus Write(std::uint64_t offset, const rocksdb::Slice& data,
                          const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override {
    if (faults_.log_write_fails) return rocksdb::IOStatus::IOError("injected");
    return FSRandomRWFileOwnerWrapper::Write(offset, data, options, debug);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override {
    if (faults_.log_sync_fails) return rocksdb::IOStatus::IOError("injected");
    return FSRandomRWFileOwnerWrapper::Sync(options, debug);
  }

 private:
  const DiskFaults& faults_;
};

class FaultyFileSystem : public rocksdb::FileSystemWrapper {
 public:
  explicit FaultyFileSystem(const DiskFaults& faults)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), faults_(faults) {}

  const char* Name() const override { return "FaultyFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus status = FileSystemWrapper::NewWritableFile(path, options, file, debug);
    const bool is_log = path.ends_with(".segment");
    if (status.ok() && (is_log || path.ends_with(".sst"))) {
      *file = std::make_unique<FaultyFile>(std::move(*file), is_log, faults_);
    }
    return status;
  }
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    const rocksdb::IOStatus status = FileSystemWrapper::NewRandomRWFile(path, options, file, debug);
    if (status.ok()) *file = std::make_unique<FaultyLogFile>(std::move(*file), faults_);
    return status;
  }
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options,
                                 std::uint64_t* free_bytes,
                                 rocksdb::IODebugContext* debug) override {
    if (faults_.free_bytes == 0) {
      return FileSystemWrapper::GetFreeSpace(path, options, free_bytes, debug);
    }
    *free_bytes = faults_.free_bytes;
    return rocksdb::IOStatus::OK();
  }

 private:
  const DiskFaults& faults_;
};

}  // namespace once
