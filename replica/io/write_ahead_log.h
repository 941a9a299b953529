// The log of the store: what is synced before an answer goes out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rocksdb {
class Env;
class Status;
}  // namespace rocksdb

namespace once {

/// Records in files that were written full of zeros when they were made, and are used again and
/// again: a sync of them moves no end of file, so it writes no metadata and takes a fraction of the
/// time that a sync of a growing file takes (docs/decisions/0011).
///
/// A record holds one or more batches, numbered without a gap. All that one sync makes durable is
/// one record, and the next record is not begun before; so after a crash at most one record, the
/// last, is torn. Anything else that does not fit together is damage, and Replay says so.
///
/// A segment begins with its header, twice, so that no single damaged byte hides its records: its
/// ordinal, the number of its first batch, and a random salt. A record begins with its checksum,
/// which is keyed by the salt: neither what an earlier use of the file left behind nor what a
/// caller stored can pass for a record.
///
/// Everything but Append and Applied is for the replica's thread.
class WriteAheadLog {
 public:
  struct Segment;

  /// Where a record goes. One at a time goes to Append, in the order they were made.
  struct Place {
    std::shared_ptr<Segment> segment;  // null: there is nothing to write
    std::shared_ptr<Segment> closed;   // the one before, when this is the first of its segment
    std::uint64_t offset = 0;
    std::uint64_t first_batch = 0;
    std::uint64_t last_batch = 0;
    std::size_t payload_bytes = 0;
  };

  /// Files of `segment_bytes` in `directory`; `env` is borrowed.
  WriteAheadLog(rocksdb::Env& env, std::string directory, std::size_t segment_bytes);
  ~WriteAheadLog();

  using Give = std::function<void(std::string_view payload, std::uint64_t last_batch)>;

  /// Reads what the files hold. Gives the payload of every record that has batches behind
  /// `applied`, in order. `expected`: the log has been in use, so files must be there. Empty, or
  /// what is wrong, as a sentence.
  std::optional<std::string> Replay(std::uint64_t applied, bool expected, const Give& give);
  /// The last batch that Replay found.
  std::uint64_t last_batch() const { return next_batch_ - 1; }
  /// Everything up to batch `last` is safe elsewhere: empties the files, and the next batch is
  /// `last` + 1.
  rocksdb::Status Restart(std::uint64_t last);

  /// Makes room for a record with `payload_bytes`, by a new file if need be. Must have succeeded
  /// before Make; NoSpace leaves everything as it was. When the present file is half full and no
  /// other is free, a thread begins to fill the next one with zeros, so that nobody waits for it.
  rocksdb::Status Reserve(std::size_t payload_bytes);
  /// The place of the next record, which holds the batches from the last one's end up to
  /// `last_batch`.
  Place Make(std::size_t payload_bytes, std::uint64_t last_batch);
  /// Writes and syncs. From any thread, one at a time. After an error the log is of no further use.
  static rocksdb::Status Append(const Place& place, std::string_view payload);
  /// All records before this one are in the tables, whose count of changes was then `mark`. Only
  /// the first call for a place counts. From any thread.
  static void Applied(Place& place, std::uint64_t mark);
  /// The tables on disk have come to `mark`: files with older records may be used again. More than
  /// a few of them are deleted.
  void Reclaim(std::uint64_t mark);

 private:
  std::optional<std::string> ReadSegments(std::vector<std::shared_ptr<Segment>>& used);
  rocksdb::Status MakeDirectory();
  std::string NextPath();
  /// Null: `status` says why.
  static std::shared_ptr<Segment> MakeFile(rocksdb::Env& env, std::string path, std::size_t bytes,
                                           rocksdb::Status& status);
  void MakeAhead();
  void Free(std::shared_ptr<Segment> segment);

  rocksdb::Env& env_;
  const std::string directory_;
  const std::size_t segment_bytes_;
  std::deque<std::shared_ptr<Segment>> free_;  // oldest use first: the used ones leave no gap
  std::deque<std::shared_ptr<Segment>> full_;
  std::shared_ptr<Segment> current_;
  std::uint64_t offset_ = 0;  // where the next record goes in `current_`
  std::uint64_t next_batch_ = 1;
  std::uint64_t next_ordinal_ = 1;
  std::size_t last_file_ = 0;                    // the highest number that a file's name has
  std::future<std::shared_ptr<Segment>> ahead_;  // a file that a thread is making
};

}  // namespace once
