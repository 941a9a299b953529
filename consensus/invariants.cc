#include "consensus/invariants.h"

#include <algorithm>

namespace once {
namespace {

std::string At(const char* rule, const Raft& member, std::uint64_t place) {
  return std::string(rule) + ": " + member.name() + " in term " + std::to_string(member.term()) +
         ", at " + std::to_string(place);
}

bool SameEntry(const RaftEntry& a, const RaftEntry& b) {
  return &a == &b || (a.kind() == b.kind() && a.data() == b.data() &&
                      a.membership().SerializeAsString() == b.membership().SerializeAsString());
}

}  // namespace

std::string RaftInvariants::Observe(const Raft& member) {
  Seen& seen = seen_[member.name()];
  std::string broken = ObserveSince(member, seen);
  if (broken.empty()) broken = ObserveElection(member);
  if (broken.empty()) broken = ObserveLog(member, seen);
  if (broken.empty()) broken = ObserveSnapshot(member, seen);
  if (broken.empty()) broken = ObserveCommitted(member, seen);
  if (broken.empty()) broken = ObserveCompleteness(member, seen);
  if (broken.empty()) broken = leadership_.Observe(member);
  seen.role = member.role();
  seen.term = member.term();
  seen.commit = member.commit();
  return broken;
}

std::string RaftInvariants::ObserveSince(const Raft& member, const Seen& seen) const {
  if (member.term() < seen.term) return At("the term fell", member, seen.term);
  if (member.commit() < seen.commit) return At("the commit index fell", member, seen.commit);
  if (member.commit() > member.log().last_index())
    return At("committed beyond the log", member, member.commit());
  return {};
}

std::string RaftInvariants::ObserveElection(const Raft& member) {
  if (member.role() != RaftRole::kLeader) return {};
  const auto [leader, first] = leaders_.try_emplace(member.term(), member.name());
  if (first || leader->second == member.name()) return {};
  return At("election safety", member, member.term()) + ", led by " + leader->second;
}

// Entries are shared and immutable, so those that are the same objects as before need no look.
std::string RaftInvariants::ObserveLog(const Raft& member, Seen& seen) {
  const RaftLog& log = member.log();
  const std::uint64_t first = log.snapshot_index() + 1;
  const bool led = seen.role == RaftRole::kLeader && member.role() == RaftRole::kLeader &&
                   seen.term == member.term();
  seen.log.erase(seen.log.begin(), seen.log.lower_bound(first));
  std::uint64_t same = log.last_index();
  while (same >= first) {
    const auto before = seen.log.find(same);
    if (before != seen.log.end() && before->second == log.At(same)) break;
    --same;
  }
  const auto stale = seen.log.upper_bound(same);
  if (led && stale != seen.log.end()) return At("leader append-only", member, stale->first);
  seen.log.erase(stale, seen.log.end());
  for (std::uint64_t index = same + 1; index <= log.last_index(); ++index) {
    if (std::string broken = ObserveEntry(member, index); !broken.empty()) return broken;
    seen.log[index] = log.At(index);
  }
  return {};
}

std::string RaftInvariants::ObserveEntry(const Raft& member, std::uint64_t index) {
  const RaftEntryPtr& entry = member.log().At(index);
  const std::uint64_t prev_term = *member.log().TermAt(index - 1);
  const auto [known, first] =
      entries_.try_emplace(std::make_pair(index, entry->term()), Known{entry, prev_term});
  if (known->second.prev_term != prev_term || !SameEntry(*known->second.entry, *entry))
    return At("log matching", member, index);
  // One that joined with nothing does not know the membership before the first in its log.
  const Membership& before = member.log().MembershipAt(index - 1);
  if (entry->kind() == MEMBERSHIP && !before.voters().empty() &&
      !MajoritiesOverlap(entry->membership(), before))
    return At("configuration overlap", member, index);
  return {};
}

// Whoever cuts its log there says what it knew, whoever is sent it says what it was told.
std::string RaftInvariants::ObserveSnapshot(const Raft& member, Seen& seen) {
  const std::uint64_t index = member.log().snapshot_index();
  if (index == 0 || index == seen.snapshot) return {};
  seen.snapshot = index;
  const std::string membership = member.log().MembershipAt(index).SerializeAsString();
  const auto [known, first] = snapshots_.try_emplace(index, membership);
  if (first || known->second == membership) return {};
  return At("snapshot membership", member, index);
}

std::string RaftInvariants::ObserveCommitted(const Raft& member, Seen& seen) {
  // What a snapshot brought was compared where it was made.
  const std::uint64_t from = std::max(seen.commit + 1, member.log().snapshot_index());
  for (std::uint64_t index = from; index <= member.commit(); ++index) {
    if (index == 0) continue;
    const std::uint64_t term = *member.log().TermAt(index);
    const auto [committed, first] = committed_.try_emplace(index, Committed{term, member.term()});
    if (committed->second.entry_term != term) return At("state machine safety", member, index);
  }
  return {};
}

std::string RaftInvariants::ObserveCompleteness(const Raft& member, Seen& seen) const {
  if (member.role() != RaftRole::kLeader) return {};
  if (seen.role != RaftRole::kLeader || seen.term != member.term())
    seen.complete = member.log().snapshot_index();
  for (auto at = committed_.upper_bound(seen.complete); at != committed_.end(); ++at) {
    if (at->second.in_term > member.term()) break;  // deposed, and not aware of it yet
    const auto term = member.log().TermAt(at->first);
    const bool compacted = at->first < member.log().snapshot_index();
    if (!compacted && term != at->second.entry_term)
      return At("leader completeness", member, at->first);
    seen.complete = at->first;
  }
  return {};
}

}  // namespace once
