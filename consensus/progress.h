// What a leader knows of one follower's log, and how much it may send to it.
#pragma once

#include <cstdint>
#include <deque>

#include "consensus/raft.pb.h"

namespace once {

/// A follower is in one of three states:
///
///     kProbe      where its log agrees is unknown: one append at a time, each rejection moves
///                 `next` down, the first acceptance leads to kReplicate
///     kReplicate  in step: appends go out one behind the other, as far as the window allows, and
///                 `next` runs ahead of `match`; a rejection means that one was lost: kProbe
///     kSnapshot   it needs entries that are compacted: pieces of a snapshot go out one at a time,
///                 and heartbeats; when it has the snapshot: kProbe, which soon ends. It is begun
///                 when the follower is heard of
class Progress {
 public:
  enum class State { kProbe, kReplicate, kSnapshot };

  /// A follower of whom nothing is known, by a leader whose log ends at `last_index`.
  explicit Progress(std::uint64_t last_index) : next_(last_index + 1) {}

  State state() const { return state_; }
  std::uint64_t match() const { return match_; }  // equal to the leader's log, and durable there
  std::uint64_t next() const { return next_; }    // of the next append; more than match

  bool MaySendEntries(std::uint64_t window_bytes_max, std::uint32_t window_messages_max) const;
  void SentEntries(std::uint64_t last_index, std::uint64_t bytes);
  /// True if `match` rose.
  bool Accepted(std::uint64_t match);
  /// The append at `prev_index` did not fit, and `agreed` is where the logs may agree at best.
  /// Late news is ignored.
  void Rejected(std::uint64_t prev_index, std::uint64_t agreed);

  /// The snapshot on its way.
  struct Sending {
    SnapshotMeta meta;             // index 0: it is not begun
    std::uint64_t offset = 0;      // of the piece on its way
    bool awaiting_driver = false;  // the piece is being read; else it is waited for by its reply
    std::uint32_t ticks = 0;       // since it was sent

    bool begun() const { return meta.index() != 0; }
  };
  void StartSnapshot();
  Sending& sending() { return sending_; }
  const Sending& sending() const { return sending_; }

  // Plain facts, kept by the leader's events.

  std::uint32_t silent_ticks = 0;  // since it was last heard
  bool heartbeat_due = true;       // something must be sent, if only an empty append
  std::uint64_t told_commit = 0;   // sent, perhaps lost: the next heartbeat says it again
  std::uint64_t told_round = 0;    // the same for read rounds
  std::uint64_t acked_round = 0;   // it was still a follower of this leader in that round

 private:
  struct InFlight {
    std::uint64_t last_index = 0;
    std::uint64_t bytes = 0;
  };

  void BecomeProbe();

  State state_ = State::kProbe;
  std::uint64_t match_ = 0;
  std::uint64_t next_ = 1;
  bool probing_ = false;  // a probe is out; the next heartbeat repeats it without entries
  std::deque<InFlight> window_;
  std::uint64_t window_bytes_ = 0;
  Sending sending_;
};

}  // namespace once
