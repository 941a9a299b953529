#include "replica/io/write_ahead_log.h"

#include <rocksdb/env.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <system_error>
#include <utility>

#include "replica/env/check.h"

namespace once {

struct WriteAheadLog::Segment {
  std::string path;
  std::unique_ptr<rocksdb::RandomRWFile> file;
  std::size_t bytes = 0;
  std::uint64_t ordinal = 0;  // 0: holds nothing
  std::uint64_t first_batch = 0;
  std::uint64_t salt = 0;
  std::atomic<std::uint64_t> mark = UINT64_MAX;  // the tables have all of it when they have this
};

namespace {

using Segment = WriteAheadLog::Segment;
using rocksdb::Slice;
using rocksdb::Status;

constexpr std::uint64_t kMagic = 0x31676f6c65636e6fu;  // "oncelog1"
constexpr std::size_t kHeaderDistance = 4096;
constexpr std::size_t kRecordsAt = 2 * kHeaderDistance;
constexpr std::size_t kAlignment = 16;
constexpr std::size_t kFreeMax = 8;  // files kept for the next records

struct SegmentHeader {
  std::uint64_t magic;
  std::uint64_t ordinal;
  std::uint64_t first_batch;
  std::uint64_t salt;
  std::uint64_t checksum;  // of what is before it
};

struct RecordHeader {
  std::uint64_t checksum;  // of the rest of the header, keyed by the segment's salt
  std::uint64_t first_batch;
  std::uint64_t last_batch;
  std::uint64_t payload_bytes;
  std::uint64_t payload_checksum;
};

std::uint64_t Checksum(const SegmentHeader& header) {
  return XXH3_64bits(&header, offsetof(SegmentHeader, checksum));
}

std::uint64_t Checksum(const RecordHeader& header, std::uint64_t salt) {
  return XXH3_64bits_withSeed(&header.first_batch, sizeof header - sizeof header.checksum, salt);
}

std::size_t RecordBytes(std::size_t payload_bytes) {
  const std::size_t bytes = sizeof(RecordHeader) + payload_bytes;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::uint64_t RandomBits() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

std::optional<RecordHeader> HeaderAt(std::string_view file, std::size_t offset,
                                     std::uint64_t salt) {
  if (offset + sizeof(RecordHeader) > file.size()) return std::nullopt;
  RecordHeader header;
  std::memcpy(&header, file.data() + offset, sizeof header);
  if (header.checksum != Checksum(header, salt)) return std::nullopt;
  if (header.payload_bytes > file.size() - offset - sizeof header) return std::nullopt;
  return header;
}

/// The record at `offset`, if it is whole.
std::optional<RecordHeader> RecordAt(std::string_view file, std::size_t offset,
                                     std::uint64_t salt) {
  const auto header = HeaderAt(file, offset, salt);
  if (!header) return std::nullopt;
  const char* payload = file.data() + offset + sizeof(RecordHeader);
  if (XXH3_64bits(payload, header->payload_bytes) != header->payload_checksum) return std::nullopt;
  return header;
}

bool ReadHeader(std::string_view file, Segment& segment) {
  for (const std::size_t at : {std::size_t{0}, kHeaderDistance}) {
    if (file.size() < at + sizeof(SegmentHeader)) return false;
    SegmentHeader header;
    std::memcpy(&header, file.data() + at, sizeof header);
    if (header.magic != kMagic || header.checksum != Checksum(header)) continue;
    segment.ordinal = header.ordinal;
    segment.first_batch = header.first_batch;
    segment.salt = header.salt;
    return true;
  }
  return false;
}

Status WriteHeader(const Segment& segment) {
  SegmentHeader header{kMagic, segment.ordinal, segment.first_batch, segment.salt, 0};
  header.checksum = Checksum(header);
  std::string bytes(kRecordsAt, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + kHeaderDistance, &header, sizeof header);
  const Status status = segment.file->Write(0, bytes);
  return status.ok() ? segment.file->Sync() : status;
}

Status Empty(const Segment& segment) {
  const Status status = segment.file->Write(0, std::string(kRecordsAt, '\0'));
  return status.ok() ? segment.file->Sync() : status;
}

bool Fits(const Segment& segment, std::uint64_t offset, std::size_t payload_bytes) {
  return offset + RecordBytes(payload_bytes) <= segment.bytes;
}

std::string Damaged(const Segment& segment) {
  return "Corruption: the log is damaged in " + segment.path;
}

}  // namespace

WriteAheadLog::WriteAheadLog(rocksdb::Env& env, std::string directory, std::size_t segment_bytes)
    : env_(env), directory_(std::move(directory)), segment_bytes_(segment_bytes) {}

WriteAheadLog::~WriteAheadLog() = default;

std::optional<std::string> WriteAheadLog::ReadSegments(
    std::vector<std::shared_ptr<Segment>>& used) {
  std::vector<std::string> names;
  const Status listed = env_.GetChildren(directory_, &names);
  if (!listed.ok() && !listed.IsNotFound()) return listed.ToString();
  names.erase(std::remove_if(names.begin(), names.end(),
                             [](const std::string& name) { return !name.ends_with(".segment"); }),
              names.end());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    auto segment = std::make_shared<Segment>();
    segment->path = directory_ + "/" + name;
    std::uint64_t bytes = 0;
    Status status = env_.GetFileSize(segment->path, &bytes);
    if (status.ok())
      status = env_.NewRandomRWFile(segment->path, &segment->file, rocksdb::EnvOptions());
    std::string head(kRecordsAt, '\0');
    Slice read;
    if (status.ok()) status = segment->file->Read(0, head.size(), &read, head.data());
    if (!status.ok()) return status.ToString();
    segment->bytes = bytes;
    last_file_ = std::max<std::size_t>(last_file_, std::strtoull(name.c_str(), nullptr, 10));
    if (ReadHeader(read.ToStringView(), *segment)) {
      used.push_back(segment);
    } else if (bytes >= segment_bytes_) {
      free_.push_back(segment);
    } else if (status = env_.DeleteFile(segment->path); !status.ok()) {
      // (A crash while the file was being filled with zeros left it short: it was never used.)
      return status.ToString();
    }
  }
  std::sort(used.begin(), used.end(),
            [](const auto& a, const auto& b) { return a->ordinal < b->ordinal; });
  return std::nullopt;
}

std::optional<std::string> WriteAheadLog::Replay(std::uint64_t applied, bool expected,
                                                 const Give& give) {
  std::vector<std::shared_ptr<Segment>> used;
  if (auto error = ReadSegments(used)) return error;
  if (expected && used.empty() && free_.empty())
    return "Corruption: the log is missing in " + directory_;
  next_batch_ = used.empty() ? applied + 1 : used.front()->first_batch;
  if (next_batch_ > applied + 1) return Damaged(*used.front());
  for (const auto& segment : used) {
    if (segment->first_batch != next_batch_) return Damaged(*segment);
    std::string file(segment->bytes, '\0');
    Slice read;
    const Status status = segment->file->Read(0, file.size(), &read, file.data());
    if (!status.ok()) return status.ToString();
    std::size_t at = kRecordsAt;
    while (const auto record = RecordAt(read.ToStringView(), at, segment->salt)) {
      if (record->first_batch != next_batch_) return Damaged(*segment);
      if (record->last_batch > applied)
        give(read.ToStringView().substr(at + sizeof(RecordHeader), record->payload_bytes),
             record->last_batch);
      next_batch_ = record->last_batch + 1;
      at += RecordBytes(record->payload_bytes);
    }
    // Nothing was written behind a torn record; a header there means damage before it.
    for (at += kAlignment; segment == used.back() && at < read.size(); at += kAlignment) {
      if (HeaderAt(read.ToStringView(), at, segment->salt)) return Damaged(*segment);
    }
    next_ordinal_ = segment->ordinal + 1;
    full_.push_back(segment);
  }
  return std::nullopt;
}

Status WriteAheadLog::Restart(std::uint64_t last) {
  for (; !full_.empty(); full_.pop_front()) {
    if (const Status status = Empty(*full_.front()); !status.ok()) return status;
    Free(full_.front());
  }
  next_batch_ = last + 1;
  return Status::OK();
}

Status WriteAheadLog::Reserve(std::size_t payload_bytes) {
  MakeAhead();
  if (current_ && Fits(*current_, offset_, payload_bytes)) return Status::OK();
  if (free_.empty() && ahead_.valid()) {
    // One that could not be made is tried again below, and the reason told if it fails again.
    if (auto segment = ahead_.get()) free_.push_back(std::move(segment));
  }
  if (!free_.empty() && Fits(*free_.front(), kRecordsAt, payload_bytes)) return Status::OK();
  Status status = MakeDirectory();
  if (!status.ok()) return status;
  const std::size_t bytes = std::max(segment_bytes_, kRecordsAt + RecordBytes(payload_bytes));
  if (auto segment = MakeFile(env_, NextPath(), bytes, status))
    free_.push_front(std::move(segment));
  return status;
}

void WriteAheadLog::MakeAhead() {
  if (!free_.empty() || ahead_.valid() || !current_ || offset_ < current_->bytes / 2) return;
  try {
    ahead_ =
        std::async(std::launch::async, [this, path = NextPath()]() -> std::shared_ptr<Segment> {
          Status ignored;
          return MakeFile(env_, path, segment_bytes_, ignored);
        });
  } catch (const std::system_error&) {
    // No thread can be had: Reserve makes the file itself when it is needed.
  }
}

std::string WriteAheadLog::NextPath() {
  char name[32];
  std::snprintf(name, sizeof name, "/%06zu.segment", ++last_file_);
  return directory_ + name;
}

Status WriteAheadLog::MakeDirectory() {
  if (env_.FileExists(directory_).ok()) return Status::OK();
  Status status = env_.CreateDirIfMissing(directory_);
  std::unique_ptr<rocksdb::Directory> parent;
  const std::string above = directory_.substr(0, directory_.rfind('/'));
  if (status.ok()) status = env_.NewDirectory(above, &parent);
  return status.ok() ? parent->Fsync() : status;
}

std::shared_ptr<Segment> WriteAheadLog::MakeFile(rocksdb::Env& env, std::string path,
                                                 std::size_t bytes, Status& status) {
  auto segment = std::make_shared<Segment>();
  segment->path = std::move(path);
  segment->bytes = bytes;
  std::unique_ptr<rocksdb::WritableFile> file;
  status = env.NewWritableFile(segment->path, &file, rocksdb::EnvOptions());
  const std::string zeros(std::min<std::size_t>(bytes, 1u << 20), '\0');
  for (std::size_t at = 0; status.ok() && at < bytes; at += zeros.size()) {
    status = file->Append(Slice(zeros.data(), std::min(zeros.size(), bytes - at)));
    // Piece by piece: the sync of all at once would hold up the one that callers wait for.
    if (status.ok()) status = file->Sync();
  }
  if (status.ok()) status = file->Close();
  std::unique_ptr<rocksdb::Directory> directory;
  const std::string above = segment->path.substr(0, segment->path.rfind('/'));
  if (status.ok()) status = env.NewDirectory(above, &directory);
  if (status.ok()) status = directory->Fsync();
  if (status.ok())
    status = env.NewRandomRWFile(segment->path, &segment->file, rocksdb::EnvOptions());
  if (status.ok()) return segment;
  env.DeleteFile(segment->path).PermitUncheckedError();
  return nullptr;
}

WriteAheadLog::Place WriteAheadLog::Make(std::size_t payload_bytes, std::uint64_t last_batch) {
  Place place;
  if (!current_ || !Fits(*current_, offset_, payload_bytes)) {
    Check(!free_.empty() && Fits(*free_.front(), kRecordsAt, payload_bytes), "room was reserved");
    if (current_) full_.push_back(current_);
    place.closed = std::move(current_);
    current_ = std::move(free_.front());
    free_.pop_front();
    current_->ordinal = next_ordinal_++;
    current_->first_batch = next_batch_;
    current_->salt = RandomBits();
    current_->mark = UINT64_MAX;
    offset_ = kRecordsAt;
  }
  place.segment = current_;
  place.offset = offset_;
  place.first_batch = next_batch_;
  place.last_batch = last_batch;
  place.payload_bytes = payload_bytes;
  offset_ += RecordBytes(payload_bytes);
  next_batch_ = last_batch + 1;
  return place;
}

Status WriteAheadLog::Append(const Place& place, std::string_view payload) {
  Check(payload.size() == place.payload_bytes, "a record has the size of its place");
  const Segment& segment = *place.segment;
  // The header is safe before any record of its segment: a torn header means that there are none.
  if (place.offset == kRecordsAt)
    if (const Status status = WriteHeader(segment); !status.ok()) return status;
  RecordHeader header{0, place.first_batch, place.last_batch, payload.size(),
                      XXH3_64bits(payload.data(), payload.size())};
  header.checksum = Checksum(header, segment.salt);
  std::string record(reinterpret_cast<const char*>(&header), sizeof header);
  const Status status = segment.file->Write(place.offset, record.append(payload));
  return status.ok() ? segment.file->Sync() : status;
}

void WriteAheadLog::Applied(Place& place, std::uint64_t mark) {
  if (place.closed) std::exchange(place.closed, nullptr)->mark = mark;
}

void WriteAheadLog::Reclaim(std::uint64_t mark) {
  for (; !full_.empty() && full_.front()->mark <= mark; full_.pop_front()) Free(full_.front());
}

// The oldest goes, so that what is left has no gap; emptied first, because a power cut may bring a
// deleted file back. One that cannot be deleted is as good as any other.
void WriteAheadLog::Free(std::shared_ptr<Segment> segment) {
  free_.push_back(std::move(segment));
  if (free_.size() <= kFreeMax || !Empty(*free_.front()).ok()) return;
  if (env_.DeleteFile(free_.front()->path).ok()) free_.pop_front();
}

}  // namespace once
