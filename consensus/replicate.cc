// The leader's side of the log: whatever a follower lacks is sent when work is taken, so that all
// that happened since the last time goes together.
#include <algorithm>
#include <utility>

#include "conflict/mutation.h"
#include "consensus/raft.h"
#include "replica/env/check.h"

namespace once {

void Raft::TellCommit(std::uint64_t index) {
  tell_commit_ = std::max(tell_commit_, index);
}

// In a snapshot the follower cannot use the commit index; in a probe it may not reach that far.
bool Raft::has_untold_commit() const {
  return std::any_of(progress_.begin(), progress_.end(), [this](const auto& of) {
    return of.second.state() == Progress::State::kReplicate && of.second.told_commit < commit_;
  });
}

void Raft::Replicate() {
  if (reads_.HasWaiting() && (CommittedInTerm() || MutationOn("read-before-first-commit")))
    StartReadRound();
  for (auto& [to, progress] : progress_) ReplicateTo(to, progress);
}

void Raft::ReplicateTo(const std::string& to, Progress& progress) {
  if (progress.state() != Progress::State::kSnapshot && progress.next() <= log_.snapshot_index()) {
    progress.StartSnapshot();
    if (IsHeard(progress)) WantChunk(to, progress);
  }
  std::uint64_t from = progress.next();
  while (from <= log_.last_index() &&
         progress.MaySendEntries(options_.window_bytes_max, options_.window_messages_max))
    from = SendEntries(to, progress);

  const std::uint64_t news = options_.commit_told_late ? std::min(commit_, tell_commit_) : commit_;
  const bool commit_news =
      progress.state() == Progress::State::kReplicate && progress.told_commit < news;
  if (progress.heartbeat_due || commit_news || progress.told_round < reads_.round())
    SayAppend(to, progress);
}

// Returns the index after the last one sent.
std::uint64_t Raft::SendEntries(const std::string& to, Progress& progress) {
  AppendRequest& append = SayAppend(to, progress);
  std::uint64_t bytes = 0;
  std::uint64_t index = progress.next();
  while (index <= log_.last_index()) {
    const RaftEntry& entry = *log_.At(index);
    if (append.entries_size() > 0 && bytes + entry.data().size() > options_.append_bytes_max) break;
    bytes += entry.data().size();
    *append.add_entries() = entry;
    ++index;
  }
  progress.SentEntries(index - 1, bytes);
  return index;
}

// An append, still without entries, at the place that is next. A follower that is in a snapshot
// gets one that fits every log, at 0.
AppendRequest& Raft::SayAppend(const std::string& to, Progress& progress) {
  const std::uint64_t prev =
      progress.state() == Progress::State::kSnapshot ? 0 : progress.next() - 1;
  AppendRequest& append = *Say(next_.send_at_once, to).mutable_append();
  append.set_prev_index(prev);
  append.set_prev_term(log_.TermAt(prev).value_or(0));
  append.set_commit(commit_);
  append.set_read_round(reads_.round());
  append.set_everywhere(everywhere());
  progress.heartbeat_due = false;
  progress.told_commit = commit_;
  progress.told_round = reads_.round();
  return append;
}

}  // namespace once
