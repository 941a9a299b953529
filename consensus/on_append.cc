// The leader's log arrives: AppendEntries (section 3.5), which is its heartbeat too.
#include <algorithm>

#include "conflict/mutation.h"
#include "consensus/raft.h"
#include "replica/env/check.h"

namespace once {

void Raft::OnAppend(const RaftMessage& message) {
  FollowLeader(message.from());
  const AppendRequest& append = message.append();
  everywhere_ = append.everywhere();
  // What is committed here is in every later leader's log, so it needs no comparison; it may be
  // compacted and not comparable any more.
  const bool fits =
      append.prev_index() <= commit_ || log_.TermAt(append.prev_index()) == append.prev_term();
  const bool unseen = MutationOn("prev-term-ignored") && append.prev_index() <= log_.last_index();
  if (!fits && !unseen) return RejectAppend(message);

  StoreEntries(append);
  const std::uint64_t sent =
      append.prev_index() + static_cast<std::uint64_t>(append.entries_size());
  const std::uint64_t match = std::max(sent, commit_);
  AcknowledgeUpTo(match, message);
  AdvanceCommit(
      std::min(append.commit(), MutationOn("commit-beyond-match") ? log_.last_index() : match));
}

void Raft::FollowLeader(const std::string& leader) {
  Check(role_ != RaftRole::kLeader, "a term has one leader");
  if (role_ != RaftRole::kFollower || leader_ != leader) BecomeFollower(term_, leader);
  ticks_ = 0;
}

// An append may be old, and repeat what is long stored and followed by more. So only a real
// conflict cuts the log, not the end of the message.
void Raft::StoreEntries(const AppendRequest& append) {
  for (const RaftEntry& entry : append.entries()) {
    if (entry.index() <= commit_ || log_.TermAt(entry.index()) == entry.term()) continue;
    if (entry.index() <= log_.last_index()) {
      if (MutationOn("skipped-truncation")) continue;
      log_.TruncateFrom(entry.index());
    }
    log_.Append(entry);
  }
}

void Raft::AcknowledgeUpTo(std::uint64_t match, const RaftMessage& message) {
  // What is acknowledged is on disk: a leader counts it.
  auto& outbox =
      MutationOn("append-acknowledged-early") ? next_.send_at_once : next_.send_when_durable;
  AppendReply& reply = *Say(outbox, message.from()).mutable_append_reply();
  reply.set_accepted(true);
  reply.set_match(match);
  reply.set_read_round(message.append().read_round());
}

// The hint tells the leader in one trip how far to go back over a whole term.
void Raft::RejectAppend(const RaftMessage& message) {
  const AppendRequest& append = message.append();
  AppendReply& reply = *Say(next_.send_when_durable, message.from()).mutable_append_reply();
  reply.set_rejected_prev(append.prev_index());
  reply.set_hint_index(log_.LastNotAbove(append.prev_index(), append.prev_term()));
  reply.set_hint_term(log_.TermAt(reply.hint_index()).value_or(0));
  reply.set_read_round(append.read_round());
}

}  // namespace once
