#include "simulator/raft_watch.h"

#include <algorithm>

namespace once {
namespace {

// "log matching: eu/0 in term 3, at 7" is said by log-matching.
std::string CheckerOf(const std::string& broken) {
  std::string checker = broken.substr(0, broken.find(':'));
  std::replace(checker.begin(), checker.end(), ' ', '-');
  return checker;
}

}  // namespace

void RaftWatch::Forget(const std::string& region) {
  const auto at = watched_.find(region);
  receiving_.erase(region);
  if (at == watched_.end()) return;
  invariants_.Restarted(at->second.member);
  watched_.erase(at);
}

void RaftWatch::NoteMoment(const std::string& region, const Raft& raft) {
  const auto [at, first] = watched_.try_emplace(region);
  Watched& was = at->second;
  const bool leads = raft.role() == RaftRole::kLeader && was.role != RaftRole::kLeader;
  const bool votes = raft.voted_for() != was.voted_for && !raft.voted_for().empty() &&
                     raft.voted_for() != raft.name();
  std::uint64_t acknowledged = 0;
  if (raft.log().TermAt(raft.commit()) != raft.term())  // soon it is, and that is that
    for (const auto& [member, progress] : raft.progress())
      acknowledged = std::max(acknowledged, progress.match());
  const bool half_said =
      acknowledged > was.acknowledged && raft.log().TermAt(acknowledged) < raft.term();
  if (was.member != raft.name()) was.member = raft.name();
  if (raft.voted_for() != was.voted_for) was.voted_for = raft.voted_for();
  was.role = raft.role();
  was.acknowledged = acknowledged;
  if (first || !on_moment) return;
  if (leads) on_moment(region, Moment::kLeads);
  if (votes) on_moment(region, Moment::kVoted);
  if (half_said) on_moment(region, Moment::kHalfSaid);
}

void RaftWatch::NoteSnapshots(const std::string& region, const Raft& raft, std::int64_t now_ms) {
  if (const auto at = receiving_.find(region); at != receiving_.end()) {
    SnapshotTrip& trip = history_.snapshots[at->second];
    if (raft.commit() >= trip.index) trip.there_ms = now_ms, receiving_.erase(at);
  }
  for (const auto& [member, progress] : raft.progress()) {
    if (progress.state() != Progress::State::kSnapshot) continue;
    const Progress::Sending& sending = progress.sending();
    const std::string other = RegionOfMember(member);
    const Raft* const receiver = cluster_.raft(other);
    if (!sending.begun() || sending.offset == 0 || receiving_.contains(other)) continue;
    if (member != cluster_.Member(other) || !receiver) continue;
    if (receiver->commit() >= sending.meta.index()) continue;
    receiving_[other] = history_.snapshots.size();
    history_.snapshots.push_back({other, sending.meta.index(), now_ms, -1});
  }
}

// One in a single piece is there before anybody saw that it is sent.
void RaftWatch::NoteRestored(const std::string& region, const Raft& raft, std::int64_t now_ms) {
  Watched& was = watched_.at(region);
  const std::uint64_t snapshot = raft.log().snapshot_index();
  if (was.commit > 0 && snapshot > was.commit)
    history_.snapshots.push_back({region, snapshot, now_ms, now_ms});
  was.commit = raft.commit();
}

Violations RaftWatch::Observe(const std::string& region, std::int64_t now_ms) {
  if (broken_) return {};
  const Raft* const raft = cluster_.raft(region);
  if (!raft) {
    Forget(region);  // it will begin again from its disk
    return {};
  }
  NoteMoment(region, *raft);
  NoteSnapshots(region, *raft, now_ms);
  NoteRestored(region, *raft, now_ms);
  const bool known = !history_.leaders.empty() && history_.leaders.back().term >= raft->term();
  if (raft->role() == RaftRole::kLeader && !known)
    history_.leaders.push_back({now_ms, region, raft->term()});
  const std::string broken = invariants_.Observe(*raft);
  if (broken.empty()) return {};
  broken_ = true;
  return {{CheckerOf(broken), broken, now_ms}};
}

}  // namespace once
