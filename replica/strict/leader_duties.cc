#include "replica/strict/leader_duties.h"

#include <algorithm>
#include <utility>

#include "conflict/mutation.h"
#include "conflict/probe.h"

namespace once {
namespace {

constexpr std::int64_t kRoundMs = 500;
constexpr std::uint64_t kRoundsBetweenLooks = 10;

}  // namespace

LeaderDuties::LeaderDuties(Scheduler& scheduler, NodeClock& clock, Engine& engine,
                           StrictState& state, StrictProposals& proposals, std::int64_t skew_ms)
    : scheduler_(scheduler),
      clock_(clock),
      engine_(engine),
      state_(state),
      proposals_(proposals),
      skew_ms_(skew_ms) {}

LeaderDuties::~LeaderDuties() {
  *alive_ = false;
}

void LeaderDuties::Start() {
  scheduler_.After(kRoundMs, [this, alive = alive_] {
    if (!*alive) return;
    Start();
    if (engine_.Leads()) Round();
  });
}

void LeaderDuties::TakeOver() {
  try {
    LookAtRuns();
  } catch (const KvUnreadable&) {
    // The next look may be able to.
  }
}

void LeaderDuties::Round() {
  if (!clock_.Safe()) return engine_.GiveWay();
  try {
    const std::int64_t due_ms = clock_.NowMillis() - skew_ms_;
    if (!state_.tables().expiry().Oldest(keys::Expiring::kSlot, due_ms, 1).empty() ||
        !state_.tables().expiry().Oldest(keys::Expiring::kRun, due_ms, 1).empty())
      ExpireMore();
    // A step whose proposal was refused or lost is found again by this.
    if (++rounds_ % kRoundsBetweenLooks == 0 && !MutationOn("long-runs-forgotten")) LookAtRuns();
  } catch (const KvUnreadable&) {
    // The next round may be able to.
  }
}

void LeaderDuties::ExpireMore() {
  Command command;
  command.mutable_expire_due()->set_limit(kExpiryBatch);
  proposals_.TakeOwn(command);
}

void LeaderDuties::LookAtRuns() {
  for (const std::string& run_id : state_.tables().ActiveRuns()) Consider(run_id);
}

void LeaderDuties::Consider(const std::string& run_id) {
  if (!engine_.Leads()) return;
  const auto run = state_.tables().FindRun(run_id);
  if (!run || run->status() != RUNNING) return;
  const std::int64_t wait_ms = std::max<std::int64_t>(1, run->due_ms() - clock_.NowMillis());
  // A run that is due later than the next look will be met by it.
  if (wait_ms > kRoundMs * static_cast<std::int64_t>(kRoundsBetweenLooks)) {
    Reached("a run is due later than the leader's next look");
    return;
  }
  scheduler_.After(wait_ms, [this, alive = alive_, run_id, step = run->step()] {
    if (!*alive) return;
    if (!engine_.Leads()) return Reached("a run came due when its leader led no more");
    Command command;
    command.mutable_advance_run()->set_run_id(run_id);
    command.mutable_advance_run()->set_step(step);
    proposals_.TakeOwn(command);
  });
}

}  // namespace once
