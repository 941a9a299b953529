#include "consensus/leadership_invariants.h"

#include <algorithm>

namespace once {
namespace {

std::string Broken(const char* rule, const Raft& member, const std::string& how) {
  return std::string(rule) + ": " + member.name() + " in term " + std::to_string(member.term()) +
         " " + how;
}

bool MostOf(const Membership& members, const std::function<bool(const std::string&)>& counts) {
  const auto many = std::count_if(members.voters().begin(), members.voters().end(), counts);
  return 2 * many > members.voters_size();
}

// As it was before the newest change, as far as the log tells.
const Membership& MembersBefore(const RaftLog& log) {
  const bool told = log.membership_index() > log.snapshot_index();
  return told ? log.MembershipAt(log.membership_index() - 1) : log.membership();
}

bool HasCommittedInTerm(const Raft& member) {
  return member.log().TermAt(member.commit()) == member.term();
}

}  // namespace

std::string LeadershipInvariants::Observe(const Raft& member) {
  Seen& seen = seen_[member.name()];
  if (!member.voted_for().empty()) votes_[member.term()][member.name()] = member.voted_for();
  std::string broken = ObserveStanding(member);
  if (broken.empty() && member.role() == RaftRole::kLeader) broken = ObserveLeader(member, seen);
  seen = {member.role(),          member.term(),
          member.commit(),        member.log().membership_index(),
          member.reads().round(), member.reads().confirmed()};
  return broken;
}

std::string LeadershipInvariants::ObserveStanding(const Raft& member) {
  const bool tracks = !member.progress().empty() || member.transferring();
  if (member.role() != RaftRole::kLeader && tracks)
    return Broken("leader duties", member, "keeps track of others and does not lead");
  const bool voter = IsVoter(member.membership(), member.name()) ||
                     IsVoter(member.log().MembershipAt(member.commit()), member.name());
  if (member.role() != RaftRole::kFollower && !voter)
    return Broken("voters lead", member, "stands or leads and is no voter");
  if (member.transferring() && !IsVoter(member.membership(), member.transfer_to()))
    return Broken("voters lead", member, "hands over to " + member.transfer_to());
  return {};
}

bool LeadershipInvariants::MostVoters(const Raft& member, const Seen& seen, const Counts& counts) {
  const bool changed = member.log().membership_index() != seen.membership;
  return MostOf(member.membership(), counts) ||
         (changed && MostOf(MembersBefore(member.log()), counts));
}

std::string LeadershipInvariants::ObserveLeader(const Raft& member, const Seen& seen) const {
  const auto of = [&member](const std::string& voter) {
    const auto at = member.progress().find(voter);
    return at == member.progress().end() ? nullptr : &at->second;
  };
  const bool led = seen.role == RaftRole::kLeader && seen.term == member.term();
  if (!led) {
    const auto votes = votes_.find(member.term());
    const auto voted = [&](const std::string& voter) {
      const auto vote = votes->second.find(voter);
      return vote != votes->second.end() && vote->second == member.name();
    };
    if (votes == votes_.end() || !MostVoters(member, seen, voted))
      return Broken("election quorum", member, "leads without the votes");
  }
  if (led && member.commit() > seen.commit) {
    const auto stored = [&](const std::string& voter) {
      if (voter == member.name()) return member.log().durable_index() >= member.commit();
      return of(voter) && of(voter)->match() >= member.commit();
    };
    if (!HasCommittedInTerm(member) || !MostVoters(member, seen, stored))
      return Broken("commit quorum", member, "has decided " + std::to_string(member.commit()));
  }
  // Whoever is new among the voters may have been silent for long: so before the change or after.
  const auto heard = [&](const std::string& voter) {
    return voter == member.name() || !of(voter) ||
           of(voter)->silent_ticks <= 2 * member.options().election_ticks;
  };
  if (!MostOf(member.membership(), heard) && !MostOf(MembersBefore(member.log()), heard))
    return Broken("leader quorum", member, "leads and does not hear a majority");
  std::string broken = ObserveReads(member, seen);
  return broken.empty() ? ObserveMembers(member, seen) : broken;
}

std::string LeadershipInvariants::ObserveReads(const Raft& member, const Seen& seen) {
  const std::uint64_t confirmed = member.reads().confirmed();
  if (member.reads().round() > seen.round && !HasCommittedInTerm(member))
    return Broken("first commit", member, "began a round of reads");
  const auto answered = [&](const std::string& voter) {
    const auto at = member.progress().find(voter);
    return voter == member.name() ||
           (at != member.progress().end() && at->second.acked_round >= confirmed);
  };
  if (confirmed > seen.confirmed && !MostVoters(member, seen, answered))
    return Broken("read quorum", member, "has confirmed round " + std::to_string(confirmed));
  return {};
}

std::string LeadershipInvariants::ObserveMembers(const Raft& member, const Seen& seen) {
  const RaftLog& log = member.log();
  const std::uint64_t index = log.membership_index();
  const bool first_of_term = log.TermAt(index - 1) != member.term();
  const bool own = index > seen.membership && log.TermAt(index) == member.term() && !first_of_term;
  if (!own) return {};
  const std::string place = "changed members at " + std::to_string(index);
  if (!HasCommittedInTerm(member)) return Broken("first commit", member, place);
  if (seen.membership > member.commit()) return Broken("one change", member, place);
  for (const std::string& voter : member.membership().voters()) {
    const auto at = member.progress().find(voter);
    if (at == member.progress().end() || IsVoter(MembersBefore(log), voter)) continue;
    const std::uint64_t match = at->second.match();
    if (match < seen.membership || match + member.options().promotion_entries_max + 1 < index)
      return Broken("caught up", member,
                    place + ", and " + voter + " votes and has " + std::to_string(match));
  }
  return {};
}

}  // namespace once
