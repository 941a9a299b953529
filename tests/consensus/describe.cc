#include <sstream>

#include "tests/consensus/group.h"

namespace once {
namespace {

std::string Place(std::uint64_t index, std::uint64_t term) {
  return std::to_string(index) + "." + std::to_string(term);
}

void DescribeVote(std::ostream& out, const VoteRequest& request) {
  out << (request.pre_vote() ? "would you vote" : "vote") << (request.transfer() ? " now" : "")
      << " for me in " << request.for_term() << ", my log ends at "
      << Place(request.last_index(), request.last_term());
}

void DescribeAppend(std::ostream& out, const AppendRequest& append) {
  out << "append after " << Place(append.prev_index(), append.prev_term()) << ":";
  for (const RaftEntry& entry : append.entries()) out << " " << Describe(entry);
  out << " commit " << append.commit();
  if (append.read_round() > 0) out << " round " << append.read_round();
}

void DescribeReply(std::ostream& out, const AppendReply& reply) {
  if (reply.accepted())
    out << "match " << reply.match();
  else if (reply.rejected_prev() == 0)
    out << "your term is over";
  else
    out << "no match at " << reply.rejected_prev() << ", try "
        << Place(reply.hint_index(), reply.hint_term());
  if (reply.read_round() > 0) out << " round " << reply.read_round();
}

}  // namespace

std::string RegionOf(const std::string& name) {
  return name.substr(0, name.find('/'));
}

std::string Describe(const Membership& membership) {
  std::string text = "{";
  for (const std::string& name : membership.voters()) text += " " + name;
  for (const std::string& name : membership.learners()) text += " (" + name + ")";
  return text + " }";
}

std::string Describe(const RaftEntry& entry) {
  std::string text = Place(entry.index(), entry.term());
  if (entry.kind() == NO_OP) return text;
  return text + "=" + (entry.kind() == MEMBERSHIP ? Describe(entry.membership()) : entry.data());
}

std::string Describe(const RaftMessage& message) {
  std::ostringstream out;
  out << message.from() << ">" << message.to() << " [" << message.term() << "] ";
  if (message.has_vote_request()) DescribeVote(out, message.vote_request());
  if (message.has_vote_reply())
    out << (message.vote_reply().granted() ? "yes" : "no") << " for "
        << message.vote_reply().for_term();
  if (message.has_append()) DescribeAppend(out, message.append());
  if (message.has_append_reply()) DescribeReply(out, message.append_reply());
  if (message.has_snapshot_chunk())
    out << "snapshot " << message.snapshot_chunk().meta().index() << " from byte "
        << message.snapshot_chunk().offset() << (message.snapshot_chunk().last() ? ", end" : "");
  if (message.has_snapshot_reply())
    out << "snapshot " << message.snapshot_reply().index() << " go on at "
        << message.snapshot_reply().next_offset();
  if (message.has_timeout_now()) out << "your turn";
  return out.str();
}

std::string Describe(RaftRefusal refusal) {
  switch (refusal) {
    case RaftRefusal::kNone:
      return "accepted";
    case RaftRefusal::kNotLeader:
      return "not the leader";
    case RaftRefusal::kTransferring:
      return "transferring";
    case RaftRefusal::kUncommitted:
      return "too much uncommitted";
    case RaftRefusal::kChangePending:
      return "a change is pending";
    case RaftRefusal::kNotCaughtUp:
      return "not caught up";
    case RaftRefusal::kInvalid:
      return "invalid";
  }
  return "";
}

}  // namespace once
