// New entries of a leader.
#include <utility>

#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "consensus/raft.h"

namespace once {

RaftVerdict Raft::Propose(std::string data) {
  if (role_ != RaftRole::kLeader) return Refuse(RaftRefusal::kNotLeader);
  if (transferring()) return Refuse(RaftRefusal::kTransferring);
  // A single large one is let through when nothing else is in progress.
  if (uncommitted_bytes_ > 0 && uncommitted_bytes_ + data.size() > options_.uncommitted_bytes_max)
    return Refuse(RaftRefusal::kUncommitted);
  RaftEntry entry;
  entry.set_data(std::move(data));
  return AppendEntry(std::move(entry));
}

RaftVerdict Raft::ProposeMembership(const MembershipChange& change) {
  if (role_ != RaftRole::kLeader) return Refuse(RaftRefusal::kNotLeader);
  if (transferring()) return Refuse(RaftRefusal::kTransferring);
  // Majorities of consecutive memberships overlap, those of others need not. So the last change is
  // decided before the next begins, and a new leader first commits in its own term, or it might
  // build on a membership that another leader's change has overtaken.
  const bool changing = log_.membership_index() > commit_;
  const bool early = !CommittedInTerm();
  if (early) Reached("a membership change was asked of a leader before its term had committed");
  const bool pending = changing || (early && !MutationOn("changed-before-first-commit"));
  if (pending && !MutationOn("membership-without-overlap"))
    return Refuse(RaftRefusal::kChangePending);
  auto next = Changed(membership(), change);
  if (!next) return Refuse(RaftRefusal::kInvalid);
  if (change.kind == MembershipChange::Kind::kPromote && !HasCaughtUp(change.member) &&
      !MutationOn("promoted-behind"))
    return Refuse(RaftRefusal::kNotCaughtUp);
  RaftEntry entry;
  entry.set_kind(MEMBERSHIP);
  *entry.mutable_membership() = std::move(*next);
  RaftVerdict verdict = AppendEntry(std::move(entry));
  FollowMembership();
  return verdict;
}

// Beyond being near enough, it must know from its log that it is a member: until then it would keep
// silent when asked for its vote, and a group that needs that vote would stand still.
bool Raft::HasCaughtUp(const std::string& learner) const {
  const auto of = progress_.find(learner);
  if (of == progress_.end()) return false;
  const std::uint64_t match = of->second.match();
  return match >= log_.membership_index() &&
         match + options_.promotion_entries_max >= log_.last_index();
}

// Followers and the disk get it with the next TakeWork.
RaftVerdict Raft::AppendEntry(RaftEntry entry) {
  entry.set_index(log_.last_index() + 1);
  entry.set_term(term_);
  uncommitted_bytes_ += entry.data().size();
  log_.Append(std::move(entry));
  return {RaftRefusal::kNone, name_, log_.last_index(), term_};
}

RaftVerdict Raft::Refuse(RaftRefusal refusal) const {
  return {refusal, leader_, 0, 0};
}

}  // namespace once
