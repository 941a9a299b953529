// Time passes.
#include "conflict/mutation.h"
#include "consensus/quorum.h"
#include "consensus/raft.h"

namespace once {
namespace {

constexpr std::uint32_t kSilentTimeouts = 30;

}  // namespace

void Raft::Tick() {
  ++ticks_;
  if (role_ == RaftRole::kLeader) return TickLeader();
  if (ticks_ < timeout_ticks_) return;
  ResetElectionTimer();
  if (!MayCampaign()) return BecomeFollower(term_, "");  // it cannot name whom it does not hear
  MutationOn("no-pre-vote") ? Campaign(false) : CampaignFirstAsking();
}

void Raft::TickLeader() {
  for (auto& [to, progress] : progress_) ++progress.silent_ticks;
  if (ticks_ >= options_.election_ticks) {
    ticks_ = 0;
    // Cut off from the majority, it would only make its callers wait (section 6.2).
    if (!HearsMajority() && !MutationOn("unheard-leader-stays")) return BecomeFollower(term_, "");
  }
  GiveWayIfDiskHangs();
  if (role_ == RaftRole::kLeader) TickTransfer();
  if (role_ != RaftRole::kLeader) return;

  const bool heartbeat = ++heartbeat_elapsed_ >= options_.heartbeat_ticks;
  if (heartbeat) heartbeat_elapsed_ = 0;
  for (auto& [to, progress] : progress_) {
    if (heartbeat) progress.heartbeat_due = true;
    if (progress.state() == Progress::State::kSnapshot) TickSnapshot(to, progress);
  }
}

// A snapshot is costly to make and to keep: one that is silent gets none, and what was made for it
// goes when it stays silent.
void Raft::TickSnapshot(const std::string& to, Progress& progress) {
  Progress::Sending& sending = progress.sending();
  if (sending.awaiting_driver) return;
  ++sending.ticks;
  if (IsHeard(progress)) {
    if (!sending.begun() || sending.ticks >= options_.election_ticks) WantChunk(to, progress);
  } else if (sending.begun() && sending.ticks >= kSilentTimeouts * options_.election_ticks) {
    progress.StartSnapshot();
    ReleaseSnapshot(to);
  }
}

// The others have decided what this leader's own disk has not stored for an election timeout: they
// can do without it, while it can neither apply nor cut its log. If nobody takes over in as long
// again, its silence makes the others elect. It cannot come back before its disk does: it asks for
// votes by messages that wait for it.
void Raft::GiveWayIfDiskHangs() {
  if (log_.durable_index() >= awaited_) {
    awaited_ = commit_;
    awaited_ticks_ = 0;
    return;
  }
  ++awaited_ticks_;
  if (MutationOn("hung-leader-stays")) return;
  if (awaited_ticks_ >= 2 * options_.election_ticks) return BecomeFollower(term_, "");
  if (awaited_ticks_ == options_.election_ticks) GiveWay();
}

bool Raft::IsHeard(const Progress& progress) const {
  return progress.silent_ticks <= options_.election_ticks;
}

bool Raft::HearsMajority() const {
  std::vector<std::uint64_t> heard;
  for (const std::string& voter : membership().voters()) {
    const auto of = progress_.find(voter);
    heard.push_back(voter == name_ || (of != progress_.end() && IsHeard(of->second)));
  }
  return MajorityReached(std::move(heard)) > 0;
}

}  // namespace once
