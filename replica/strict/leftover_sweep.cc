#include "replica/strict/leftover_sweep.h"

namespace once {
namespace {

constexpr std::size_t kRecordsMax = 512;
constexpr std::int64_t kRetryMs = 1000;

}  // namespace

LeftoverSweep::LeftoverSweep(Scheduler& scheduler, Tables& outer, Commit& commit,
                             StrictGenerations& generations)
    : scheduler_(scheduler), outer_(outer), commit_(commit), generations_(generations) {}

LeftoverSweep::~LeftoverSweep() {
  *alive_ = false;
}

void LeftoverSweep::Begin() {
  if (sweeping_) return;
  sweeping_ = true;
  SweepAfter(0);
}

void LeftoverSweep::SweepAfter(std::int64_t delay_ms) {
  scheduler_.After(delay_ms, [this, alive = alive_] {
    if (*alive) Sweep();
  });
}

void LeftoverSweep::Sweep() {
  try {
    sweeping_ = generations_.EraseLeftovers(kRecordsMax);
  } catch (const KvUnreadable&) {
    return SweepAfter(kRetryMs);
  }
  if (!sweeping_) return;
  commit_.WhenDurable(outer_.open_batch(), [this, alive = alive_](Durable durable) {
    // After kFull the generations were loaded anew, and are swept from the beginning.
    if (*alive && durable != Durable::kUnknown) SweepAfter(durable == Durable::kYes ? 0 : kRetryMs);
  });
}

}  // namespace once
