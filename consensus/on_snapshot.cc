// A piece of the leader's snapshot arrives: InstallSnapshot (section 5.3).
#include "conflict/mutation.h"
#include "consensus/raft.h"

namespace once {

void Raft::OnSnapshotChunk(const RaftMessage& message) {
  FollowLeader(message.from());
  const SnapshotChunk& chunk = message.snapshot_chunk();
  const SnapshotMeta& meta = chunk.meta();
  if (AlreadyHolds(meta)) return AcknowledgeUpTo(commit_, message);
  // One at a time: the driver stages, then installs. The leader will send it again.
  if (next_.install) return;

  const bool same = incoming_.from == message.from() && incoming_.term == message.term() &&
                    incoming_.index == meta.index();
  if (chunk.offset() == 0) {
    incoming_ = {message.from(), message.term(), meta.index(), 0};
  } else if (!same || chunk.offset() != incoming_.next_offset) {
    // Of another transfer, or of this one and repeated, or from before a crash.
    return AskForChunk(message, same ? incoming_.next_offset : 0);
  }
  incoming_.next_offset += chunk.data().size();
  next_.stage.push_back(chunk);
  if (!chunk.last()) return AskForChunk(message, incoming_.next_offset);
  Install(meta);
  AcknowledgeUpTo(meta.index(), message);
}

// A snapshot of what is known to be committed here is old. One that ends in an entry that is here
// says that this entry is committed; the entries after it stay (section 5.3).
bool Raft::AlreadyHolds(const SnapshotMeta& meta) {
  if (MutationOn("snapshot-over-newer-log")) return false;
  if (meta.index() > commit_ && log_.TermAt(meta.index()) == meta.term())
    AdvanceCommit(meta.index());
  return meta.index() <= commit_;
}

void Raft::AskForChunk(const RaftMessage& message, std::uint64_t offset) {
  SnapshotReply& reply = *Say(next_.send_when_durable, message.from()).mutable_snapshot_reply();
  reply.set_index(message.snapshot_chunk().meta().index());
  reply.set_next_offset(offset);
}

void Raft::Install(const SnapshotMeta& meta) {
  log_.Restore(meta);
  commit_ = handed_out_ = applied_ = meta.index();
  incoming_ = {};
  next_.install = meta;
  next_.compact.reset();
}

}  // namespace once
