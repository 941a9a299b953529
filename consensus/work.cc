// What a portion of work is made of, and what follows when it is done.
#include <algorithm>
#include <utility>

#include "consensus/raft.h"
#include "replica/env/check.h"

namespace once {
namespace {

bool IsEmpty(const RaftWork& work) {
  return work.stage.empty() && !work.install && work.entries.empty() && !work.hard_state &&
         !work.compact && work.send_at_once.empty() && work.send_when_durable.empty() &&
         work.apply.empty() && work.reads.empty() && work.chunks_wanted.empty() &&
         work.snapshots_released.empty();
}

}  // namespace

std::optional<RaftWork> Raft::TakeWork() {
  if (role_ == RaftRole::kLeader) Replicate();
  const std::uint64_t number = last_number_ + 1;
  next_.entries = log_.TakeUnwritten(number);
  HandOutHardState();
  HandOutCommitted();
  if (IsEmpty(next_)) return std::nullopt;

  next_.number = last_number_ = number;
  next_.must_sync = next_.must_sync || next_.install || !next_.entries.empty();
  unpersisted_.push_back({number, term_});
  return std::exchange(next_, {});
}

void Raft::HandOutHardState() {
  HardState state;
  state.set_format(1);
  state.set_term(term_);
  state.set_voted_for(voted_for_);
  state.set_commit(commit_);
  const bool promised =
      state.term() != handed_hard_state_.term() || voted_for_ != handed_hard_state_.voted_for();
  if (!promised && commit_ == handed_hard_state_.commit()) return;
  next_.must_sync = promised;
  next_.hard_state = handed_hard_state_ = std::move(state);
}

void Raft::HandOutCommitted() {
  const std::uint64_t until = std::min(commit_, log_.durable_index());
  while (handed_out_ < until) next_.apply.push_back(log_.At(++handed_out_));
}

void Raft::Persisted(std::uint64_t number) {
  while (!unpersisted_.empty() && unpersisted_.front().number <= number) {
    durable_term_ = unpersisted_.front().term;
    unpersisted_.pop_front();
  }
  log_.Persisted(number);
  if (role_ == RaftRole::kLeader) CommitByCounting();
  if (role_ == RaftRole::kCandidate && durable_term_ == term_) {
    votes_[name_] = true;
    CountVotes();
  }
}

void Raft::Applied(std::uint64_t index) {
  Check(index <= handed_out_, "only what was handed out is applied");
  applied_ = std::max(applied_, index);
}

}  // namespace once
