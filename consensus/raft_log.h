// The log: a snapshot's last entry, the entries after it, and how much of them is on disk.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "consensus/raft.pb.h"
#include "consensus/raft_work.h"

namespace once {

/// Indexes up to snapshot_index() are gone; only the term of that last one is still known. The
/// membership in force is the newest in the log, committed or not (section 4.1), so cutting the log
/// may bring back an older one.
class RaftLog {
 public:
  RaftLog(SnapshotMeta snapshot, std::vector<RaftEntry> entries);

  std::uint64_t snapshot_index() const { return snapshot_.index(); }
  std::uint64_t last_index() const { return snapshot_.index() + entries_.size(); }
  std::uint64_t last_term() const;
  /// Nothing for an index that is compacted or not there yet.
  std::optional<std::uint64_t> TermAt(std::uint64_t index) const;
  /// In (snapshot_index, last_index].
  const RaftEntryPtr& At(std::uint64_t index) const;
  const std::deque<RaftEntryPtr>& entries() const { return entries_; }
  /// Of the entries' data.
  std::uint64_t bytes() const { return bytes_; }

  const Membership& membership() const { return memberships_.rbegin()->second; }
  std::uint64_t membership_index() const { return memberships_.rbegin()->first; }
  /// As of `index`, which is not below snapshot_index().
  const Membership& MembershipAt(std::uint64_t index) const;

  /// Whether a log that ends so is at least as up to date as this one (section 3.6.1).
  bool IsCoveredBy(std::uint64_t last_index, std::uint64_t last_term) const;
  /// The last index at or below `index` whose term is at most `term`: after a mismatch, the last
  /// place where two logs may still agree. Stops at the snapshot.
  std::uint64_t LastNotAbove(std::uint64_t index, std::uint64_t term) const;

  /// Adds the entry with index last_index + 1.
  void Append(RaftEntry entry);
  void TruncateFrom(std::uint64_t index);
  /// Forgets entries up to `index` and says what now stands for them.
  const SnapshotMeta& Compact(std::uint64_t index);
  /// Replaces everything by a snapshot.
  void Restore(const SnapshotMeta& snapshot);
  /// What `index` would look like as the last entry of a snapshot; its term must be known.
  SnapshotMeta MetaAt(std::uint64_t index) const;

  /// Entries not handed out yet, now part of the portion `number`.
  std::vector<RaftEntryPtr> TakeUnwritten(std::uint64_t number);
  /// All portions up to `number` are on disk.
  void Persisted(std::uint64_t number);
  /// On disk, and not about to be replaced there by a portion under way.
  std::uint64_t durable_index() const { return durable_; }

 private:
  struct Writing {
    std::uint64_t number = 0;
    std::uint64_t last_index = 0;  // lowered when a later portion replaces its tail
  };

  SnapshotMeta snapshot_;
  std::deque<RaftEntryPtr> entries_;  // from snapshot_.index + 1 on
  std::uint64_t bytes_ = 0;
  std::map<std::uint64_t, Membership> memberships_;  // by index; the first is the snapshot's
  std::uint64_t written_ = 0;                        // handed out up to here
  std::uint64_t durable_ = 0;                        // at most written_
  std::deque<Writing> writing_;                      // handed out, not yet durable; by number
};

}  // namespace once
