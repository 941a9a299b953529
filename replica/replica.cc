#include "replica/replica.h"

#include <algorithm>

#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "replica/strict/strict_group.h"

namespace once {
namespace {

constexpr std::int64_t kExpiryIntervalMs = 1000;
constexpr std::size_t kConflictPage = 1000;
constexpr std::int64_t kResumeAgainMs = 1000;

LedgerOptions OptionsFor(const Config& config) {
  LedgerOptions options;
  options.region = config.region;
  options.skew_ms = config.clock_skew_bound_ms;
  options.grace_ms = config.forget_grace_ms;
  options.slots_max = config.slots_max;
  options.slot_bytes_max = config.slot_bytes_max;
  options.evict_oldest = config.evict_oldest;
  options.run_retention_ms = config.run_retention_ms;
  return options;
}

// Empty, or why this node is of no use to its callers in the strict group.
std::string UnreadyFor(StrictGroup& group) {
  if (group.engine().Status().unreadable)
    return "records of the strict group cannot be read: replace this member (remove it, empty its "
           "directory, start, add, promote)";
  if (group.engine().Status().outdated)
    return "the strict group's log holds what this version does not know: upgrade this node";
  if (!group.RulesDiffer()) return "";
  if (group.engine().Leads()) return "the [[strict]] rules differ from those of most members";
  const std::string leader = group.engine().LeaderRegion();
  if (!leader.empty()) return "the [[strict]] rules differ from those of the leader, " + leader;
  return "the [[strict]] rules differ from those of the last leader or start, and no leader is "
         "heard now";
}

Metrics::StrictGauges GaugesOf(StrictGroup& group) {
  const EngineStatus status = group.engine().Status();
  const StrictCounts counts = group.counts();
  Metrics::StrictGauges gauges;
  gauges.role = EngineRoleName(status.role);
  gauges.has_leader = !status.leader.empty();
  gauges.unreadable = status.unreadable;
  gauges.term = status.term;
  gauges.committed = status.committed;
  gauges.applied = status.applied;
  gauges.waiting = group.waiting();
  for (const EngineMember& member : status.members)
    if (member.stored && member.name != status.name)
      gauges.lag.emplace_back(RegionOfMember(member.name),
                              status.last - std::min(status.last, *member.stored));
  gauges.other_rules = group.RegionsWithOtherRules();
  gauges.leaders = counts.leaders;
  gauges.entries = counts.entries;
  gauges.commands = counts.commands;
  gauges.forwarded = counts.forwarded;
  gauges.unavailable = counts.unavailable;
  gauges.refused = group.refused();
  gauges.snapshots_given_up = status.snapshots_given_up;
  return gauges;
}

}  // namespace

Replica::Replica(World world, const Config& config, Metrics& metrics)
    : scheduler_(world.scheduler),
      store_(world.store),
      entropy_(std::move(world.entropy)),
      metrics_(metrics),
      tables_(world.store, config.hot_bytes_max),
      clock_(scheduler_, tables_.head().stamp_ms(), config.clock_skew_bound_ms),
      ledger_(tables_, OptionsFor(config), clock_.NowMillis()),
      commit_(tables_, world.store, scheduler_),
      waiters_(scheduler_),
      policies_(config.policies,
                MutationOn("policies-forgotten") ? std::vector<RoutePolicy>() : tables_.Policies()),
      waiters_max_(config.limits.waiters_max),
      waiting_bytes_max_(config.limits.waiting_bytes_max),
      strict_routes_(config.strict_routes) {}

Replica::~Replica() = default;

std::string Replica::Join(Transport& transport, const std::string& identity, const Config& config) {
  StrictOptions options;
  options.member = MemberName(config.region, identity);
  options.terms.set_skew_ms(config.clock_skew_bound_ms);
  options.terms.set_slots_max(config.slots_max);
  options.terms.set_slot_bytes_max(config.slot_bytes_max);
  options.terms.set_run_retention_ms(config.run_retention_ms);
  options.rules = strict_routes_.Digest();
  options.rules_changed =
      WasMember() && !strict_routes_.AreThoseOf(tables_) && !MutationOn("changed-rules-unnoticed");
  options.answer_ms = config.strict_answer_ms;
  options.hot_bytes_max = config.hot_bytes_max;
  options.engine.log_entries = config.strict_log_entries;
  options.engine.raft.append_bytes_max = config.strict_append_bytes;
  options.engine.chunk_bytes = config.strict_chunk_bytes;
  strict_ = std::make_unique<StrictGroup>(
      StrictWorld{scheduler_, tables_, commit_, clock_, transport, entropy_}, std::move(options));
  strict_->on_applied = [this](const Answer& answer) { AppliedByGroup(answer); };
  strict_->tables().SetSlotListener(slot_listener_);
  return strict_routes_.TakeEffect(tables_, strict_->tables(), strict_->Unapplied());
}

void Replica::SetSlotListener(std::function<void(std::string_view)> listener) {
  slot_listener_ = std::move(listener);
  tables_.SetSlotListener(slot_listener_);
  if (strict_) strict_->tables().SetSlotListener(slot_listener_);
}

bool Replica::WasStrict() {
  return !tables_.ReadRaw(keys::StrictRoutes()).value_or("").empty();
}

bool Replica::WasMember() {
  return tables_.ReadRaw(keys::LogPromises()).has_value();
}

void Replica::AppliedByGroup(const Answer& answer) {
  for (const std::string& slot : answer.woken) waiters_.Wake(slot);
  if (answer.expired) metrics_.Expired(answer.expired);
  if (run_listener_ && !answer.run_id.empty()) run_listener_(answer.run_id);
}

void Replica::Start(std::function<void(bool)> started) {
  // The boot count must be on disk before a lease is given under it.
  tables_.TouchHead();
  try {
    TakeUpConflicts();
  } catch (const KvUnreadable&) {
    return started(false);
  }
  commit_.WhenAllDurable([this, started](Durable durable) {
    if (durable != Durable::kYes) return started(false);
    try {
      for (const std::string& run_id : tables_.ActiveRuns()) Resume(run_id);
    } catch (const KvUnreadable&) {
      return started(false);
    }
    started_ = true;
    ExpireSoon(kExpiryIntervalMs);
    if (strict_) strict_->Start();
    started(true);
  });
}

void Replica::Stop(std::function<void()> drained) {
  stopping_ = true;
  waiters_.WakeAll();
  auto drain = [this, drained] { commit_.WhenAllDurable([drained](Durable) { drained(); }); };
  if (strict_)
    strict_->Stop(std::move(drain));
  else
    drain();
}

Stamp Replica::NextStamp() {
  Stamp stamp{clock_.read_ms(), {entropy_(), entropy_(), entropy_()}};
  if (covered_ms_) stamp.covered_ms = covered_ms_();
  return stamp;
}

bool Replica::Takes(const Command& command) const {
  // A key whose owner is turned away while the node stops is blocked for the rest of its lease.
  const bool ends =
      command.has_settle() || command.has_renew() || command.mutation().admitted_fence() != 0;
  return started_ && (!stopping_ || (ends && !MutationOn("owners-turned-away")));
}

bool Replica::IsForGroup(const Command& command) const {
  return (strict_ || !strict_routes_.empty()) && strict_routes_.Contains(command);
}

void Replica::Submit(const Command& command, Done done) {
  if (IsForGroup(command)) return Submit(Command(command), std::move(done));
  if (!Takes(command)) return done(Unavailable(true));
  Deliver(Apply(command), std::move(done));
}

void Replica::Submit(Command&& command, Done done) {
  if (!Takes(command)) return done(Unavailable(true));
  if (IsForGroup(command))
    return strict_ ? strict_->Submit(std::move(command), std::move(done)) : done(Unavailable(true));
  Deliver(Apply(command), std::move(done));
}

bool Replica::ClockSafe() {
  return strict_ ? strict_->MayRecall() : clock_.Safe();
}

Answer Replica::Apply(const Command& command) {
  const bool begins = command.has_begin() || command.has_mutation();
  const bool safe = clock_.Safe();
  const bool other_rules =
      strict_ && strict_->RulesDiffer() && MayAdmit(command) && !MutationOn("other-rules-admit");
  const bool recall_only = commit_.failed() || (begins && !safe) || other_rules;
  try {
    if (!recall_only) return ledger_.Apply(command, NextStamp());
    Answer known = Recall(command);
    return known.kind == Answer::Kind::kUnavailable ? Unavailable(true) : known;
  } catch (const KvUnreadable&) {
    return Unavailable(false);
  }
}

Answer Replica::Recall(const Command& command) {
  const Begin* const begin = BeginOf(command);
  return begin ? ledger_.Recall(*begin, clock_.NowMillis()) : Answer{};
}

void Replica::Deliver(Answer answer, Done done) {
  if (answer.kind == Answer::Kind::kUnavailable) return done(Unavailable(answer.refused));
  // An answer about a slot rests on that slot alone; any other may rest on whatever was applied.
  const bool about_slot = !answer.hash.empty();
  const std::uint64_t batch = about_slot ? tables_.BatchOf(answer.hash) : 0;
  if (about_slot && commit_.IsDurable(batch)) {  // the way of every replay: no detour
    Settled(answer);
    return done(answer);
  }
  // Shared, because an answer is large and a function that holds one is moved around.
  auto held = std::make_shared<std::pair<Answer, Done>>(std::move(answer), std::move(done));
  auto when = [this, held = std::move(held)](Durable durable) {
    Answer& answer = held->first;
    if (durable == Durable::kFull) {
      answer = {};
      answer.kind = Answer::Kind::kFull;
    }
    if (durable == Durable::kUnknown) answer = Unavailable(false);
    if (durable == Durable::kYes) Settled(answer);
    held->second(answer);
  };
  if (about_slot) return commit_.WhenDurable(batch, std::move(when));
  commit_.WhenAllDurable(std::move(when));
}

void Replica::SubmitOrWait(Command command, std::int64_t wait_ms, Done done) {
  if (wait_ms <= 0) return Submit(std::move(command), std::move(done));
  const std::int64_t deadline_ms = scheduler_.MonotonicMicros() / 1000 + wait_ms;
  Submit(command, [this, command, wait_ms, deadline_ms, done](const Answer& answer) {
    const std::int64_t left_ms = deadline_ms - scheduler_.MonotonicMicros() / 1000;
    const std::size_t bytes = command.ByteSizeLong();
    const bool join = answer.kind == Answer::Kind::kInFlight && left_ms > 0 && !stopping_ &&
                      waiters_.size() < waiters_max_ &&
                      waiters_.bytes() + bytes <= waiting_bytes_max_;
    if (!join) return done(answer);
    waiters_.Join(answer.hash, std::min(left_ms, answer.retry_after_ms), bytes, [=, this] {
      const std::int64_t now_ms = scheduler_.MonotonicMicros() / 1000;
      SubmitOrWait(command, MutationOn("wait-begins-anew") ? wait_ms : deadline_ms - now_ms, done);
    });
  });
}

void Replica::Read(std::function<void(Tables&)> read, std::function<void()> failed) {
  commit_.WhenAllDurable([this, read, failed](Durable durable) {
    if (durable == Durable::kUnknown) return failed();
    try {
      if (!tables_.dirty() || MutationOn("open-batch-read")) return read(tables_);
      Reached("a read waited, and others changed meanwhile what it shows");
      // Others have changed it meanwhile, and that is not durable. But there is one sync at a time,
      // so what was written so far is.
      Tables written(store_, 0);
      read(written);
    } catch (const KvUnreadable&) {
      failed();
    }
  });
}

void Replica::ChangePolicy(const RoutePolicy& policy, bool remove, Done done) {
  Command command;
  *command.mutable_set_policy()->mutable_policy() = policy;
  command.mutable_set_policy()->set_remove(remove);
  Submit(std::move(command), [this, policy, remove, done = std::move(done)](const Answer& answer) {
    if (answer.kind == Answer::Kind::kDone)
      remove ? policies_.Remove(policy) : policies_.Set(policy);
    done(answer);
  });
}

void Replica::MakeDurable() {
  commit_.WhenAllDurable([](Durable) {});
}

void Replica::ReadAbout(std::string_view run_id, std::function<void(Tables&)> read,
                        std::function<void()> failed) {
  if (!IsStrictRunId(run_id)) return Read(std::move(read), std::move(failed));
  if (!strict_) return failed();
  strict_->Read(std::move(read), std::move(failed));
}

void Replica::Settled(const Answer& answer) {
  for (const std::string& slot : answer.woken)
    if (!MutationOn("nobody-woken")) waiters_.Wake(slot);
  if (answer.expired) metrics_.Expired(answer.expired);
  if (answer.evicted) metrics_.Evicted(answer.evicted);
  for (const std::string& region : answer.collided) metrics_.Collision(region);
  for (const Conflict& conflict : answer.conflicts) {
    CountConflict(conflict);
    if (conflict_listener_) conflict_listener_(conflict);
  }
  if (run_listener_)
    for (const std::string& run_id : answer.cancelled_runs) run_listener_(run_id);
  for (const std::string& run_id : answer.returned_runs) Resume(run_id);
  if (answer.run_id.empty()) return;
  if (run_listener_) run_listener_(answer.run_id);
  Resume(answer.run_id);
}

// What was executed twice is counted by the home of the run that was in vain; the others only list
// it.
void Replica::CountConflict(const Conflict& conflict) {
  if (conflict.region() != rules().region) return;
  if (conflict.kind() == LOST)
    metrics_.Conflict(conflict.tenant(), conflict.endpoint(), conflict.region_pair());
  if (conflict.kind() == LATE_COMPLETION && conflict.late_status() < 400)
    metrics_.LateCompletion(conflict.tenant(), conflict.endpoint(), conflict.region_pair());
}

void Replica::TakeUpConflicts() {
  for (std::uint64_t next = 1; next <= tables_.head().listed();) {
    const auto page = tables_.Conflicts(next, kConflictPage);
    if (page.empty()) return;
    for (const Conflict& conflict : page)
      if ((conflict.kind() != LATE_COMPLETION || !MutationOn("late-completions-forgotten")) &&
          (conflict.kind() != LOST || !MutationOn("losers-forgotten")))
        CountConflict(conflict);
    next = page.back().sequence() + 1;
  }
}

// The executor: whatever a run's next step is, it is one command, due at a known time.
void Replica::Resume(const std::string& run_id) {
  std::optional<Run> run;
  try {
    run = tables_.FindRun(run_id);
  } catch (const KvUnreadable&) {
    return ResumeLater(run_id);
  }
  if (!run || run->status() != RUNNING) return;
  if (run->region() != rules().region && !MutationOn("copy-advanced-abroad")) return;
  const auto step = [this, run_id, at = run->step()] {
    Command command;
    command.mutable_advance_run()->set_run_id(run_id);
    command.mutable_advance_run()->set_step(at);
    Submit(std::move(command), [this, run_id](const Answer& answer) {
      // Nothing happened: the disk is full or unreadable.
      if (answer.kind != Answer::Kind::kDone) return ResumeLater(run_id);
      // Not due yet by the node's clock, which is slewed, or moved by somebody else: look again.
      if (answer.run_id.empty()) Resume(run_id);
    });
  };
  const std::int64_t wait_ms = run->due_ms() - clock_.NowMillis();
  if (wait_ms > 0)
    scheduler_.After(wait_ms, step);
  else
    scheduler_.Post(step);
}

void Replica::ResumeLater(const std::string& run_id) {
  if (stopping_ || commit_.failed()) return;
  scheduler_.After(kResumeAgainMs, [this, run_id] { Resume(run_id); });
}

void Replica::ExpireSoon(std::int64_t delay_ms) {
  scheduler_.After(delay_ms, [this] {
    // A node that is not ready gets no requests: whether there is space again is found out by this.
    if (commit_.full()) tables_.TouchHead();
    Command command;
    command.mutable_expire_due()->set_limit(kExpiryBatch);
    Submit(std::move(command), [this](const Answer& answer) {
      if (stopping_) return;
      ExpireSoon(answer.more ? 1 : kExpiryIntervalMs);
    });
  });
}

std::string Replica::Unready() {
  if (stopping_) return "stopping";
  if (!started_) return "starting";
  if (commit_.failed()) return "the store failed a sync and writes no more";
  if (commit_.full()) return "the disk is full";
  if (!clock_.Safe())
    return "the wall clock disagrees with the node's clock by more than the bound";
  if (strict_ && strict_->ClockDiffers())
    return "the node's clock differs from those of the strict group by more than the bound";
  if (strict_) return UnreadyFor(*strict_);
  return "";
}

Metrics::Gauges Replica::Gauges() {
  Metrics::Gauges gauges;
  gauges.slots = tables_.head().slots();
  gauges.slot_bytes = tables_.head().slot_bytes();
  gauges.hot_slots = tables_.hot().size();
  gauges.queue_depth = commit_.waiting();
  gauges.waiters = waiters_.size();
  gauges.clock_safe = ClockSafe();
  gauges.clock_offset_ms = clock_.OffsetMillis();
  gauges.store_failed = commit_.failed();
  gauges.store_full = commit_.full();
  if (strict_) gauges.strict = GaugesOf(*strict_);
  return gauges;
}

}  // namespace once
