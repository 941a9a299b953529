// Standing for election, and winning it.
#include <utility>

#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "consensus/quorum.h"
#include "consensus/raft.h"

namespace once {

// A voter that is being removed still stands until that is decided: its log may be the only one
// that can win (section 4.2.2). So the newest membership counts, and so does the committed one.
bool Raft::MayCampaign() const {
  return IsVoter(membership(), name_) || IsVoter(log_.MembershipAt(commit_), name_);
}

// Would a majority vote for me? Only then is the term raised, so that a member that was cut off
// comes back with the term it left with (section 9.6).
void Raft::CampaignFirstAsking() {
  BecomeFollower(term_, "");
  role_ = RaftRole::kPreCandidate;
  AskForVotes(true, false);
  votes_[name_] = true;
  CountVotes();
}

void Raft::Campaign(bool transfer) {
  BecomeFollower(term_ + 1, "");
  role_ = RaftRole::kCandidate;
  voted_for_ = name_;
  AskForVotes(false, transfer);
  // Its own vote is counted in Persisted, when it is as good as anybody's.
}

void Raft::AskForVotes(bool pre_vote, bool transfer) {
  for (const std::string& voter : membership().voters()) {
    if (voter == name_) continue;
    VoteRequest& request = *Say(next_.send_when_durable, voter).mutable_vote_request();
    request.set_for_term(pre_vote ? term_ + 1 : term_);
    request.set_pre_vote(pre_vote);
    request.set_transfer(transfer);
    request.set_last_index(log_.last_index());
    request.set_last_term(log_.last_term());
  }
}

void Raft::CountVotes() {
  std::size_t yes = 0, no = 0;
  for (const std::string& voter : membership().voters()) {
    const auto vote = votes_.find(voter);
    if (vote != votes_.end()) ++(vote->second ? yes : no);
  }
  switch (OutcomeOf(static_cast<std::size_t>(membership().voters_size()), yes, no)) {
    case VoteOutcome::kOpen:
      return;
    case VoteOutcome::kLost:
      return BecomeFollower(term_, "");
    case VoteOutcome::kWon:
      return role_ == RaftRole::kPreCandidate ? Campaign(false) : BecomeLeader();
  }
}

void Raft::BecomeLeader() {
  role_ = RaftRole::kLeader;
  leader_ = name_;
  votes_.clear();
  ticks_ = 0;
  heartbeat_elapsed_ = 0;
  awaited_ = 0;
  uncommitted_bytes_ = 0;
  for (std::uint64_t i = commit_ + 1; i <= log_.last_index(); ++i)
    uncommitted_bytes_ += log_.At(i)->data().size();
  FollowMembership();
  // What earlier leaders left can be committed, and reads confirmed, only by an entry of this term.
  AppendEntry(FirstOfTerm());
}

// Founders know the membership from their founding. A voter that was not founded would get the log
// without it, and never vote: so the first entry of all says it.
RaftEntry Raft::FirstOfTerm() const {
  RaftEntry entry;
  entry.set_kind(NO_OP);
  if (log_.membership_index() > 0 || MutationOn("founders-not-in-log")) return entry;
  entry.set_kind(MEMBERSHIP);
  *entry.mutable_membership() = membership();
  return entry;
}

// Progress is kept of all members but itself.
void Raft::FollowMembership() {
  for (auto at = progress_.begin(); at != progress_.end();) {
    if (IsMember(membership(), at->first)) {
      ++at;
      continue;
    }
    if (at->second.state() == Progress::State::kSnapshot) {
      Reached("a member was removed while it was sent a snapshot");
      ReleaseSnapshot(at->first);
    }
    at = progress_.erase(at);
  }
  for (const auto* members : {&membership().voters(), &membership().learners()})
    for (const std::string& member : *members)
      if (member != name_) progress_.try_emplace(member, log_.last_index());
}

}  // namespace once
