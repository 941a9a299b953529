// Threads that work in spare time.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>

namespace once {

/// Threads whose work nobody waits for at the moment run in the scheduler's idle class: whoever
/// wakes up takes their processor at once, instead of queueing for one where answers are being
/// made.
///
/// Where there is no spare time such a thread may stand still, with whatever lock it holds. So they
/// leave the class while somebody is in a hurry: when work that they were given is not done after
/// 250 ms, for a second at first, then for twice as long each time, up to a minute, until work was
/// done in spare time again. They never enter it if the process may not leave it again (it needs
/// CAP_SYS_NICE or an RLIMIT_NICE of 20).
class SpareTime {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// In a hurry.
  SpareTime();

  /// From now on the calling thread is one of them. It must not end before this object is used for
  /// the last time.
  void Enter();
  /// They were given work. From one thread, as Look.
  void Give(Time now);
  /// Called now and then. `busy`: they are still at it.
  void Look(Time now, bool busy);
  /// Whether somebody waits for one of them, until the next Look. On any thread.
  void Hurry(bool hurry);

 private:
  static constexpr std::size_t kThreadsMax = 8;  // further ones are left alone

  void Place(pid_t thread) const;

  const bool may_return_;
  Time given_;
  bool given_in_spare_time_ = false;
  Time hurry_until_;
  std::chrono::seconds hurry_for_{1};
  std::atomic<bool> hurry_ = true;
  std::array<std::atomic<pid_t>, kThreadsMax> threads_{};
};

}  // namespace once
