#include "simulator/group_watch.h"

#include <utility>

namespace once {
namespace {

constexpr std::int64_t kGroupLookMs = 250;
constexpr std::uint64_t kLooksBetweenStates = 2;
constexpr std::int64_t kElectionMs = 1200;  // the longest timeout of NativeEngineOptions
constexpr std::int64_t kElectionsMax = 12;

}  // namespace

GroupWatch::GroupWatch(Cluster& cluster, GroupOperator& keeper, Faults& faults, History& history,
                       std::int64_t late_ms, Keep keep)
    : cluster_(cluster),
      keeper_(keeper),
      keep_(std::move(keep)),
      raft_(cluster, history),
      states_(cluster),
      leader_(cluster, faults, history),
      hung_(cluster),
      rules_(cluster, history),
      clocks_(cluster, history),
      late_ms_(late_ms),
      start_us_(cluster.time().MonotonicMicros()) {
  raft_.on_moment = [&faults](const std::string& region, Moment moment) {
    faults.Strike(region, moment);
    if (moment == Moment::kLeads) faults.ChangeEarly(region);
  };
  cluster_.on_step = [this](const std::string& region) {
    keep_(raft_.Observe(region, NowMillis()));
    rules_.Observe(region, NowMillis());
    clocks_.Observe(region, NowMillis());
  };
}

void GroupWatch::Restarted(const std::string& region) {
  raft_.Restarted(region);
  rules_.Restarted(region, NowMillis());
  clocks_.Restarted(region, NowMillis());
}

std::int64_t GroupWatch::NowMillis() const {
  return (cluster_.time().MonotonicMicros() - start_us_) / 1000;
}

void GroupWatch::Start() {
  cluster_.time().After(kGroupLookMs, [this] {
    Look();
    Start();
  });
}

void GroupWatch::Look() {
  keep_(leader_.Look(NowMillis()));
  keep_(hung_.Look(NowMillis()));
  keep_(rules_.Look(NowMillis()));
  if (++looks_ % kLooksBetweenStates == 0) keep_(states_.Look(NowMillis()));
  if (healed_ms_ >= 0 && well_ms_ < 0 && Unwell().empty()) well_ms_ = NowMillis();
}

std::string GroupWatch::Unwell() {
  const std::string leader = keeper_.Leader();
  if (leader.empty()) return "nobody leads";
  const Raft& leading = *cluster_.raft(leader);
  if (const std::string missing = keeper_.Missing(leader); !missing.empty()) return missing;
  for (const std::string& region : cluster_.regions()) {
    const Raft* const raft = cluster_.raft(region);
    if (!raft) return region + " is silent";
    if (raft->leader() != leading.name()) return region + " does not follow " + leader;
    if (raft->applied() != leading.log().last_index())
      return region + " has applied " + std::to_string(raft->applied()) + " of " +
             std::to_string(leading.log().last_index());
  }
  return "";
}

void GroupWatch::Check() {
  keep_(states_.Look(NowMillis()));
  const std::string unwell = Unwell();
  if (!unwell.empty())
    keep_({{"liveness", "the strict group is not well: " + unwell, NowMillis()}});
  const std::int64_t took_ms = well_ms_ - healed_ms_ - late_ms_;
  if (well_ms_ >= 0 && took_ms > kElectionsMax * kElectionMs)
    keep_({{"liveness",
            "the strict group took " + std::to_string(took_ms) + " ms to be well, more than " +
                std::to_string(kElectionsMax) + " election timeouts",
            well_ms_}});
}

}  // namespace once
