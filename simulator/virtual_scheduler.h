// Time as a number that only the test moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "replica/env/scheduler.h"

namespace once {

/// Whose tasks wait for a process that stands still, and never run once it is dead.
struct SimulatedProcess {
  bool dead = false;
  bool paused = false;
  std::vector<Scheduler::Task> held;
  std::function<void()> watcher;  // called when it has done something
};

/// The simulated implementation of Scheduler. Nothing runs until one of the Run calls is made, and
/// the same calls always run the same tasks in the same order: posted tasks first, in the order of
/// Post, then timers in the order of (due time, id). Time stands still while a task runs and jumps
/// to a timer's due time when nothing is left to run before it.
///
/// The simulated world has one thread: unlike AsioScheduler's, this Post belongs to it alone.
class VirtualScheduler : public Scheduler {
 public:
  explicit VirtualScheduler(std::int64_t wall_ms = 1'700'000'000'000);

  std::int64_t MonotonicMicros() const override { return now_us_; }
  std::int64_t WallMillis() const override { return now_us_ / 1000 + wall_offset_ms_; }
  void Post(Task task) override { PostFor(nullptr, std::move(task)); }
  /// A negative delay counts as 0.
  TimerId After(std::int64_t delay_ms, Task task) override {
    return AfterFor(nullptr, delay_ms, std::move(task));
  }
  /// The same for a process.
  using Process = std::shared_ptr<SimulatedProcess>;
  void PostFor(Process process, Task task) {
    posted_.push_back({std::move(process), std::move(task)});
  }
  TimerId AfterFor(Process process, std::int64_t delay_ms, Task task);
  void Cancel(TimerId id) override;

  /// Sets the calendar; monotonic time and timers do not notice.
  void SetWall(std::int64_t wall_ms) { wall_offset_ms_ = wall_ms - now_us_ / 1000; }
  void JumpWall(std::int64_t delta_ms) { wall_offset_ms_ += delta_ms; }

  /// Runs the next task, moving time to it if need be. False: there is none at all.
  bool RunOne();
  /// Runs all that is due now, without moving time. Returns the number of tasks run.
  std::size_t RunUntilIdle();
  /// Runs all that falls due within `duration_ms`; time has moved by exactly that much afterwards.
  void RunFor(std::int64_t duration_ms);
  /// Runs until `holds` is true, asked before every task. False: it still was not when
  /// `limit_ms` had passed.
  bool RunUntil(const std::function<bool()>& holds, std::int64_t limit_ms);

  std::size_t timers() const { return timers_.size(); }

 private:
  using Due = std::pair<std::int64_t, TimerId>;
  struct Item {
    Process process;  // null: of nobody
    Task task;
    void Run();
  };

  /// Like RunOne, but only what is due at or before `limit_us`.
  bool RunOneBy(std::int64_t limit_us);

  std::int64_t now_us_ = 1'000'000;
  std::int64_t wall_offset_ms_;
  TimerId last_id_ = 0;
  std::deque<Item> posted_;
  std::map<Due, Item> timers_;
};

}  // namespace once
