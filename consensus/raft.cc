#include "consensus/raft.h"

#include <algorithm>
#include <utility>

#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "consensus/quorum.h"
#include "replica/env/check.h"

namespace once {

RaftState BootstrapState(Membership founders) {
  std::sort(founders.mutable_voters()->begin(), founders.mutable_voters()->end());
  std::sort(founders.mutable_learners()->begin(), founders.mutable_learners()->end());
  RaftState state;
  state.hard_state.set_format(1);
  state.snapshot.set_format(1);
  *state.snapshot.mutable_membership() = std::move(founders);
  return state;
}

Raft::Raft(std::string name, RaftOptions options, RaftState state, Random& random)
    : name_(std::move(name)),
      options_(options),
      random_(random),
      term_(state.hard_state.term()),
      voted_for_(state.hard_state.voted_for()),
      log_(std::move(state.snapshot), std::move(state.entries)),
      commit_(std::max(state.hard_state.commit(), state.applied)),
      handed_out_(state.applied),
      applied_(state.applied),
      durable_term_(term_),
      handed_hard_state_(std::move(state.hard_state)) {
  Check(applied_ >= log_.snapshot_index(), "the state machine holds the snapshot");
  Check(commit_ <= log_.last_index(), "what was committed is in the log");
  ResetElectionTimer();
}

void Raft::Step(const RaftMessage& message) {
  if (Addressed(message) && AdoptTerm(message)) Dispatch(message);
}

bool Raft::Addressed(const RaftMessage& message) const {
  if (message.to() != name_ && !MutationOn("emptied-voter-votes")) return false;
  // A reply counts by its sender's name, and only members have one.
  const bool reply =
      message.has_vote_reply() || message.has_append_reply() || message.has_snapshot_reply();
  return !reply || IsMember(membership(), message.from());
}

// Brings the member into the message's term, or deals with a message of another term. True if it is
// of the current term now.
bool Raft::AdoptTerm(const RaftMessage& message) {
  const bool leads = message.has_append() || message.has_snapshot_chunk();
  if (message.term() < term_) {
    // Its sender would otherwise never learn that its term is over. The answer says no more than
    // that: who leads again in a later term would take it for an answer to what it says now.
    if (leads) Say(next_.send_when_durable, message.from()).mutable_append_reply();
    if (message.has_vote_request()) AnswerVote(message, false);
    return false;
  }
  if (message.term() == term_) return true;
  // While a leader is heard, nobody else is helped to depose it (section 6.2), unless the leader
  // itself asked for that.
  if (message.has_vote_request() && HearsOtherLeader(message.from()) &&
      !message.vote_request().transfer())
    return false;
  BecomeFollower(message.term(), leads ? message.from() : "");
  return true;
}

void Raft::Dispatch(const RaftMessage& message) {
  switch (message.body_case()) {
    case RaftMessage::kVoteRequest:
      return OnVoteRequest(message);
    case RaftMessage::kVoteReply:
      return OnVoteReply(message);
    case RaftMessage::kAppend:
      return OnAppend(message);
    case RaftMessage::kAppendReply:
      return OnAppendReply(message);
    case RaftMessage::kSnapshotChunk:
      return OnSnapshotChunk(message);
    case RaftMessage::kSnapshotReply:
      return OnSnapshotReply(message);
    case RaftMessage::kTimeoutNow:
      return OnTimeoutNow(message);
    case RaftMessage::BODY_NOT_SET:
      return;  // from a newer member
  }
}

void Raft::BecomeFollower(std::uint64_t term, const std::string& leader) {
  if (term > term_) {
    term_ = term;
    voted_for_.clear();
  }
  role_ = RaftRole::kFollower;
  leader_ = leader;
  votes_.clear();
  ResetElectionTimer();

  for (const auto& [member, progress] : progress_)
    if (progress.state() == Progress::State::kSnapshot) ReleaseSnapshot(member);
  progress_.clear();
  transfer_to_.clear();
  giving_way_ticks_.reset();
  for (RaftRead& read : reads_.Abandon()) next_.reads.push_back(std::move(read));
}

void Raft::ResetElectionTimer() {
  ticks_ = 0;
  timeout_ticks_ =
      options_.election_ticks + static_cast<std::uint32_t>(random_.Below(options_.election_ticks));
}

// A leader that asks for votes leads no more, however late its last words still arrive.
bool Raft::HearsOtherLeader(const std::string& candidate) const {
  if (role_ == RaftRole::kLeader) return true;
  return !leader_.empty() && leader_ != candidate && ticks_ < options_.election_ticks;
}

bool Raft::CommittedInTerm() const {
  return log_.TermAt(commit_) == term_;
}

RaftMessage& Raft::Say(std::vector<RaftMessage>& outbox, const std::string& to) {
  RaftMessage& message = outbox.emplace_back();
  message.set_format(1);
  message.set_from(name_);
  message.set_to(to);
  message.set_term(term_);
  return message;
}

void Raft::AdvanceCommit(std::uint64_t index) {
  if (index <= commit_) return;
  Check(index <= log_.last_index(), "what is committed is in the log");
  if (role_ == RaftRole::kLeader)
    for (std::uint64_t i = commit_ + 1; i <= index; ++i)
      uncommitted_bytes_ -= log_.At(i)->data().size();
  commit_ = index;
  if (role_ == RaftRole::kLeader && commit_ >= log_.membership_index() &&
      !IsVoter(membership(), name_)) {
    Reached("a leader that was removed stepped down");
    BecomeFollower(term_, "");  // it removed itself, and that is decided now (section 4.2.2)
  }
}

// An entry of an earlier term is committed only by one of this term above it: that a majority has
// it does not keep a later leader from replacing it (section 3.6.2, figure 3.7).
void Raft::CommitByCounting() {
  std::vector<std::uint64_t> reached;
  const bool changing = log_.membership_index() > commit_;
  const Membership& members =
      changing && MutationOn("decided-by-old-members") ? log_.MembershipAt(commit_) : membership();
  for (const std::string& voter : members.voters()) {
    const auto of = progress_.find(voter);
    if (voter == name_)
      reached.push_back(MutationOn("self-counted-early") ? log_.last_index()
                                                         : log_.durable_index());
    else
      reached.push_back(of == progress_.end() ? 0 : of->second.match());
  }
  const std::uint64_t index = MajorityReached(std::move(reached));
  if (index <= commit_) return;
  if (log_.TermAt(index) == term_ || MutationOn("old-term-commit")) AdvanceCommit(index);
}

}  // namespace once
