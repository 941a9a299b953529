#include "simulator/runner.h"

#include <algorithm>
#include <optional>
#include <set>

#include "simulator/checks.h"
#include "simulator/clock_watch.h"
#include "simulator/disk_watch.h"
#include "simulator/faults.h"
#include "simulator/group_operator.h"
#include "simulator/group_watch.h"
#include "simulator/link_watch.h"
#include "simulator/oracle.h"
#include "simulator/rules_faults.h"
#include "simulator/run_callers.h"
#include "simulator/strict_room_watch.h"
#include "simulator/take_up_watch.h"
#include "simulator/trace.h"
#include "simulator/workload.h"

namespace once {
namespace {

constexpr std::int64_t kWatchMs = 250;
constexpr std::int64_t kStepMs = 50;
constexpr std::int64_t kLateExcusedMs = 20'000;  // what comes later is as good as lost
constexpr std::size_t kViolationsMax = 20;

// What they begin is over soon.
WorkloadOptions ForMovingTenant(WorkloadOptions options) {
  options.tenant = kMovingTenant;
  options.calls = 50;
  options.keys = 3;
  options.lease_ms = std::min<std::uint64_t>(options.lease_ms, 1000);
  options.short_retention_percent = 100;
  options.short_retention_ms_max = 12'000;
  options.late_retry_percent = 0;
  options.look_up_percent = 0;
  return options;
}

class Simulation {
 public:
  explicit Simulation(const RunOptions& options)
      : options_(options),
        cluster_(options.cluster),
        start_wall_ms_(cluster_.time().WallMillis()),
        workload_(cluster_, options.workload, options.seed * 3 + 1, history_),
        run_callers_(cluster_, options.run_callers, options.seed * 11 + 4, history_),
        keeper_(cluster_, options.seed * 7 + 3, options.faults.MayLose() ? 3 : 1),
        faults_(cluster_, keeper_, options.faults, options.seed * 5 + 2, history_),
        watch_(cluster_, faults_, kWatchMs),
        disks_(cluster_, [this](Violations found) { Keep(std::move(found)); }),
        strict_room_(cluster_),
        take_ups_(history_, start_wall_ms_),
        movers_(cluster_, ForMovingTenant(options.workload), options.seed * 13 + 5, history_) {
    history_.seed = options.seed;
    history_.scenario = options.scenario;
    history_.strict = options.strict;
    history_.regions = cluster_.regions();
    history_.options = once::Describe(options);
    history_.lag_bound_ms = LagBoundMillis(options);
    cluster_.network().on_deliver = [this](const std::string& from, const std::string& to,
                                           const std::string& message) {
      trace_.Add(Elapsed()).Add(from).Add(to).Add(message);
      if (group_ && faults_.off() == to) group_->Delivered(from, to, message);
    };
    cluster_.on_restart = [this](const std::string& region) {
      history_.starts.push_back({region, cluster_.life(region), Elapsed()});
      ListenToLag(region);
      if (group_) group_->Restarted(region);
      // With another directory it must be told first; in the end it must have been.
      if (!cluster_.HasFailedToStart(region)) Keep(CheckCounters(cluster_, region, false));
      if (cluster_.life(region) == 0) LookAtAcknowledged(region);
    };
    cluster_.on_replaced = [this](const std::string& region) {
      NoteLost(ReadDurable(cluster_), history_);
      watch_.Excuse(region);
      disks_.Follow(region);
    };
    cluster_.on_answered = [this](const std::string& region, const Answer& answer) {
      Keep(strict_room_.Look(region, answer));
    };
    cluster_.on_applied = [this](const Claim& claim) { Keep(take_ups_.Look(claim, Elapsed())); };
    for (const std::string& region : cluster_.regions()) ListenToLag(region);
    if (options.strict)
      group_.emplace(cluster_, keeper_, faults_, history_,
                     options.faults.links.very_late_permille > 0
                         ? std::min(options.faults.links.very_late_ms, kLateExcusedMs)
                         : 0,
                     [this](Violations found) { Keep(std::move(found)); });
  }

  History Run() {
    if (options_.faults.rules_gap_ms > 0) StartMovers();
    faults_.Start(options_.safety_ms);
    workload_.Start(options_.safety_ms);
    run_callers_.Start(options_.safety_ms);
    watch_.Start();
    WatchMemory();
    if (group_) group_->Start(), keeper_.Start();
    Advance(options_.safety_ms);
    history_.safety_ms = options_.safety_ms;
    workload_.Stop();
    run_callers_.Stop();
    movers_.Stop();
    faults_.Stop();
    if (group_) group_->Healed();
    Converge();
    WaitForForgetting();
    for (const std::string& region : cluster_.regions()) {
      workload_.Probe(region);
      if (options_.faults.rules_gap_ms > 0) movers_.Probe(region);
      Settle();
    }
    Settle();
    Check();
    Finish();
    return std::move(history_);
  }

 private:
  std::int64_t Elapsed() { return cluster_.time().MonotonicMicros() / 1000 - 1000; }

  void LookAtAcknowledged(const std::string& region) {
    const Holdings held = {{region, ReadSlots(cluster_.disk(region).visible())}};
    NoteEvicted(disks_.evictions(), held.at(region), history_);
    NoteEvicted(disks_.perhaps_evicted(), held.at(region), history_);
    Keep(CheckDurability(history_, held, Elapsed(), options_.cluster.forget_grace_ms));
  }

  bool Quiet() {
    if (faults_.changing_rules() || !cluster_.Converged()) return false;
    if (workload_.waiting() + movers_.waiting() + run_callers_.waiting() > 0) return false;
    if (group_ && !group_->Unwell().empty()) return false;
    return std::all_of(cluster_.regions().begin(), cluster_.regions().end(),
                       [this](const std::string& region) {
                         return cluster_.replica(region).Unready().empty() &&
                                cluster_.gossip(region).journal().CountFrames() == 0;
                       });
  }

  void StartMovers() {
    movers_.Start(options_.safety_ms);
    faults_.on_rules_change = [this](bool may_go_on) {
      may_go_on ? movers_.GoOn() : movers_.Stop();
    };
  }

  void Advance(std::int64_t duration_ms) {
    if (!options_.detailed) return cluster_.time().RunFor(duration_ms);
    for (; duration_ms > 0; duration_ms -= kStepMs) {
      cluster_.time().RunFor(std::min(kStepMs, duration_ms));
      NoteConvergence();
    }
  }

  bool RunUntilQuiet(std::int64_t limit_ms) {
    for (std::int64_t spent_ms = 0; spent_ms < limit_ms; spent_ms += kStepMs) {
      Advance(kStepMs);
      if (Quiet()) return true;
    }
    return false;
  }

  void Converge() {
    if (!RunUntilQuiet(options_.liveness_ms_max)) SayNotQuiet();
    // Whoever was executing when the callers stopped has lost its lease after this.
    Advance(static_cast<std::int64_t>(options_.workload.lease_ms) + 3000);
  }

  // Where that is soon.
  void WaitForForgetting() {
    constexpr std::int64_t kSoonMs = 60'000;
    const std::int64_t grace_ms = options_.cluster.forget_grace_ms;
    if (grace_ms < kSoonMs) Advance(grace_ms + 10'000);
  }

  void Settle() {
    Advance(2 * options_.cluster.gossip.interval_ms);
    if (!RunUntilQuiet(options_.liveness_ms_max)) SayNotQuiet();
  }

  void SayNotQuiet() {
    std::string what = "not quiet in time:";
    if (!cluster_.Converged()) what += " regions differ;";
    if (group_) what += " strict group: " + group_->Unwell() + ";";
    for (const std::string& region : cluster_.regions()) {
      if (const std::string why = cluster_.replica(region).Unready(); !why.empty())
        what += " " + region + " is not ready: " + why + ";";
      what += " " + region + " keeps " +
              std::to_string(cluster_.gossip(region).journal().CountFrames()) + " frames;";
    }
    Keep({{"liveness", what, Elapsed()}});
  }

  void Check() {
    const std::int64_t grace_ms = options_.cluster.forget_grace_ms;
    holdings_ = ReadHoldings(cluster_);
    for (const std::string& region : cluster_.regions()) NoteLosses(region);
    for (const auto& [region, slots] : holdings_)
      for (const auto& [key, slot] : slots)
        for (const Claim& claim : slot.claims()) Keep(take_ups_.Look(claim, Elapsed()));
    if (options_.cluster.evict_oldest)
      for (const auto* evicted : {&disks_.evictions(), &disks_.perhaps_evicted()})
        NoteEvicted(*evicted, holdings_.begin()->second, history_);
    Keep(take_ups_.Refused());
    Keep(CheckStopped(history_));
    ExcuseUntold(history_);
    Keep(CheckHistory(history_));
    Keep(CheckBlocked(history_));
    Keep(CheckAnswered(history_, options_.faults.rules_gap_ms > 0));
    Keep(CheckDurability(history_, holdings_, Elapsed(), grace_ms));
    Keep(CheckRoom(cluster_, holdings_, history_));
    Keep(CheckForgotten(cluster_));
    Keep(CheckRecords(cluster_, holdings_));
    Keep(CheckLateCompletions(cluster_, history_));
    for (const std::string& region : cluster_.regions()) Keep(CheckCounters(cluster_, region));
    holdings_ = WithoutForgettable(std::move(holdings_), cluster_.time().WallMillis(), grace_ms);
    Keep(CheckSurvivor(cluster_, holdings_));
    Keep(CheckLosers(cluster_, holdings_, history_));
    Keep(CheckConflictCount(cluster_, holdings_, grace_ms));
    Keep(CheckDrained(cluster_, faults_.started_ahead(), faults_.started_behind()));
    Keep(CheckMemoryAtRest(cluster_));
    if (group_) group_->Check(), Keep(CheckKept(cluster_, history_, Elapsed()));
    // Where members are not waited for, fresh news goes behind what is said again.
    const GossipOptions& gossip = options_.cluster.gossip;
    const bool waits = gossip.silence_ms_max == GossipOptions().silence_ms_max;
    Keep(CheckLag(watch_.divergences(),
                  history_.lag_bound_ms + kWatchMs + (waits ? 0 : gossip.baseline_ms), options_));
    // After a restart the age is known by the calendar only, to within the skew bound.
    Keep(CheckGauge(watch_.divergences(), options_.cluster.gossip.interval_ms + kWatchMs +
                                              options_.cluster.gossip.skew_bound_ms));
    CheckRuns();
    CheckProbes();
  }

  void CheckRuns() {
    const RunHoldings runs = ReadRunHoldings(cluster_);
    const std::int64_t now_ms = cluster_.time().WallMillis();
    const auto retention_ms = static_cast<std::int64_t>(options_.cluster.run_retention_ms);
    Keep(CheckCancelled(history_, runs));
    Keep(CheckRunCommands(history_, runs, start_wall_ms_));
    Keep(CheckRunAnswers(history_, retention_ms));
    Keep(CheckRunEnds(history_, runs));
    Keep(CheckRunEvents(runs));
    Keep(CheckRunRecords(runs, now_ms, retention_ms));
    Keep(CheckRunProgress(runs, now_ms));
    Keep(CheckRunsForgotten(cluster_));
  }

  // Until something is found: it would be found again each time.
  void WatchMemory() {
    cluster_.time().After(kWatchMs, [this] {
      Violations found = CheckMemory(cluster_);
      for (Violation& grown : CheckSizes(cluster_)) found.push_back(std::move(grown));
      if (found.empty()) WatchMemory();
      Keep(std::move(found));
    });
  }

  // A store that is at its bound refuses what is new, and a key that was given back too often.
  bool IsRefusedForRoom(const Operation& operation) const {
    const bool strict = operation.strict && operation.answer == Operation::Answer::kUnavailable;
    if (!strict && operation.answer != Operation::Answer::kFull) return false;
    return !operation.room || (options_.workload.give_back_times > 0 && operation.key == "k0");
  }

  // In the end every key is answered in every region.
  void CheckProbes() {
    for (const Operation& operation : history_.operations)
      if (operation.invoked_ms > options_.safety_ms &&
          (operation.answer == Operation::Answer::kNone ||
           operation.answer == Operation::Answer::kFull ||
           operation.answer == Operation::Answer::kUnavailable) &&
          operation.kind == Operation::Kind::kBegin && !IsRefusedForRoom(operation))
        Keep({{"liveness", "no answer for " + operation.region + " " + operation.key,
               operation.invoked_ms}});
  }

  void Finish() {
    std::erase_if(history_.violations, [this](const Violation& violation) {
      return violation.checker == options_.without;
    });
    for (const Operation& operation : history_.operations)
      trace_.Add(operation.invoked_ms)
          .Add(operation.returned_ms)
          .Add(static_cast<std::int64_t>(operation.answer))
          .Add(operation.run_id)
          .Add(operation.answer_body);
    for (const LostRun& lost : history_.lost) trace_.Add(lost.winner).Add(lost.loser);
    history_.trace_hash = trace_.hash();
    history_.changes_refused = keeper_.refused();
    history_.messages = cluster_.network().delivered();
    history_.message_bytes = cluster_.network().bytes();
    history_.end_ms = Elapsed();
  }

  void NoteLosses(const std::string& region) {
    const Slots& slots = holdings_.at(region);
    for (const Conflict& conflict : cluster_.replica(region).tables().Conflicts(0, kConflictsMax)) {
      if (conflict.kind() != LOST || conflict.region() != region) continue;  // another's loser
      LostRun lost;
      lost.detected_ms = conflict.detected_ms() - start_wall_ms_;
      lost.region = region;
      lost.tenant = conflict.tenant();
      lost.winner = conflict.winner();
      lost.loser = conflict.loser();
      lost.region_pair = conflict.region_pair();
      lost.payload_divergent = conflict.payload_divergent();
      lost.loser_had_completed = conflict.loser_had_completed();
      for (const auto& [key, slot] : slots)
        for (const Claim& claim : slot.claims())
          if (claim.run_id() == conflict.loser()) lost.key = key.second;
      history_.lost.push_back(std::move(lost));
    }
  }

  void ListenToLag(const std::string& region) {
    if (!options_.detailed) return;
    cluster_.gossip(region).on_lag = [this, region](const std::string& peer, std::int64_t lag_ms) {
      history_.lags.push_back({Elapsed(), region, peer, lag_ms});
    };
  }

  // By what is on the disks: looking must not change what is in memory.
  void NoteConvergence() {
    struct Held {
      std::string key;
      std::set<std::string> forms;
      std::size_t regions = 0;
    };
    std::map<std::string, Held> slots;
    for (const std::string& region : cluster_.regions()) {
      const auto& disk = cluster_.disk(region).visible();
      for (auto at = disk.lower_bound("s"); at != disk.end() && at->first[0] == 's'; ++at) {
        Slot slot;
        slot.ParseFromString(at->second);
        std::string form;
        for (const Claim& claim : slot.claims()) form += claim.SerializeAsString();
        Held& held = slots[at->first];
        held.key = slot.key();
        held.forms.insert(std::move(form));
        ++held.regions;
      }
    }
    std::int64_t well_ms = 0;
    for (const Fault& fault : history_.faults) well_ms = std::max(well_ms, fault.to_ms);
    std::map<std::string, std::int64_t> differs_ms;
    for (const auto& [hash, held] : slots) {
      const auto before = differs_since_ms_.find(hash);
      const bool differed = before != differs_since_ms_.end();
      if (held.forms.size() > 1 || held.regions < cluster_.regions().size())
        differs_ms[hash] = differed ? before->second : Elapsed();
      else if (differed)
        history_.convergences.push_back({held.key, Elapsed() - std::max(before->second, well_ms)});
    }
    differs_since_ms_ = std::move(differs_ms);
  }

  void Keep(Violations violations) {
    for (Violation& violation : violations) {
      if (violation.checker == options_.without) continue;
      if (history_.violations.size() == kViolationsMax) {
        ++history_.violations_left_out;
        continue;
      }
      // What shows only in what the regions hold was found now.
      if (violation.at_ms == 0) violation.at_ms = Elapsed();
      history_.violations.push_back(std::move(violation));
    }
  }

  const RunOptions options_;
  History history_;
  Trace trace_;
  Cluster cluster_;
  const std::int64_t start_wall_ms_;
  Workload workload_;
  RunCallers run_callers_;
  GroupOperator keeper_;
  Faults faults_;
  LinkWatch watch_;
  DiskWatch disks_;
  StrictRoomWatch strict_room_;
  TakeUpWatch take_ups_;
  Workload movers_;                                       // of the tenant whose mode changes
  std::optional<GroupWatch> group_;                       // in a world with a strict group
  Holdings holdings_;                                     // in the end
  std::map<std::string, std::int64_t> differs_since_ms_;  // by slot hash
};

}  // namespace

History Simulate(const RunOptions& options) {
  return Simulation(options).Run();
}

}  // namespace once
