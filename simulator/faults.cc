#include "simulator/faults.h"

#include <algorithm>

#include "simulator/checks.h"

namespace once {
namespace {

constexpr std::int64_t kSuperviseMs = 700;
constexpr std::int64_t kMoveMs = 500;           // to bring another directory into place
constexpr std::int64_t kForEverMs = 3'600'000;  // as syncs go

}  // namespace

Faults::Faults(Cluster& cluster, GroupOperator& keeper, FaultOptions options, std::uint64_t seed,
               History& history)
    : cluster_(cluster),
      keeper_(keeper),
      options_(std::move(options)),
      random_(seed),
      history_(history),
      start_us_(cluster.time().MonotonicMicros()),
      rules_(cluster.options().strict_routes) {}

std::int64_t Faults::NowMillis() const {
  return (cluster_.time().MonotonicMicros() - start_us_) / 1000;
}

std::string Faults::AnyRegion() {
  return cluster_.regions()[random_.Below(cluster_.regions().size())];
}

std::string Faults::Victim() {
  if (options_.leader_percent > 0 && random_.Below(100) < options_.leader_percent)
    if (std::string leader = keeper_.Leader(); !leader.empty()) return leader;
  return AnyRegion();
}

std::string Faults::Resolve(const std::string& region) {
  if (region != "leader" && region != "follower") return region;
  const std::string leader = keeper_.Leader();
  if (region == "leader") return leader.empty() ? AnyRegion() : leader;
  std::string follower = AnyRegion();
  while (follower == leader) follower = AnyRegion();
  return follower;
}

void Faults::Start(std::int64_t duration_ms) {
  until_ms_ = duration_ms;
  cluster_.network().SetRules(options_.links);
  if (options_.links.loss_percent > 0 || options_.links.very_late_permille > 0 ||
      options_.links.bytes_per_ms > 0)
    Open(Fault::Kind::kLossyLinks, "", "", options_.links.loss_percent);
  if (options_.skew_ms_max > 0)
    for (const std::string& region : cluster_.regions())
      SetOffset(region, Below(2 * options_.skew_ms_max + 1) - options_.skew_ms_max);
  if (options_.drift_ms_max > 0) Drift();
  for (const std::string& region : cluster_.regions())
    cluster_.disk(region).SetSyncDelay(options_.sync_ms);
  Repeat(options_.cut_gap_ms, options_.cut_ms_max, &Faults::CutSome);
  Repeat(options_.flap_gap_ms, 10'000, &Faults::FlapSome);
  Repeat(options_.clog_gap_ms, 8000, &Faults::ClogSome);
  Repeat(options_.crash_gap_ms, options_.down_ms_max, &Faults::CrashSome);
  Repeat(options_.pause_gap_ms, kPauseMsMax, &Faults::PauseSome);
  Repeat(options_.slow_disk_gap_ms, 8000, &Faults::SlowSome);
  Repeat(options_.sync_failure_gap_ms, 4000, &Faults::FailSome);
  Repeat(options_.disk_full_gap_ms, 5000, &Faults::FillSome);
  Repeat(options_.clock_jump_gap_ms, 1, &Faults::JumpSome);
  Repeat(options_.wild_jump_gap_ms, 6000, &Faults::JumpWildly);
  Repeat(options_.start_ahead_gap_ms, 4000, &Faults::StartSomeOff);
  Repeat(options_.emptied_gap_ms, 4000, &Faults::EmptySome);
  Repeat(options_.restored_gap_ms, 12'000, &Faults::RestoreSome);
  Repeat(options_.transfer_gap_ms, 1, &Faults::TransferSome);
  Repeat(options_.dismissal_gap_ms, 8000, &Faults::DismissSome);
  Repeat(options_.cloned_gap_ms, 12'000, &Faults::CloneSome);
  Repeat(options_.stepped_gap_ms, 1000, &Faults::StepSome);
  Repeat(options_.rules_gap_ms, 6000, &Faults::ChangeRules);
  Repeat(options_.stop_gap_ms, 3000, &Faults::StopSome);
  if (options_.rules_gap_ms > 0) StartRules();
  for (const Fault& fault : options_.schedule)
    cluster_.time().After(fault.from_ms, [this, fault] {
      if (!stopped_) BeginFault(fault);
    });
  Supervise();
}

void Faults::Repeat(std::int64_t gap_ms, std::int64_t longest_ms, Begin begin) {
  if (gap_ms == 0) return;
  cluster_.time().After(gap_ms / 2 + Below(gap_ms), [this, gap_ms, longest_ms, begin] {
    if (stopped_ || NowMillis() >= until_ms_) return;
    (this->*begin)(1 + Below(longest_ms));
    Repeat(gap_ms, longest_ms, begin);
  });
}

std::size_t Faults::Open(Fault::Kind kind, const std::string& region, const std::string& other,
                         std::int64_t amount) {
  history_.faults.push_back({kind, NowMillis(), -1, region, other, amount});
  return history_.faults.size() - 1;
}

void Faults::Close(std::size_t fault) {
  if (!IsOver(fault)) history_.faults[fault].to_ms = NowMillis();
}

void Faults::CloseAfter(std::int64_t delay_ms, std::size_t fault, std::function<void()> end) {
  cluster_.time().After(delay_ms, [this, fault, end = std::move(end)] {
    if (IsOver(fault)) return;
    end();
    Close(fault);
  });
}

void Faults::CutOne(const std::string& from, const std::string& to, std::int64_t for_ms) {
  if (cluster_.network().IsCut(from, to)) return;
  cluster_.network().Cut(from, to);
  CloseAfter(for_ms, Open(Fault::Kind::kCut, from, to),
             [this, from, to] { cluster_.network().Mend(from, to); });
}

void Faults::CutFor(const std::string& from, const std::string& to, std::int64_t for_ms) {
  CutOne(from, to, for_ms);
  CutOne(to, from, for_ms);
}

void Faults::CutSome(std::int64_t for_ms) {
  const std::string alone = Victim();
  const std::string other = AnyRegion();
  if (options_.bridge_cuts && random_.OneIn(2)) {
    if (alone != other) CutFor(alone, other, for_ms);
    return;
  }
  const bool one_way = options_.one_way_cuts && random_.OneIn(2);
  const bool hears = random_.OneIn(2);
  for (const std::string& region : cluster_.regions()) {
    if (region == alone) continue;
    if (!one_way || hears) CutOne(alone, region, for_ms);
    if (!one_way || !hears) CutOne(region, alone, for_ms);
  }
}

void Faults::FlapSome(std::int64_t for_ms) {
  const std::string one = AnyRegion();
  const std::string other = AnyRegion();
  if (one == other) return;
  const std::int64_t period_ms = 100 + Below(2000);
  for (std::int64_t at_ms = 0; at_ms < for_ms; at_ms += period_ms)
    cluster_.time().After(at_ms, [this, one, other, period_ms] {
      if (!stopped_) CutFor(one, other, period_ms / 2);
    });
}

void Faults::ClogSome(std::int64_t for_ms) {
  const std::string from = AnyRegion();
  const std::string to = AnyRegion();
  if (from == to) return;
  cluster_.network().Clog(from, to);
  CloseAfter(for_ms, Open(Fault::Kind::kClog, from, to),
             [this, from, to] { cluster_.network().Unclog(from, to); });
}

void Faults::CrashFor(const std::string& region, std::int64_t for_ms) {
  if (!cluster_.IsUp(region)) return;
  if (cluster_.IsPaused(region)) return;  // its pause ends first
  cluster_.Crash(region);
  crash_[region] = Open(Fault::Kind::kCrash, region);
  cluster_.time().After(for_ms, [this, region, fault = crash_[region]] {
    if (!IsOver(fault)) StartAgain(region);
  });
}

void Faults::CrashSome(std::int64_t for_ms) {
  CrashFor(Victim(), for_ms);
}

bool Faults::ReplaceFor(Fault::Kind kind, const std::string& region, std::int64_t age_ms,
                        const std::function<void()>& replace, std::int64_t for_ms) {
  if (!cluster_.IsUp(region) || cluster_.IsPaused(region)) return false;
  if (replacements_ == options_.replacements_max) return false;
  ++replacements_;
  cluster_.Crash(region);
  replace();
  crash_[region] = Open(kind, region, "", age_ms);
  cluster_.time().After(for_ms, [this, region, fault = crash_[region]] {
    if (!IsOver(fault)) StartAgain(region);
  });
  return true;
}

void Faults::EmptyFor(const std::string& region, std::int64_t for_ms) {
  ReplaceFor(
      Fault::Kind::kEmptied, region, 0, [this, region] { cluster_.Empty(region); }, for_ms);
}

void Faults::EmptySome(std::int64_t for_ms) {
  EmptyFor(AnyRegion(), for_ms);
}

// The copy is made now, and used when it is that old.
void Faults::RestoreFor(const std::string& region, std::int64_t age_ms, std::int64_t for_ms) {
  cluster_.time().After(age_ms,
                        [this, region, age_ms, for_ms, copy = cluster_.disk(region).durable()] {
                          if (stopped_) return;
                          ReplaceFor(
                              Fault::Kind::kRestored, region, age_ms,
                              [this, region, &copy] { cluster_.Restore(region, copy); }, for_ms);
                        });
}

void Faults::RestoreSome(std::int64_t age_ms) {
  RestoreFor(AnyRegion(), age_ms, kMoveMs);
}

void Faults::CloneFor(const std::string& region, std::int64_t age_ms, std::int64_t for_ms) {
  for (Violation& found : CheckClone(cluster_, region)) {
    found.at_ms = NowMillis();
    history_.violations.push_back(std::move(found));
  }
  if (replacements_ + 2 > options_.replacements_max) return;
  cluster_.time().After(
      age_ms, [this, region, age_ms, for_ms, copy = cluster_.disk(region).durable()] {
        const auto move = [this, region, &copy] { cluster_.MoveToCopy(region, copy); };
        if (stopped_ || !ReplaceFor(Fault::Kind::kCloned, region, age_ms, move, kMoveMs)) return;
        cluster_.time().After(kMoveMs + for_ms, [this, region, for_ms] {
          const auto move_back = [this, region] { cluster_.MoveBack(region); };
          if (!stopped_ && cluster_.IsOneAside(region))
            ReplaceFor(Fault::Kind::kCloned, region, for_ms, move_back, kMoveMs);
        });
      });
}

void Faults::CloneSome(std::int64_t for_ms) {
  const std::string region = AnyRegion();
  CloneFor(region, Below(8000), for_ms);
}

void Faults::StartAgain(const std::string& region) {
  EndWildJump(region);
  cluster_.Restart(region);
  if (const auto at = crash_.find(region); at != crash_.end()) Close(at->second);
}

void Faults::PauseFor(const std::string& region, std::int64_t for_ms) {
  if (!cluster_.IsUp(region) || cluster_.IsPaused(region)) return;
  cluster_.Pause(region);
  CloseAfter(for_ms, Open(Fault::Kind::kPause, region),
             [this, region] { cluster_.Resume(region); });
}

void Faults::PauseSome(std::int64_t for_ms) {
  PauseFor(Victim(), for_ms);
}

void Faults::SlowSome(std::int64_t for_ms) {
  const std::string region = Victim();
  const std::int64_t delay_ms = random_.OneIn(4) ? kForEverMs : 1 + Below(1500);
  cluster_.disk(region).SetSyncDelay(delay_ms);
  CloseAfter(for_ms, Open(Fault::Kind::kSlowDisk, region, "", delay_ms),
             [this, region] { cluster_.disk(region).SetSyncDelay(options_.sync_ms); });
}

// The process is latched from its next sync on, until Supervise() starts it again.
void Faults::FailSome(std::int64_t for_ms) {
  const std::string region = Victim();
  cluster_.disk(region).FailNextSync();
  CloseAfter(for_ms + 2 * kSuperviseMs, Open(Fault::Kind::kSyncFailure, region),
             [this, region] { cluster_.disk(region).FailNextSync(false); });
}

void Faults::FillSome(std::int64_t for_ms) {
  const std::string region = Victim();
  cluster_.disk(region).SetFull(true);
  CloseAfter(for_ms, Open(Fault::Kind::kDiskFull, region),
             [this, region] { cluster_.disk(region).SetFull(false); });
}

void Faults::Strike(const std::string& region, Moment moment) {
  const bool half_said = moment == Moment::kHalfSaid;
  const std::uint32_t percent =
      moment == Moment::kVoted ? options_.strike_voter_percent : options_.strike_percent;
  if (stopped_ || percent == 0 || (half_said && !options_.strike_cuts)) return;
  if (random_.Below(100) >= percent) return;
  const bool cut = options_.strike_cuts && moment != Moment::kVoted;
  // Half of them before a word that was said at once has arrived.
  const bool at_once = half_said || random_.OneIn(2);
  const std::int64_t within_ms =
      at_once ? std::min(options_.strike_ms_max, options_.links.delay_ms) : options_.strike_ms_max;
  const std::int64_t for_ms =
      1 + options_.strike_down_ms_max / 3 + Below(options_.strike_down_ms_max);
  cluster_.time().After(Below(within_ms + 1), [this, region, cut, for_ms] {
    if (stopped_) return;
    if (!cut) return CrashFor(region, for_ms);
    for (const std::string& other : cluster_.regions())
      if (other != region) CutFor(region, other, for_ms);
  });
}

void Faults::BeginFault(Fault fault) {
  const std::int64_t for_ms = fault.to_ms - fault.from_ms;
  fault.region = Resolve(fault.region);
  switch (fault.kind) {
    case Fault::Kind::kCut:
      if (!fault.other.empty()) return CutOne(fault.region, fault.other, for_ms);
      for (const std::string& other : cluster_.regions())
        if (other != fault.region) CutFor(fault.region, other, for_ms);
      return;
    case Fault::Kind::kClog:
      cluster_.network().Clog(fault.region, fault.other);
      return CloseAfter(for_ms, Open(fault.kind, fault.region, fault.other),
                        [this, fault] { cluster_.network().Unclog(fault.region, fault.other); });
    case Fault::Kind::kCrash:
      return CrashFor(fault.region, for_ms);
    case Fault::Kind::kPause:
      return PauseFor(fault.region, for_ms);
    case Fault::Kind::kSlowDisk:
      cluster_.disk(fault.region).SetSyncDelay(fault.amount);
      return CloseAfter(for_ms, Open(fault.kind, fault.region, "", fault.amount), [this, fault] {
        cluster_.disk(fault.region).SetSyncDelay(options_.sync_ms);
      });
    case Fault::Kind::kSyncFailure:
      cluster_.disk(fault.region).FailNextSync();
      return CloseAfter(for_ms, Open(fault.kind, fault.region),
                        [this, fault] { cluster_.disk(fault.region).FailNextSync(false); });
    case Fault::Kind::kDiskFull:
      cluster_.disk(fault.region).SetFull(true);
      return CloseAfter(for_ms, Open(fault.kind, fault.region),
                        [this, fault] { cluster_.disk(fault.region).SetFull(false); });
    case Fault::Kind::kClockJump:
      return JumpFor(fault.region, fault.amount, for_ms);
    case Fault::Kind::kEmptied:
      return EmptyFor(fault.region, for_ms);
    case Fault::Kind::kRestored:
      return RestoreFor(fault.region, fault.amount, for_ms);
    case Fault::Kind::kSteppedStarts:
      return StepFor(fault.region, fault.amount, for_ms);
    case Fault::Kind::kStopped:
      return StopFor(fault.region, for_ms);
    case Fault::Kind::kCloned:
      return CloneFor(fault.region, fault.amount, for_ms);
    case Fault::Kind::kTransfer:
      return TransferTo(fault.region);
    case Fault::Kind::kDismissed:
      return DismissFor(fault.region, for_ms);
    case Fault::Kind::kLossyLinks:
      return;  // said by the rules of the links, for the whole phase
  }
}

// A process whose store failed, or that could not start, ends; whoever looks after it starts it
// again.
void Faults::Supervise() {
  for (const std::string& region : cluster_.regions()) {
    if (!cluster_.IsUp(region) || cluster_.IsPaused(region)) continue;
    if (!cluster_.replica(region).Gauges().store_failed && !cluster_.HasFailedToStart(region))
      continue;
    cluster_.Crash(region);
    crash_[region] = Open(Fault::Kind::kCrash, region);
    StartAgain(region);
  }
  cluster_.time().After(kSuperviseMs, [this] { Supervise(); });
}

void Faults::Stop() {
  stopped_ = true;
  Network& network = cluster_.network();
  network.MendAll();
  network.UnclogAll();
  LinkRules quiet;
  quiet.delay_ms = options_.links.delay_ms;
  quiet.jitter_ms = options_.links.jitter_ms;
  network.SetRules(quiet);
  for (const std::string& region : cluster_.regions()) {
    cluster_.disk(region).SetFull(false);
    cluster_.disk(region).SetSyncDelay(0);
    cluster_.disk(region).FailNextSync(false);
    EndWildJump(region);
    keeper_.Readmit(region);
    if (!cluster_.IsUp(region))
      StartAgain(region);
    else if (cluster_.IsPaused(region))
      cluster_.Resume(region);
  }
  for (std::size_t i = 0; i < history_.faults.size(); ++i)
    if (!IsStopping(history_.faults[i])) Close(i);
  if (options_.rules_gap_ms > 0 && !changing_rules_) EndRules(rules_);
}

std::int64_t Faults::CleanSinceMillis(const std::string& one, const std::string& other) const {
  std::int64_t since_ms = 0;
  for (const Fault& fault : history_.faults) {
    const auto is = [&fault](const std::string& a, const std::string& b) {
      return fault.region == a && fault.other == b;
    };
    const bool between = fault.kind == Fault::Kind::kCut || fault.kind == Fault::Kind::kClog;
    const bool touches = between
                             ? is(one, other) || is(other, one)
                             : fault.region.empty() || fault.region == one || fault.region == other;
    if (!touches) continue;
    // Messages that were very late then may still be on their way.
    const bool late =
        fault.kind == Fault::Kind::kLossyLinks && options_.links.very_late_permille > 0;
    const std::int64_t until_ms = fault.to_ms + (late ? options_.links.very_late_ms : 0);
    since_ms = std::max(since_ms, fault.to_ms < 0 ? NowMillis() : std::min(until_ms, NowMillis()));
  }
  return since_ms;
}

}  // namespace once
