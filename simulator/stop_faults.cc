// What is no fault of anybody's: an operator stops a node, and starts it again.
#include <algorithm>

#include "conflict/probe.h"
#include "simulator/faults.h"

namespace once {
namespace {

constexpr std::int64_t kKilledAfterMs = 6000;  // then it is killed
constexpr std::int64_t kKillAgainMs = 100;
constexpr std::int64_t kSettledMs = 5000;
constexpr std::int64_t kHandOverMs = 500;

}  // namespace

void Faults::StopSome(std::int64_t for_ms) {
  StopFor(random_.OneIn(2) ? Resolve("leader") : Victim(), for_ms);
}

bool Faults::MustHandOver(const std::string& region) const {
  const LinkRules& links = options_.links;
  const std::int64_t since_ms = NowMillis() - kSettledMs;
  if (!keeper_.Leads(region) || history_.leaders.empty()) return false;
  if (4 * (links.delay_ms + links.jitter_ms) + 2 * options_.sync_ms > kHandOverMs) return false;
  if (history_.leaders.back().region != region || history_.leaders.back().at_ms > since_ms)
    return false;
  const bool members_stay = std::ranges::none_of(history_.faults, [&](const Fault& fault) {
    return fault.kind == Fault::Kind::kDismissed && (fault.to_ms < 0 || fault.to_ms > since_ms);
  });
  const auto well = std::ranges::count_if(cluster_.regions(), [&](const std::string& other) {
    return other != region && CleanSinceMillis(region, other) <= since_ms;
  });
  return members_stay && 2 * (static_cast<std::size_t>(well) + 1) > cluster_.regions().size();
}

void Faults::StopFor(const std::string& region, std::int64_t for_ms) {
  if (!cluster_.IsUp(region) || cluster_.IsPaused(region)) return;
  if (!cluster_.replica(region).Answering()) return;
  if (keeper_.Leads(region)) Reached("a leader was told to stop");
  const std::size_t stop = history_.stops.size();
  const std::int64_t started_ms = (cluster_.StartedMicros(region) - start_us_) / 1000;
  history_.stops.push_back({region, started_ms, NowMillis(), -1, false, MustHandOver(region)});
  const std::size_t fault = Open(Fault::Kind::kStopped, region);
  cluster_.StopNode(region, [this, stop, fault, for_ms] { HasEnded(stop, fault, for_ms); });
  cluster_.time().After(kKilledAfterMs, [this, stop, fault, start = cluster_.starts(region),
                                         for_ms] { KillUnlessEnded(stop, fault, start, for_ms); });
}

bool Faults::IsStopping(const Fault& fault) const {
  return fault.kind == Fault::Kind::kStopped && fault.to_ms < 0 && cluster_.IsUp(fault.region) &&
         !cluster_.replica(fault.region).Answering();
}

void Faults::HasEnded(std::size_t stop, std::size_t fault, std::int64_t for_ms) {
  Stopped& stopped = history_.stops[stop];
  stopped.ended_ms = NowMillis();
  const bool alone = history_.faults.size() == fault + 1;  // nothing has gone wrong since
  stopped.led_on = stopped.led_on && alone && keeper_.Leads(stopped.region);
  EndStopped(fault, for_ms);
}

void Faults::KillUnlessEnded(std::size_t stop, std::size_t fault, std::uint64_t start,
                             std::int64_t for_ms) {
  Stopped& stopped = history_.stops[stop];
  if (stopped.ended_ms >= 0) return;
  if (!cluster_.IsUp(stopped.region) || cluster_.starts(stopped.region) != start)
    return Close(fault);
  if (cluster_.IsPaused(stopped.region)) {
    cluster_.time().After(kKillAgainMs, [this, stop, fault, start, for_ms] {
      KillUnlessEnded(stop, fault, start, for_ms);
    });
    return;
  }
  stopped.killed = true;
  EndStopped(fault, for_ms);
}

// It has nothing to lose that anybody was told of: the power may as well fail then.
void Faults::EndStopped(std::size_t fault, std::int64_t for_ms) {
  const std::string region = history_.faults[fault].region;
  cluster_.Crash(region);
  crash_[region] = fault;
  if (stopped_) return StartAgain(region);
  cluster_.time().After(for_ms, [this, region, fault] {
    if (!IsOver(fault)) StartAgain(region);
  });
}

}  // namespace once
