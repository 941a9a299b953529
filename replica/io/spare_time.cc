#include "replica/io/spare_time.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace once {
namespace {

constexpr std::chrono::milliseconds kLate{250};
constexpr std::chrono::seconds kHurryMax{64};

bool SetClass(pid_t thread, int policy) {
  const sched_param parameters{};
  return sched_setscheduler(thread, policy, &parameters) == 0;
}

bool MayReturn() {
  bool returned = false;
  std::thread([&returned] {
    returned = SetClass(gettid(), SCHED_IDLE) && SetClass(gettid(), SCHED_OTHER);
  }).join();
  return returned;
}

/// Otherwise the disk would serve a thread of the idle class when it has nothing else to do: what
/// is to be in the tables must get there while callers keep the log busy.
void KeepDiskPriority() {
  // As <linux/ioprio.h> has them, which C++ cannot read.
  constexpr int kOneThread = 1;
  constexpr int kBestEffort = 2 << 13;
  constexpr int kNormal = 4;
  syscall(SYS_ioprio_set, kOneThread, 0, kBestEffort | kNormal);
}

}  // namespace

// (A process that was put into the idle class stays there.)
SpareTime::SpareTime() : may_return_(sched_getscheduler(0) == SCHED_OTHER && MayReturn()) {}

void SpareTime::Place(pid_t thread) const {
  bool hurry = false;
  do {  // until nobody has changed it meanwhile
    hurry = hurry_;
    SetClass(thread, hurry ? SCHED_OTHER : SCHED_IDLE);
  } while (hurry != hurry_);
}

void SpareTime::Enter() {
  if (!may_return_) return;
  const pid_t self = gettid();
  for (auto& thread : threads_) {
    pid_t nobody = 0;
    if (thread != self && !thread.compare_exchange_strong(nobody, self)) continue;
    KeepDiskPriority();
    Place(self);
    return;
  }
}

void SpareTime::Done() {
  given_ = kNothing;
  if (!helped_.exchange(false) && !hurry_) managed_ = true;
}

bool SpareTime::IsLate(Time now) {
  const Time::rep given = given_;
  const std::uint64_t visits = visits_;
  const bool visitor_waits = std::exchange(seen_visits_, visits) == visits && visits % 2 == 1;
  return visitor_waits || (given != kNothing && now - Time(Time::duration(given)) > kLate);
}

void SpareTime::Look(Time now) {
  if (managed_.exchange(false)) hurry_for_ = kHurryMin;
  if (IsLate(now) && now >= hurry_until_) {
    hurry_until_ = now + hurry_for_;
    hurry_for_ = std::min(2 * hurry_for_, kHurryMax);
    helped_ = true;
  }
  Hurry(now < hurry_until_);
}

void SpareTime::Hurry(bool hurry) {
  if (!may_return_ || hurry_.exchange(hurry) == hurry) return;
  for (const auto& thread : threads_)
    if (thread != 0) Place(thread);
}

}  // namespace once
