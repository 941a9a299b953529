// Faults of starts: a region that lost what it had starts again soon, with its clock set back.
#include "conflict/probe.h"
#include "simulator/faults.h"

namespace once {
namespace {

constexpr std::int64_t kDownMs = 20;
constexpr std::int64_t kStepMsMax =
    450;  // either way: any two clocks differ by less than the bound

}  // namespace

// What a start makes of the clock, and a directory does not know, the second start makes lower.
void Faults::StepFor(const std::string& region, std::int64_t step_ms, std::int64_t for_ms) {
  const auto empty_at = [this, region](std::int64_t offset_ms) {
    return [this, region, offset_ms] {
      cluster_.Empty(region);
      SetOffset(region, offset_ms);
    };
  };
  const MemoryDisk::Contents backup = cluster_.disk(region).durable();
  if (!ReplaceFor(Fault::Kind::kSteppedStarts, region, step_ms, empty_at(step_ms), kDownMs)) return;
  const bool restored = random_.OneIn(2);
  cluster_.time().After(kDownMs + for_ms, [this, region, step_ms, restored, empty_at, backup] {
    if (stopped_) return;
    const auto restore = [&] {
      cluster_.Restore(region, backup);
      SetOffset(region, -step_ms);
    };
    Reached("a region started twice within the clock bound");
    if (restored)
      ReplaceFor(Fault::Kind::kSteppedStarts, region, step_ms, restore, kDownMs);
    else
      ReplaceFor(Fault::Kind::kSteppedStarts, region, step_ms, empty_at(-step_ms), kDownMs);
  });
}

void Faults::StepSome(std::int64_t for_ms) {
  const std::int64_t step_ms = kStepMsMax - Below(200);  // drawn first, by every compiler
  StepFor(AnyRegion(), step_ms, for_ms);
}

}  // namespace once
