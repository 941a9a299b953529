#include "replica/strict/native_engine.h"

#include <algorithm>
#include <utility>

#include "conflict/mutation.h"
#include "replica/strict/raft_message_check.h"

namespace once {
namespace {

constexpr std::int64_t kBeginAgainMs = 1000;
constexpr std::int64_t kTellMs = 5;
// It applies what it cannot read within a few of them, if it is still there.
constexpr std::uint32_t kSoundTicks = 60;
// Parts of what is kept for a member that is behind, when there is none.
constexpr std::uint64_t kEntriesPart = 4;
constexpr std::uint64_t kBytesPart = 32;

std::string Words(RaftRefusal refusal) {
  switch (refusal) {
    case RaftRefusal::kNone:
      return "";
    case RaftRefusal::kNotLeader:
      return "this member does not lead";
    case RaftRefusal::kTransferring:
      return "leadership is being handed over";
    case RaftRefusal::kUncommitted:
      return "too much is in progress";
    case RaftRefusal::kChangePending:
      return "another change is in progress";
    case RaftRefusal::kNotCaughtUp:
      return "the learner has not caught up";
    case RaftRefusal::kInvalid:
      return "there is no such member, it is that already, or nobody would be left to vote";
  }
  return "refused";
}

}  // namespace

NativeEngine::NativeEngine(EngineWorld world, NativeEngineOptions options, StateMachine& state)
    : world_(std::move(world)),
      options_(std::move(options)),
      state_(state),
      random_(options_.seed),
      records_(world_.tables) {
  world_.tables.SetRollbackListener([this] { BeginAgain(); });
  Load();
}

NativeEngine::~NativeEngine() {
  *alive_ = false;
  world_.tables.SetRollbackListener({});
}

void NativeEngine::Load() {
  RaftState stored = records_.Load(state_.applied());
  if (MutationOn("applied-twice-after-restart") && stored.applied > stored.snapshot.index())
    --stored.applied;
  raft_ = std::make_unique<Raft>(options_.member, options_.raft, std::move(stored), random_);
  CompactLog();  // the last cut may not have been durable
  outdated_ = false;
  ++epoch_;
}

void NativeEngine::Start() {
  started_ = true;
  Tick();
}

void NativeEngine::Tick() {
  world_.scheduler.After(options_.tick_ms, [this, alive = alive_] {
    if (*alive) Tick();
  });
  if (!raft_) return;
  if (unreadable_ticks_ > 0) --unreadable_ticks_;
  raft_->Tick();
  Work();
}

std::string NativeEngine::Found(const std::vector<std::string>& founders) {
  if (!raft_) return "this member is silent";
  if (std::count(founders.begin(), founders.end(), options_.member) != 1)
    return "this member must be among the founders";
  Membership membership;
  for (const std::string& founder : founders) membership.add_voters(founder);
  RaftState founding = BootstrapState(std::move(membership));
  if (raft_->membership().voters_size() > 0 || raft_->log().last_index() > 0) {
    // The first leader's log may have come before.
    const bool same = raft_->membership().SerializeAsString() ==
                      founding.snapshot.membership().SerializeAsString();
    return same ? "" : "this member belongs to a group with other members";
  }
  // It may have answered a leader already.
  founding.hard_state.set_term(raft_->term());
  records_.PutFounding(founding);
  // Silent until that is durable; then as after a restart.
  BeginAgain();
  return "";
}

bool NativeEngine::Propose(std::string batch) {
  if (!raft_ || !raft_->Propose(std::move(batch)).accepted()) return false;
  Work();
  return true;
}

void NativeEngine::TellAtOnce() {
  if (!raft_) return;
  raft_->TellCommit(raft_->log().last_index());
  Work();
}

void NativeEngine::ReadIndex(IndexKnown known) {
  const std::string context = std::to_string(++last_read_);
  if (!raft_ || !raft_->ReadIndex(context).accepted()) return known(std::nullopt);
  reads_.emplace(context, std::move(known));
  Work();
}

void NativeEngine::Receive(const std::string& from_region, const std::string& message) {
  if (!raft_ || !started_) return;
  RaftMessage parsed;
  if (!parsed.ParseFromString(message) || !IsAcceptable(*raft_, from_region, parsed)) {
    ++refused_;
    return;
  }
  raft_->Step(parsed);
  Work();
}

std::string NativeEngine::Change(const MemberChange& change) {
  if (!raft_) return "this member is silent";
  static constexpr MembershipChange::Kind kKinds[] = {MembershipChange::Kind::kAddLearner,
                                                      MembershipChange::Kind::kPromote,
                                                      MembershipChange::Kind::kRemove};
  const RaftVerdict verdict =
      raft_->ProposeMembership({kKinds[static_cast<int>(change.kind)], change.member});
  Work();
  return Words(verdict.refusal);
}

std::string NativeEngine::Transfer(const std::string& member) {
  if (!raft_) return "this member is silent";
  const RaftVerdict verdict = raft_->TransferLeadership(member);
  Work();
  if (verdict.refusal == RaftRefusal::kInvalid)
    return member == options_.member ? "this member leads already" : "there is no such voter";
  return Words(verdict.refusal);
}

void NativeEngine::GiveWay() {
  if (!raft_) return;
  raft_->GiveWay();
  Work();
}

void NativeEngine::Work() {
  if (working_) return;  // called back from below: the loop there goes on
  working_ = true;
  while (raft_ && !broken_) {
    auto work = raft_->TakeWork();
    if (!work && !CompactLog()) break;
    if (work) Do(std::move(*work));
  }
  working_ = false;
  if (std::exchange(broken_, false)) outdated_ ? FallSilent() : BeginAgain();
  TellCommitSoon();
  NoticeLeader();
}

// Under load the next entry has told it meanwhile, and then nothing is sent.
void NativeEngine::TellCommitSoon() {
  if (telling_ || !raft_ || !raft_->has_untold_commit()) return;
  telling_ = true;
  world_.scheduler.After(kTellMs, [this, alive = alive_, commit = raft_->commit()] {
    if (!*alive) return;
    telling_ = false;
    if (!raft_) return;
    raft_->TellCommit(commit);
    Work();
  });
}

void NativeEngine::Do(RaftWork work) {
  Send(work.send_at_once);
  try {
    Store(work);
    if (broken_ || !raft_) return;
    decided_.insert(decided_.end(), work.apply.begin(), work.apply.end());
    // A follower first acknowledges what it is storing: the leader's callers wait for that.
    if (portions_.empty() || Leads()) ApplyDecided();
  } catch (const KvUnreadable&) {
    BreakUnreadable();
  }
  if (broken_) return;
  Answer(work.reads);
  for (const std::string& member : work.snapshots_released) outgoing_.erase(member);
  for (const RaftChunkWanted& wanted : work.chunks_wanted) Provide(wanted);
}

void NativeEngine::Store(RaftWork& work) {
  for (const SnapshotChunk& chunk : work.stage)
    if (!broken_) Stage(chunk);
  if (work.install && !broken_) Install(*work.install);
  if (broken_) return;
  records_.Put(work);
  const bool must_sync = work.must_sync || !work.stage.empty();
  portions_.push_back({work.number, !must_sync, std::move(work.send_when_durable)});
  if (!must_sync) return Release();
  world_.commit.WhenGatheredIsDurable(
      world_.tables.open_batch(),
      [this, alive = alive_, epoch = epoch_, number = work.number](Durable durable) {
        if (!*alive || epoch != epoch_) return;
        if (durable == Durable::kYes) return Settle(number);
        // Not kFull: the rollback before it has begun everything again. So it is unknown what the
        // store has, and this member promises nothing more.
        FallSilent();
      });
}

// A leader that sends something else than a state breaks the group's trust, not this member.
void NativeEngine::Stage(const SnapshotChunk& chunk) {
  staged_index_ = chunk.meta().index();
  if (state_.Stage(chunk.data(), chunk.offset() == 0)) return;
  ++refused_;
  broken_ = true;
}

void NativeEngine::Install(const SnapshotMeta& meta) {
  staged_index_ = 0;
  if (!state_.Install(meta.index())) {
    ++refused_;
    broken_ = true;
    return;
  }
  decided_.clear();  // the snapshot stands for them too
  applied_bytes_ = 0;
}

void NativeEngine::Settle(std::uint64_t number) {
  for (Portion& portion : portions_)
    if (portion.number == number) portion.durable = true;
  Release();
  if (working_) return;  // the loop there goes on
  if (Leads()) return ApplyNow();
  ApplyUnhurried();
  Work();
}

void NativeEngine::ApplyNow() {
  working_ = true;  // whoever is told of what was applied may call back
  try {
    ApplyDecided();
  } catch (const KvUnreadable&) {
    BreakUnreadable();
  }
  working_ = false;
  Work();
}

// The leader's callers wait for what was just acknowledged, nobody for this.
void NativeEngine::ApplyUnhurried() {
  if (decided_.empty() || std::exchange(will_apply_, true)) return;
  world_.scheduler.PostUnhurried([this, alive = alive_] {
    if (!*alive) return;
    will_apply_ = false;
    if (raft_) ApplyNow();
  });
}

// Posted, so that the answers to what was applied are sent first.
void NativeEngine::StoreSoon() {
  if (std::exchange(will_store_, true)) return;
  world_.scheduler.Post([this, alive = alive_] {
    if (!*alive) return;
    will_store_ = false;
    if (!raft_) return;
    try {
      state_.Store();
    } catch (const KvUnreadable&) {
      BreakUnreadable();
    }
    Work();
  });
}

void NativeEngine::Release() {
  while (raft_ && !portions_.empty() && portions_.front().durable) {
    const Portion portion = std::move(portions_.front());
    portions_.pop_front();
    Send(portion.messages);
    raft_->Persisted(portion.number);
  }
}

void NativeEngine::ApplyDecided() {
  while (!decided_.empty()) {
    const RaftEntryPtr entry = std::move(decided_.front());
    decided_.pop_front();
    const bool known =
        state_.Apply(entry->index(), entry->kind() == PROPOSAL ? entry->data() : std::string());
    if (!raft_) return;
    if (!known) {
      outdated_ = broken_ = true;
      return;
    }
    raft_->Applied(entry->index());
    applied_bytes_ += entry->data().size();
  }
  if (state_.ShouldStore()) StoreSoon();
  // The log brought what the snapshot would have: no piece of that is taken any more.
  if (staged_index_ != 0 && raft_->applied() >= staged_index_) {
    staged_index_ = 0;
    state_.Unstage();
  }
}

void NativeEngine::Answer(const std::vector<RaftRead>& reads) {
  for (const RaftRead& read : reads) {
    auto waiting = reads_.extract(read.context);
    if (waiting.empty()) continue;
    waiting.mapped()(read.confirmed ? std::optional(read.index) : std::nullopt);
  }
}

void NativeEngine::Provide(const RaftChunkWanted& wanted) {
  // One snapshot serves all that are behind, unless the log would be kept long for it.
  const std::uint64_t applied = raft_->applied();
  const std::uint64_t oldest =
      std::max(raft_->log().snapshot_index(), applied - std::min(applied, options_.log_entries));
  std::shared_ptr<OutgoingSnapshot>& kept = outgoing_[wanted.to];
  if (wanted.offset == 0 && kept && kept->index() < oldest) kept = nullptr;
  for (const auto& [to, other] : outgoing_)
    if (!kept && other && other->index() >= oldest) kept = other;
  try {
    if (!kept)
      kept = std::make_shared<OutgoingSnapshot>(state_.applied(), state_.Freeze(),
                                                options_.chunk_bytes);
    OutgoingSnapshot::Piece piece = kept->Read(wanted.index == kept->index() ? wanted.offset : 0);
    raft_->ProvideChunk(wanted.to, kept->index(), piece.offset, std::move(piece.bytes), piece.last);
  } catch (const KvUnreadable&) {
    BreakUnreadable();
  }
}

std::size_t NativeEngine::snapshot_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [to, outgoing] : outgoing_)
    if (outgoing) bytes += outgoing->bytes();
  return bytes;
}

bool NativeEngine::CompactLog() {
  const RaftLog& log = raft_->log();
  const std::uint64_t first = log.snapshot_index();
  const std::uint64_t applied = raft_->applied();
  const std::uint64_t kept = applied - first;
  const std::uint64_t common = std::min(raft_->everywhere(), applied);
  std::uint64_t upto = first;
  // Not entry by entry: what the state holds is stored each time.
  const std::uint64_t some = std::max<std::uint64_t>(options_.log_entries / kEntriesPart, 1);
  if (common >= first + some || applied_bytes_ >= options_.log_bytes_max / kBytesPart)
    upto = std::max(upto, common);
  const std::uint64_t entries_max = 2 * options_.log_entries;
  if (kept >= entries_max || log.bytes() >= options_.log_bytes_max)
    upto = std::max(upto, applied - std::min(kept / 2, options_.log_entries));
  if (kept >= options_.snapshot_logs * entries_max ||
      log.bytes() >= options_.snapshot_logs * options_.log_bytes_max)
    snapshots_given_up_ += raft_->GiveUpSnapshots(upto);
  upto = std::min(upto, raft_->CompactableUpto());
  if (upto <= first) return false;
  applied_bytes_ = 0;
  try {
    state_.Store();
  } catch (const KvUnreadable&) {
    BreakUnreadable();
    return false;
  }
  raft_->Compact(upto);
  return true;
}

void NativeEngine::Send(const std::vector<RaftMessage>& messages) {
  for (const RaftMessage& message : messages)
    world_.send(RegionOfMember(message.to()), message.SerializeAsString());
}

void NativeEngine::NoticeLeader() {
  std::string leader = raft_ ? raft_->leader() : "";
  const std::uint64_t term = leader.empty() ? 0 : raft_->term();
  if (leader == known_leader_ && term == known_leaders_term_) return;
  known_leader_ = std::move(leader);
  known_leaders_term_ = term;
  state_.LeaderChanged();
}

void NativeEngine::BreakUnreadable() {
  broken_ = true;
  unreadable_ticks_ = kSoundTicks;
}

void NativeEngine::FallSilent() {
  raft_.reset();
  ++epoch_;
  portions_.clear();
  decided_.clear();
  staged_index_ = 0;
  outgoing_.clear();
  for (auto& [context, known] : std::exchange(reads_, {})) known(std::nullopt);
  NoticeLeader();
}

// Silent first: nothing may be promised over a state that is forgotten.
void NativeEngine::BeginAgain() {
  FallSilent();
  stale_ = true;
  try {
    RollBack();
  } catch (const KvUnreadable&) {
    unreadable_ticks_ = kSoundTicks;
  }
  BeginAgainLater();
}

void NativeEngine::RollBack() {
  if (!stale_) return;
  state_.RolledBack();
  stale_ = false;
}

void NativeEngine::BeginAgainLater() {
  world_.scheduler.After(kBeginAgainMs, [this, alive = alive_, epoch = epoch_] {
    if (!*alive || epoch != epoch_) return;
    // What is stored must not be taken for durable before it is.
    world_.commit.WhenAllDurable([this, alive, epoch](Durable durable) {
      if (!*alive || epoch != epoch_ || durable == Durable::kUnknown) return;
      try {
        RollBack();
        if (durable == Durable::kYes) return Load();
      } catch (const KvUnreadable&) {
        unreadable_ticks_ = kSoundTicks;  // perhaps the next time
      }
      BeginAgainLater();
    });
  });
}

void NativeEngine::VisitUnapplied(const std::function<void(const std::string&)>& visit) const {
  if (!raft_) return;
  for (const RaftEntryPtr& entry : raft_->log().entries())
    if (entry->index() > raft_->applied() && entry->kind() == PROPOSAL) visit(entry->data());
}

EngineStatus NativeEngine::Status() const {
  EngineStatus status;
  status.name = options_.member;
  status.refused = refused_;
  status.unreadable = unreadable_ticks_ > 0;
  status.outdated = outdated_;
  status.snapshots_given_up = snapshots_given_up_;
  if (!raft_) return status;
  static constexpr EngineRole kRoles[] = {EngineRole::kFollower, EngineRole::kCandidate,
                                          EngineRole::kCandidate, EngineRole::kLeader};
  status.role = kRoles[static_cast<int>(raft_->role())];
  status.leader = raft_->leader();
  status.term = raft_->term();
  status.last = raft_->log().last_index();
  status.committed = raft_->commit();
  status.applied = raft_->applied();
  const auto add = [&](const std::string& name, bool voter) {
    EngineMember& member = status.members.emplace_back(EngineMember{name, voter, {}});
    const auto at = raft_->progress().find(name);
    if (at != raft_->progress().end()) member.stored = at->second.match();
    if (name == options_.member) member.stored = raft_->log().durable_index();
  };
  for (const std::string& voter : raft_->membership().voters()) add(voter, true);
  for (const std::string& learner : raft_->membership().learners()) add(learner, false);
  return status;
}

std::string NativeEngine::LeaderRegion() const {
  return known_leader_.empty() ? "" : RegionOfMember(known_leader_);
}

}  // namespace once
