// A follower's answer to an append or to a finished snapshot.
#include <algorithm>

#include "consensus/raft.h"

namespace once {

void Raft::OnAppendReply(const RaftMessage& message) {
  const auto found = progress_.find(message.from());
  const AppendReply& reply = message.append_reply();
  if (found == progress_.end()) return;
  // An answer to what this leader has not said.
  if (reply.match() > log_.last_index() || reply.read_round() > reads_.round()) return;
  Progress& progress = found->second;
  progress.silent_ticks = 0;
  // Accepted or not, it answered this leader in this term: that is all a read needs.
  progress.acked_round = std::max(progress.acked_round, reply.read_round());

  if (!reply.accepted()) {
    progress.Rejected(reply.rejected_prev(),
                      log_.LastNotAbove(reply.hint_index(), reply.hint_term()));
  } else {
    const bool sending = progress.state() == Progress::State::kSnapshot;
    const bool rose = progress.Accepted(reply.match());
    if (sending && progress.state() != Progress::State::kSnapshot) ReleaseSnapshot(message.from());
    if (message.from() == transfer_to_) SendTimeoutNow();
    if (rose) CommitByCounting();  // the last word: it may end this leadership
  }
  if (role_ == RaftRole::kLeader) ConfirmReads();
}

}  // namespace once
