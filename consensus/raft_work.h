// What a Raft member wants done. The order of doing it is the contract that safety rests on, and it
// is written here only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consensus/raft.pb.h"

namespace once {

/// Entries are immutable once they exist, so the log, the disk and the ledger share them.
using RaftEntryPtr = std::shared_ptr<const RaftEntry>;

/// The outcome of a ReadIndex call.
struct RaftRead {
  std::string context;      // as given to ReadIndex
  bool confirmed = false;   // false: leadership was lost meanwhile; ask the new leader
  std::uint64_t index = 0;  // confirmed: whoever has applied this may answer, linearizably
};

/// A piece of a snapshot that a follower needs; answered by Raft::ProvideChunk, at any time: with
/// that piece, or with the first one of any snapshot, and the follower begins anew.
struct RaftChunkWanted {
  std::string to;
  std::uint64_t index = 0;  // of the snapshot being sent; 0: of any snapshot the driver chooses
  std::uint64_t offset = 0;
};

/// One portion of work, from Raft::TakeWork.
///
/// THE CONTRACT. The driver takes portions one after another and may have several in progress, but
///   1. it stores them in order, each as one atomic write holding the fields in the order below;
///   2. it may send `send_at_once` before that write, or during it: a leader's appends travel
///      while its own disk syncs, and the leader counts itself only when told Persisted;
///   3. it sends `send_when_durable` only after this portion and all before it are durable
///      (votes and acknowledgements are promises, and a promise must survive a crash);
///   4. then it calls Raft::Persisted(number), once for each portion, in order;
///   5. it applies `apply` in order, once each; these entries are durable here already. The
///      applied index is stored with what was applied, or else the same entries come again at
///      the next start;
///   6. when a write fails, or its outcome is unknown, the member stops: it calls nothing more.
/// Messages may be lost, repeated, delayed and reordered; nothing is owed but the order above.
struct RaftWork {
  std::uint64_t number = 0;

  // To store. Not all of it needs a sync: see must_sync.

  /// Pieces of a snapshot being received, to be staged outside the state until `install`. Offset 0
  /// throws away what was staged before, and so does a restart: a transfer that a crash cut short
  /// begins again.
  std::vector<SnapshotChunk> stage;
  /// The staged pieces are complete: in one atomic write they replace the whole state, this meta
  /// replaces the stored one, and all stored entries go. The applied index becomes meta.index.
  std::optional<SnapshotMeta> install;
  /// To be appended, replacing what is stored at their indexes and beyond: after a change of
  /// leaders this is how a divergent tail is cut off.
  std::vector<RaftEntryPtr> entries;
  /// The new hard state, if it changed.
  std::optional<HardState> hard_state;
  /// The outcome of Raft::Compact: replaces the stored meta; stored entries up to its index go.
  std::optional<SnapshotMeta> compact;
  /// False when all the above may be lost in a crash without harm. The portion is then durable as
  /// soon as the ones before it are.
  bool must_sync = false;

  // To send, to the member `to` names and nobody else.

  std::vector<RaftMessage> send_at_once;
  std::vector<RaftMessage> send_when_durable;

  // To be done by the state machine and its callers.

  /// Committed and durable here, without gaps. All kinds: a NO_OP changes nothing but the index; a
  /// MEMBERSHIP is news for the operator.
  std::vector<RaftEntryPtr> apply;
  std::vector<RaftRead> reads;

  // To read for followers that are too far behind for the log.

  /// The snapshots begun for these members are over: what was kept open for them may be closed.
  std::vector<std::string> snapshots_released;
  /// After that; it may be the beginning of another snapshot for the same member.
  std::vector<RaftChunkWanted> chunks_wanted;
};

}  // namespace once
