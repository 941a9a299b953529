#include "consensus/raft_log.h"

#include <algorithm>
#include <utility>

#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "replica/env/check.h"

namespace once {

RaftLog::RaftLog(SnapshotMeta snapshot, std::vector<RaftEntry> entries) {
  Restore(snapshot);
  for (RaftEntry& entry : entries) Append(std::move(entry));
  written_ = durable_ = last_index();
}

std::uint64_t RaftLog::last_term() const {
  return entries_.empty() ? snapshot_.term() : entries_.back()->term();
}

std::optional<std::uint64_t> RaftLog::TermAt(std::uint64_t index) const {
  if (index == snapshot_.index()) return snapshot_.term();
  if (index < snapshot_.index() || index > last_index()) return std::nullopt;
  return At(index)->term();
}

const RaftEntryPtr& RaftLog::At(std::uint64_t index) const {
  Check(index > snapshot_.index() && index <= last_index(), "the entry is in the log");
  return entries_[index - snapshot_.index() - 1];
}

const Membership& RaftLog::MembershipAt(std::uint64_t index) const {
  const auto after = memberships_.upper_bound(index);
  Check(after != memberships_.begin(), "the membership of that index is known");
  return std::prev(after)->second;
}

bool RaftLog::IsCoveredBy(std::uint64_t last_index, std::uint64_t last_term) const {
  if (last_term != this->last_term()) return last_term > this->last_term();
  return last_index >= this->last_index();
}

std::uint64_t RaftLog::LastNotAbove(std::uint64_t index, std::uint64_t term) const {
  index = std::min(index, last_index());
  while (index > snapshot_.index() && At(index)->term() > term) --index;
  return index;
}

void RaftLog::Append(RaftEntry entry) {
  Check(entry.index() == last_index() + 1, "the log has no gaps");
  Check(entry.term() >= last_term(), "terms never fall along the log");
  if (entry.kind() == MEMBERSHIP) memberships_[entry.index()] = entry.membership();
  bytes_ += entry.data().size();
  entries_.push_back(std::make_shared<const RaftEntry>(std::move(entry)));
}

void RaftLog::TruncateFrom(std::uint64_t index) {
  Check(index > snapshot_.index(), "what is compacted was committed");
  if (index > last_index()) return;
  Reached("a divergent tail was cut off");
  if (membership_index() >= index) Reached("a change of members was cut off with a divergent tail");
  for (; last_index() >= index; entries_.pop_back()) bytes_ -= entries_.back()->data().size();
  memberships_.erase(memberships_.lower_bound(index), memberships_.end());
  written_ = std::min(written_, index - 1);
  durable_ = std::min(durable_, index - 1);
  for (Writing& writing : writing_) writing.last_index = std::min(writing.last_index, index - 1);
}

const SnapshotMeta& RaftLog::Compact(std::uint64_t index) {
  Check(index <= durable_, "only what is on disk is compacted");
  SnapshotMeta meta = MetaAt(index);
  for (std::uint64_t count = index - snapshot_.index(); count > 0; --count) {
    bytes_ -= entries_.front()->data().size();
    entries_.pop_front();
  }
  memberships_.erase(memberships_.begin(), memberships_.upper_bound(index));
  memberships_[index] = meta.membership();
  snapshot_ = std::move(meta);
  return snapshot_;
}

void RaftLog::Restore(const SnapshotMeta& snapshot) {
  snapshot_ = snapshot;
  entries_.clear();
  bytes_ = 0;
  const bool kept = !memberships_.empty() && MutationOn("snapshot-without-members");
  memberships_ = {{snapshot.index(), kept ? membership() : snapshot.membership()}};
  written_ = durable_ = snapshot.index();
  for (Writing& writing : writing_) writing.last_index = 0;
}

SnapshotMeta RaftLog::MetaAt(std::uint64_t index) const {
  const auto term = TermAt(index);
  Check(term.has_value(), "a snapshot ends where the log is known");
  SnapshotMeta meta;
  meta.set_format(1);
  meta.set_index(index);
  meta.set_term(*term);
  *meta.mutable_membership() = MembershipAt(index);
  return meta;
}

std::vector<RaftEntryPtr> RaftLog::TakeUnwritten(std::uint64_t number) {
  std::vector<RaftEntryPtr> unwritten;
  for (std::uint64_t index = written_ + 1; index <= last_index(); ++index)
    unwritten.push_back(At(index));
  if (unwritten.empty()) return unwritten;
  written_ = last_index();
  writing_.push_back({number, written_});
  return unwritten;
}

void RaftLog::Persisted(std::uint64_t number) {
  while (!writing_.empty() && writing_.front().number <= number) {
    durable_ = std::max(durable_, writing_.front().last_index);
    writing_.pop_front();
  }
}

}  // namespace once
