// Handing leadership over (section 3.10).
#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "consensus/raft.h"

namespace once {

RaftVerdict Raft::TransferLeadership(const std::string& to) {
  if (role_ != RaftRole::kLeader) return Refuse(RaftRefusal::kNotLeader);
  if (transferring()) return Refuse(RaftRefusal::kTransferring);
  const bool learner = IsLearner(membership(), to);
  if (learner) Reached("leadership was to be handed to a learner");
  const bool may_lead = IsVoter(membership(), to) || (learner && MutationOn("transfer-to-learner"));
  if (to == name_ || !may_lead) return Refuse(RaftRefusal::kInvalid);
  transfer_to_ = to;
  transfer_ticks_ = 0;
  SendTimeoutNow();
  return {RaftRefusal::kNone, name_, log_.last_index(), term_};
}

void Raft::GiveWay() {
  if (role_ != RaftRole::kLeader || giving_way_ticks_) return;
  if (membership().voters_size() < 2) return;
  giving_way_ticks_ = 0;
  asked_to_lead_.clear();
  if (!transferring()) TransferToNext();
}

// Of equals any one: two members that must not lead would otherwise hand over to each other for
// ever.
void Raft::TransferToNext() {
  const auto& voters = membership().voters();
  const int first = static_cast<int>(random_.Below(static_cast<std::uint64_t>(voters.size())));
  const std::string* best = nullptr;
  for (int i = 0; i < voters.size(); ++i) {
    const std::string& voter = voters[(first + i) % voters.size()];
    if (voter == name_ || asked_to_lead_.count(voter) || !IsHeard(progress_.at(voter))) continue;
    if (!best || progress_.at(voter).match() > progress_.at(*best).match()) best = &voter;
  }
  if (!best) return;
  asked_to_lead_.insert(*best);
  TransferLeadership(*best);
}

void Raft::TickTransfer() {
  if (transferring() && ++transfer_ticks_ >= options_.election_ticks) transfer_to_.clear();
  if (!giving_way_ticks_) return;
  if (++*giving_way_ticks_ >= 2 * options_.election_ticks) return BecomeFollower(term_, "");
  if (!transferring()) TransferToNext();
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
