// A voter's answer to a candidate.
#include "consensus/raft.h"

namespace once {

void Raft::OnVoteReply(const RaftMessage& message) {
  const VoteReply& reply = message.vote_reply();
  const bool awaited = reply.pre_vote()
                           ? role_ == RaftRole::kPreCandidate && reply.for_term() == term_ + 1
                           : role_ == RaftRole::kCandidate && reply.for_term() == term_;
  if (!awaited) return;
  votes_.emplace(message.from(), reply.granted());
  CountVotes();
}

}  // namespace once
