// Handing leadership over (section 3.10).
#include "consensus/raft.h"

namespace once {

RaftVerdict Raft::TransferLeadership(const std::string& to) {
  if (role_ != RaftRole::kLeader) return Refuse(RaftRefusal::kNotLeader);
  if (transferring()) return Refuse(RaftRefusal::kTransferring);
  if (to == name_ || !IsVoter(membership(), to)) return Refuse(RaftRefusal::kInvalid);
  transfer_to_ = to;
  transfer_ticks_ = 0;
  SendTimeoutNow();
  return {RaftRefusal::kNone, name_, log_.last_index(), term_};
}

// As soon as the successor has the whole log; called again with each of its acknowledgements.
void Raft::SendTimeoutNow() {
  if (progress_.at(transfer_to_).match() < log_.last_index()) return;
  Say(next_.send_at_once, transfer_to_).mutable_timeout_now();
}

void Raft::OnTimeoutNow(const RaftMessage& message) {
  if (role_ == RaftRole::kFollower && message.from() == leader_ && MayCampaign()) Campaign(true);
}

}  // namespace once
