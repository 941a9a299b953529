// A follower says which piece of the snapshot it needs next.
#include "consensus/raft.h"

namespace once {

void Raft::OnSnapshotReply(const RaftMessage& message) {
  const auto found = progress_.find(message.from());
  if (found == progress_.end()) return;
  Progress& progress = found->second;
  progress.silent_ticks = 0;
  const SnapshotReply& reply = message.snapshot_reply();
  Progress::Sending& sending = progress.sending();
  if (progress.state() != Progress::State::kSnapshot || sending.awaiting_driver) return;
  if (reply.index() != sending.meta.index()) return;
  // To be asked again for the piece that is on its way means only that a message came twice. To
  // answer it would double the traffic from here on; a lost piece is sent again by Tick.
  if (reply.next_offset() == sending.offset) return;
  sending.offset = reply.next_offset();
  WantChunk(message.from(), progress);
}

}  // namespace once
