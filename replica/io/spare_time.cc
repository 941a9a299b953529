#include "replica/io/spare_time.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace once {
namespace {

constexpr std::chrono::milliseconds kLate{250};
constexpr std::chrono::seconds kHurryMin{1};
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
    Place(self);
    return;
  }
}

void SpareTime::Give(Time now) {
  given_ = now;
  given_in_spare_time_ = !hurry_;
}

void SpareTime::Look(Time now, bool busy) {
  if (!busy && given_in_spare_time_) hurry_for_ = kHurryMin;
  if (busy && now - given_ > kLate && now >= hurry_until_) {
    hurry_until_ = now + hurry_for_;
    hurry_for_ = std::min(2 * hurry_for_, kHurryMax);
    given_in_spare_time_ = false;
  }
  Hurry(now < hurry_until_);
}

void SpareTime::Hurry(bool hurry) {
  if (!may_return_ || hurry_.exchange(hurry) == hurry) return;
  for (const auto& thread : threads_)
    if (thread != 0) Place(thread);
}

}  // namespace once
