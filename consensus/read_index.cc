// Linearizable reads without a log entry (section 6.4).
#include <utility>

#include "conflict/mutation.h"
#include "consensus/quorum.h"
#include "consensus/raft.h"

namespace once {

RaftVerdict Raft::ReadIndex(std::string context) {
  if (role_ != RaftRole::kLeader) return Refuse(RaftRefusal::kNotLeader);
  reads_.Add(std::move(context));
  return {RaftRefusal::kNone, name_, commit_, term_};
}

// Before its first commit a new leader does not know how far its predecessor had committed, so
// reads wait for that (in Replicate), then take the commit index and ask whether it is still true.
void Raft::StartReadRound() {
  reads_.StartRound(commit_);
  ConfirmReads();  // a leader that is the only voter has its majority already
}

void Raft::ConfirmReads() {
  std::vector<std::uint64_t> reached;
  for (const std::string& voter : membership().voters()) {
    const auto of = progress_.find(voter);
    if (voter == name_ || MutationOn("read-without-round"))
      reached.push_back(reads_.round());
    else
      reached.push_back(of == progress_.end() ? 0 : of->second.acked_round);
  }
  for (RaftRead& read : reads_.Confirm(MajorityReached(std::move(reached))))
    next_.reads.push_back(std::move(read));
}

}  // namespace once
