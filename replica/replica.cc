#include "replica/replica.h"

#include <algorithm>

namespace once {
namespace {

constexpr std::int64_t kExpiryIntervalMs = 1000;
constexpr std::uint32_t kExpiryBatch = 500;

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

Answer Unavailable() {
  Answer answer;
  answer.kind = Answer::Kind::kUnavailable;
  answer.retry_after_ms = 1000;
  return answer;
}

}  // namespace

Replica::Replica(World world, const Config& config, Metrics& metrics)
    : scheduler_(world.scheduler),
      entropy_(std::move(world.entropy)),
      metrics_(metrics),
      tables_(world.store, config.hot_bytes_max),
      clock_(scheduler_, tables_.head().stamp_ms(), config.clock_skew_bound_ms),
      ledger_(tables_, OptionsFor(config), clock_.NowMillis()),
      commit_(tables_, world.store, scheduler_),
      waiters_(scheduler_),
      policies_(config.policies, tables_.Policies()),
      waiters_max_(config.limits.waiters_max) {}

void Replica::Start(std::function<void(bool)> started) {
  // The boot count must be on disk before a lease is given under it.
  tables_.TouchHead();
  commit_.WhenAllDurable([this, started](Durable durable) {
    started_ = durable == Durable::kYes;
    if (started_) {
      for (const std::string& run_id : tables_.ActiveRuns()) Resume(run_id);
      ExpireSoon(kExpiryIntervalMs);
    }
    started(started_);
  });
}

void Replica::Stop(std::function<void()> drained) {
  stopping_ = true;
  waiters_.WakeAll();
  commit_.WhenAllDurable([drained](Durable) { drained(); });
}

Stamp Replica::NextStamp() {
  return {clock_.NowMillis(), {entropy_(), entropy_(), entropy_()}};
}

void Replica::Submit(Command command, Done done) {
  const bool begins = command.has_begin() || command.has_mutation();
  if (!started_ || stopping_ || commit_.failed() || (begins && !clock_.Safe()))
    return done(Unavailable());
  Answer answer;
  try {
    answer = ledger_.Apply(command, NextStamp());
  } catch (const KvUnreadable&) {
    return done(Unavailable());
  }
  const std::uint64_t batch = answer.hash.empty() ? (tables_.dirty() ? tables_.open_batch() : 0)
                                                  : tables_.BatchOf(answer.hash);
  commit_.WhenDurable(
      batch, [this, answer = std::move(answer), done = std::move(done)](Durable durable) mutable {
        if (durable == Durable::kFull) {
          answer = {};
          answer.kind = Answer::Kind::kFull;
        }
        if (durable == Durable::kUnknown) answer = Unavailable();
        if (durable == Durable::kYes) Settled(answer);
        done(answer);
      });
}

void Replica::SubmitOrWait(Command command, std::int64_t wait_ms, Done done) {
  if (wait_ms <= 0) return Submit(std::move(command), std::move(done));
  const std::int64_t deadline_ms = scheduler_.MonotonicMicros() / 1000 + wait_ms;
  Submit(command, [this, command, deadline_ms, done](const Answer& answer) {
    const std::int64_t left_ms = deadline_ms - scheduler_.MonotonicMicros() / 1000;
    const bool join = answer.kind == Answer::Kind::kInFlight && left_ms > 0 && !stopping_ &&
                      waiters_.size() < waiters_max_;
    if (!join) return done(answer);
    waiters_.Join(answer.hash, std::min(left_ms, answer.retry_after_ms), [=, this] {
      SubmitOrWait(command, deadline_ms - scheduler_.MonotonicMicros() / 1000, done);
    });
  });
}

void Replica::Read(std::function<void(Tables&)> read, std::function<void()> failed) {
  commit_.WhenAllDurable([this, read, failed](Durable durable) {
    if (durable == Durable::kUnknown) return failed();
    try {
      read(tables_);
    } catch (const KvUnreadable&) {
      failed();
    }
  });
}

void Replica::Settled(const Answer& answer) {
  for (const std::string& slot : answer.woken) waiters_.Wake(slot);
  if (answer.expired) metrics_.Expired(answer.expired);
  if (answer.evicted) metrics_.Evicted(answer.evicted);
  if (answer.run_id.empty()) return;
  if (run_listener_) run_listener_(answer.run_id);
  Resume(answer.run_id);
}

// The executor: whatever a run's next step is, it is one command, due at a known time.
void Replica::Resume(const std::string& run_id) {
  const auto run = tables_.FindRun(run_id);
  if (!run || run->status() != RUNNING || run->region() != rules().region) return;
  const auto step = [this, run_id, at = run->step()] {
    Command command;
    command.mutable_advance_run()->set_run_id(run_id);
    command.mutable_advance_run()->set_step(at);
    Submit(std::move(command), [this, run_id](const Answer& answer) {
      // Not due yet by the node's clock, which is slewed, or moved by somebody else: look again.
      if (answer.kind == Answer::Kind::kDone && answer.run_id.empty()) Resume(run_id);
    });
  };
  const std::int64_t wait_ms = run->due_ms() - clock_.NowMillis();
  if (wait_ms > 0)
    scheduler_.After(wait_ms, step);
  else
    scheduler_.Post(step);
}

void Replica::ExpireSoon(std::int64_t delay_ms) {
  scheduler_.After(delay_ms, [this] {
    // A node that is not ready gets no requests: whether there is space again is found out by this.
    if (commit_.full()) tables_.TouchHead();
    Command command;
    command.mutable_expire_due()->set_limit(kExpiryBatch);
    Submit(std::move(command), [this](const Answer& answer) {
      if (stopping_) return;
      ExpireSoon(answer.expired >= kExpiryBatch ? 1 : kExpiryIntervalMs);
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
  return "";
}

Metrics::Gauges Replica::Gauges() {
  Metrics::Gauges gauges;
  gauges.slots = tables_.head().slots();
  gauges.slot_bytes = tables_.head().slot_bytes();
  gauges.hot_slots = tables_.hot_slots();
  gauges.queue_depth = commit_.waiting();
  gauges.waiters = waiters_.size();
  gauges.clock_safe = clock_.Safe();
  gauges.clock_offset_ms = clock_.OffsetMillis();
  gauges.store_failed = commit_.failed();
  gauges.store_full = commit_.full();
  return gauges;
}

}  // namespace once
