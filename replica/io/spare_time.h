// Threads that work in spare time.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace once {

/// Threads whose work nobody waits for at the moment run in the scheduler's idle class: whoever
/// wakes up takes their processor at once, instead of queueing for one where answers are being
/// made.
///
/// Where there is no spare time such a thread may stand still, with whatever lock it holds. So they
/// leave the class while somebody is in a hurry: when work that they were given is not done after
/// 250 ms, or a visitor waits from one look to the next. For a second at first, then for twice as
/// long each time, up to 64, until work was done in spare time again. They never enter it if the
/// process may not leave it again (it needs CAP_SYS_NICE or an RLIMIT_NICE of 20).
class SpareTime {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kLookEvery{100};

  /// In a hurry.
  SpareTime();

  /// False: they never enter the class, and nobody need look.
  bool active() const { return may_return_; }

  /// From now on the calling thread is one of them. It must not end before this object is used for
  /// the last time.
  void Enter();
  /// They were given work.
  void Give(Time now) { given_ = now.time_since_epoch().count(); }
  /// They have done it.
  void Done();
  /// Called every kLookEvery, on a thread that waits for none of them.
  void Look(Time now);
  /// Whether somebody waits for one of them, until the next Look. On any thread.
  void Hurry(bool hurry);

  /// Around whatever may have to wait for a lock that one of them holds. All on one thread.
  class Visit {
   public:
    explicit Visit(SpareTime& spare_time) : spare_time_(spare_time) { spare_time_.CountVisit(); }
    ~Visit() { spare_time_.CountVisit(); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    SpareTime& spare_time_;
  };

 private:
  static constexpr std::size_t kThreadsMax = 8;  // further ones are left alone
  static constexpr Time::rep kNothing = INT64_MIN;
  static constexpr std::chrono::seconds kHurryMin{1};

  void Place(pid_t thread) const;
  void CountVisit() { visits_.store(visits_.load(std::memory_order_relaxed) + 1); }
  bool IsLate(Time now);

  const bool may_return_;
  std::atomic<Time::rep> given_ = kNothing;  // when
  std::atomic<std::uint64_t> visits_ = 0;    // begun and ended: odd while there is one
  std::atomic<bool> hurry_ = true;
  std::atomic<bool> helped_ = false;   // what they are at is no longer done in spare time
  std::atomic<bool> managed_ = false;  // something was
  std::array<std::atomic<pid_t>, kThreadsMax> threads_{};
  // Of who looks.
  std::uint64_t seen_visits_ = 0;
  Time hurry_until_;
  std::chrono::seconds hurry_for_ = kHurryMin;
};

}  // namespace once
