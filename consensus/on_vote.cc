// Somebody wants to lead: RequestVote (section 3.4) and its question in advance (section 9.6).
#include "conflict/mutation.h"
#include "consensus/raft.h"

namespace once {

void Raft::OnVoteRequest(const RaftMessage& message) {
  // Without a membership it was never told that it is a voter: it may be one that lost its log.
  if (membership().voters().empty() && !MutationOn("emptied-voter-votes")) return;
  const VoteRequest& request = message.vote_request();
  const bool granted = Grants(request, message.from());
  if (granted && !request.pre_vote()) {
    voted_for_ = message.from();
    ResetElectionTimer();
  }
  AnswerVote(message, granted);
}

bool Raft::Grants(const VoteRequest& request, const std::string& candidate) const {
  if (!log_.IsCoveredBy(request.last_index(), request.last_term())) return false;
  if (request.pre_vote()) return request.for_term() > term_ && !HearsOtherLeader(candidate);
  if (voted_for_.empty()) return leader_.empty();
  return voted_for_ == candidate;
}

void Raft::AnswerVote(const RaftMessage& message, bool granted) {
  // A vote is a promise: it is on disk before it is given.
  auto& outbox = MutationOn("vote-not-durable") ? next_.send_at_once : next_.send_when_durable;
  RaftMessage& answer = Say(outbox, message.from());
  if (MutationOn("emptied-voter-votes")) answer.set_from(message.to());
  VoteReply& reply = *answer.mutable_vote_reply();
  reply.set_for_term(message.vote_request().for_term());
  reply.set_pre_vote(message.vote_request().pre_vote());
  reply.set_granted(granted);
}

}  // namespace once
