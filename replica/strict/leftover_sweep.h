// Erases what states that are no more have left on the disk.
#pragma once

#include <memory>

#include "replica/env/scheduler.h"
#include "replica/storage/commit.h"
#include "replica/storage/tables.h"
#include "replica/strict/strict_generations.h"

namespace once {

/// In portions, each when the last one is durable, so that callers wait no longer for it than for
/// each other.
class LeftoverSweep {
 public:
  /// All outlive it; `outer` is what `generations` writes to.
  LeftoverSweep(Scheduler& scheduler, Tables& outer, Commit& commit,
                StrictGenerations& generations);
  ~LeftoverSweep();

  /// There may be something to erase.
  void Begin();

 private:
  void Sweep();
  void SweepAfter(std::int64_t delay_ms);

  Scheduler& scheduler_;
  Tables& outer_;
  Commit& commit_;
  StrictGenerations& generations_;
  bool sweeping_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace once
