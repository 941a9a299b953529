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
      : world_(world), state_(std::make_shared<State>()), wall_offset_ms_(wall_offset_ms) {}
  /// What the process had scheduled never happens.
  ~NodeScheduler() override { state_->dead = true; }

  std::int64_t MonotonicMicros() const override { return world_.MonotonicMicros(); }
  std::int64_t WallMillis() const override { return world_.WallMillis() + wall_offset_ms_; }
  void Post(Task task) override {
    world_.Post([state = state_, task = std::move(task)] { Run(state, task); });
  }
  TimerId After(std::int64_t delay_ms, Task task) override {
    return world_.After(delay_ms, [state = state_, task = std::move(task)] { Run(state, task); });
  }
  void Cancel(TimerId id) override { world_.Cancel(id); }

  void JumpWall(std::int64_t delta_ms) { wall_offset_ms_ += delta_ms; }
  std::int64_t wall_offset_ms() const { return wall_offset_ms_; }

  /// Until Resume nothing runs; it then runs in the order it would have.
  void Pause() { state_->paused = true; }
  void Resume() {
    state_->paused = false;
    for (Task& task : std::exchange(state_->held, {}))
      world_.Post([state = state_, task = std::move(task)] { Run(state, task); });
  }
  bool paused() const { return state_->paused; }

  /// Called when the process has done something.
  void SetWatcher(std::function<void()> watcher) { state_->watcher = std::move(watcher); }

 private:
  struct State {
    bool dead = false;
    bool paused = false;
    std::vector<Task> held;
    std::function<void()> watcher;
  };
  static void Run(const std::shared_ptr<State>& state, const Task& task) {
    if (state->dead) return;
    if (state->paused) return state->held.push_back(task);
    task();
    if (state->watcher && !state->dead) state->watcher();
  }

  VirtualScheduler& world_;
  std::shared_ptr<State> state_;
  std::int64_t wall_offset_ms_;
};

}  // namespace once
