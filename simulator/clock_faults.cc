// Faults of wall clocks.
#include <algorithm>
#include <utility>

#include "simulator/faults.h"

namespace once {

void Faults::SetOffset(const std::string& region, std::int64_t offset_ms) {
  cluster_.JumpWall(region, offset_ms - offset_ms_[region]);
  offset_ms_[region] = offset_ms;
}

void Faults::JumpSome(std::int64_t) {
  const std::int64_t most_ms = std::max<std::int64_t>(options_.skew_ms_max, 200);
  const std::int64_t offset_ms = Below(2 * most_ms + 1) - most_ms;
  SetOffset(AnyRegion(), offset_ms);
}

void Faults::Drift() {
  for (const std::string& region : cluster_.regions()) {
    const std::int64_t moved_ms =
        offset_ms_[region] + Below(2 * options_.drift_ms_max + 1) - options_.drift_ms_max;
    SetOffset(region, std::clamp<std::int64_t>(moved_ms, -450, 450));
  }
  cluster_.time().After(1000, [this] {
    if (!stopped_) Drift();
  });
}

void Faults::JumpFor(const std::string& region, std::int64_t amount_ms, std::int64_t for_ms) {
  if (!cluster_.IsUp(region) || wild_ms_[region] != 0) return;
  cluster_.JumpWall(region, amount_ms);
  wild_ms_[region] = amount_ms;
  wild_[region] = Open(Fault::Kind::kClockJump, region, "", amount_ms);
  cluster_.time().After(for_ms, [this, region, fault = wild_[region]] {
    if (!IsOver(fault)) EndWildJump(region);
  });
}

void Faults::JumpWildly(std::int64_t for_ms) {
  const std::int64_t size_ms = 3000 + Below(random_.OneIn(2) ? 10'000 : 90'000'000);
  const std::int64_t amount_ms = random_.OneIn(2) ? size_ms : -size_ms;
  JumpFor(Victim(), amount_ms, for_ms);
}

// Long enough before the end that it can be put right. One that is cut off has heard before that
// its clock differs, as a rule, and keys expire while nobody can tell it.
void Faults::StartSomeOff(std::int64_t for_ms) {
  const std::int64_t amount_ms = 4000 + Below(4000);
  const std::string region = AnyRegion();
  const bool behind = random_.OneIn(2);
  const bool cut = random_.OneIn(2);
  if (cut) for_ms += 5000;
  if (NowMillis() + for_ms + 2 * amount_ms + kPauseMsMax > until_ms_) return;
  if (!off_.empty() || wild_ms_[region] != 0) return;
  if (!cluster_.IsUp(region) || cluster_.IsPaused(region)) return;
  off_ = region;
  behind ? StartBehindFor(region, amount_ms, for_ms) : StartAheadFor(region, amount_ms, for_ms);
  const std::int64_t started_ms = behind ? amount_ms + kPauseMsMax / 10 : 0;
  if (!cut) return;
  cluster_.time().After(started_ms + 1000 + Below(1500), [this, region, for_ms] {
    for (const std::string& other : cluster_.regions())
      if (!stopped_ && other != region) CutFor(region, other, for_ms);
  });
}

void Faults::StartAheadFor(const std::string& region, std::int64_t amount_ms, std::int64_t for_ms) {
  started_ahead_.insert(region);
  wild_ms_[region] = amount_ms;
  wild_[region] = Open(Fault::Kind::kClockJump, region, "", amount_ms);
  cluster_.Crash(region);
  cluster_.JumpWall(region, amount_ms);
  cluster_.Restart(region);
  cluster_.time().After(for_ms / 2, [this, region] {
    if (!stopped_) TransferTo(region);
  });
  cluster_.time().After(for_ms, [this, amount_ms] { EndAhead(amount_ms); });
}

bool Faults::EndOff() {
  if (cluster_.IsUp(off_) && cluster_.IsPaused(off_)) return false;
  if (cluster_.IsUp(off_))
    cluster_.Crash(off_);
  else
    Close(crash_[off_]);
  const std::string region = std::exchange(off_, {});
  EndWildJump(region);
  crash_[region] = Open(Fault::Kind::kCrash, region);
  return true;
}

// What it stored is ahead as well, so it is down until that is past.
void Faults::EndAhead(std::int64_t amount_ms) {
  const std::string region = off_;
  if (!EndOff()) {
    cluster_.time().After(100, [this, amount_ms] { EndAhead(amount_ms); });
    return;
  }
  cluster_.time().After(amount_ms, [this, region, fault = crash_[region]] {
    if (!IsOver(fault)) StartAgain(region);
  });
}

void Faults::StartBehindFor(const std::string& region, std::int64_t amount_ms,
                            std::int64_t for_ms) {
  started_behind_.insert(region);
  wild_ms_[region] = -amount_ms;
  wild_[region] = Open(Fault::Kind::kClockJump, region, "", -amount_ms);
  cluster_.Crash(region);
  cluster_.JumpWall(region, -amount_ms);
  crash_[region] = Open(Fault::Kind::kCrash, region);
  const std::int64_t down_ms = amount_ms + kPauseMsMax / 10;
  cluster_.time().After(down_ms, [this, region, fault = crash_[region]] {
    if (!IsOver(fault)) StartAgain(region);
  });
  cluster_.time().After(down_ms + for_ms, [this] { EndBehind(); });
}

void Faults::EndBehind() {
  const std::string region = off_;
  if (!EndOff()) {
    cluster_.time().After(100, [this] { EndBehind(); });
    return;
  }
  StartAgain(region);
}

void Faults::EndWildJump(const std::string& region) {
  if (wild_ms_[region] == 0 || region == off_) return;
  cluster_.JumpWall(region, -wild_ms_[region]);
  wild_ms_[region] = 0;
  Close(wild_[region]);
}

}  // namespace once
