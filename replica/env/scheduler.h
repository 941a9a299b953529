// The seam of time: now, timers, and the queue of the one thread that owns a replica.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace once {

/// Two implementations: AsioScheduler (real time) and VirtualScheduler (a number that tests move).
/// Every callback runs on the replica's thread, never inside the call that scheduled it.
class Scheduler {
 public:
  using Task = std::function<void()>;
  using TimerId = std::uint64_t;

  virtual ~Scheduler() = default;

  /// Never falls, unrelated to the calendar. Leases and deadlines run on it.
  virtual std::int64_t MonotonicMicros() const = 0;
  /// The calendar, in ms since 1970. May jump; only NodeClock may look at it.
  virtual std::int64_t WallMillis() const = 0;

  /// Runs `task` after everything that is already queued. Callable from any thread.
  virtual void Post(Task task) = 0;
  /// The same for a task that nobody waits for: whoever is ready on this processor may go first.
  virtual void PostUnhurried(Task task) { Post(std::move(task)); }
  /// Runs `task` once, `delay_ms` from now at the earliest.
  virtual TimerId After(std::int64_t delay_ms, Task task) = 0;
  /// Forgets a timer. A timer that already ran, or was never there, is no error.
  virtual void Cancel(TimerId id) = 0;
};

}  // namespace once
