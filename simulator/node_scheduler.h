// One simulated process's view of time: it has its own wall clock, stands still while the process
// is paused, and forgets everything when the process dies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "simulator/virtual_scheduler.h"

namespace once {

class NodeScheduler : public Scheduler {
 public:
  NodeScheduler(VirtualScheduler& world, std::int64_t wall_offset_ms)
      : world_(world), wall_offset_ms_(wall_offset_ms) {}
  /// What the process had scheduled never happens.
  ~NodeScheduler() override { process_->dead = true; }

  std::int64_t MonotonicMicros() const override { return world_.MonotonicMicros(); }
  std::int64_t WallMillis() const override { return world_.WallMillis() + wall_offset_ms_; }
  void Post(Task task) override { world_.PostFor(process_, std::move(task)); }
  /// Whoever went first took that long: messages and timers come in between.
  void PostUnhurried(Task task) override { After(kOthersMs, std::move(task)); }
  TimerId After(std::int64_t delay_ms, Task task) override {
    return world_.AfterFor(process_, delay_ms, std::move(task));
  }
  void Cancel(TimerId id) override { world_.Cancel(id); }

  void JumpWall(std::int64_t delta_ms) { wall_offset_ms_ += delta_ms; }
  std::int64_t wall_offset_ms() const { return wall_offset_ms_; }

  /// Until Resume nothing runs; it then runs in the order it would have.
  void Pause() { process_->paused = true; }
  void Resume() {
    process_->paused = false;
    for (Task& task : std::exchange(process_->held, {})) Post(std::move(task));
  }
  bool paused() const { return process_->paused; }

  /// Called when the process has done something.
  void SetWatcher(std::function<void()> watcher) { process_->watcher = std::move(watcher); }

 private:
  static constexpr std::int64_t kOthersMs = 1;

  VirtualScheduler& world_;
  const std::shared_ptr<SimulatedProcess> process_ = std::make_shared<SimulatedProcess>();
  std::int64_t wall_offset_ms_;
};

}  // namespace once
