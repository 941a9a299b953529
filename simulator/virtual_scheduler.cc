#include "simulator/virtual_scheduler.h"

#include <algorithm>
#include <limits>

namespace once {

VirtualScheduler::VirtualScheduler(std::int64_t wall_ms)
    : wall_offset_ms_(wall_ms - now_us_ / 1000) {}

void VirtualScheduler::Item::Run() {
  if (!process) return task();
  if (process->dead) return;
  if (process->paused) return process->held.push_back(std::move(task));
  task();
  if (process->watcher && !process->dead) process->watcher();
}

Scheduler::TimerId VirtualScheduler::AfterFor(Process process, std::int64_t delay_ms, Task task) {
  const TimerId id = ++last_id_;
  const std::int64_t due_us = now_us_ + std::max<std::int64_t>(delay_ms, 0) * 1000;
  timers_.emplace(Due{due_us, id}, Item{std::move(process), std::move(task)});
  return id;
}

void VirtualScheduler::Cancel(TimerId id) {
  // Rare enough that nothing is kept for it.
  const auto found = std::find_if(timers_.begin(), timers_.end(),
                                  [id](const auto& timer) { return timer.first.second == id; });
  if (found != timers_.end()) timers_.erase(found);
}

bool VirtualScheduler::RunOneBy(std::int64_t limit_us) {
  // The task leaves its queue before it runs: it may post, schedule and cancel.
  if (!posted_.empty()) {
    Item next = std::move(posted_.front());
    posted_.pop_front();
    next.Run();
    return true;
  }
  if (timers_.empty() || timers_.begin()->first.first > limit_us) return false;
  auto next = timers_.extract(timers_.begin());
  now_us_ = std::max(now_us_, next.key().first);
  next.mapped().Run();
  return true;
}

bool VirtualScheduler::RunOne() {
  return RunOneBy(std::numeric_limits<std::int64_t>::max());
}

std::size_t VirtualScheduler::RunUntilIdle() {
  std::size_t ran = 0;
  while (RunOneBy(now_us_)) ++ran;
  return ran;
}

void VirtualScheduler::RunFor(std::int64_t duration_ms) {
  RunUntil([] { return false; }, duration_ms);
}

bool VirtualScheduler::RunUntil(const std::function<bool()>& holds, std::int64_t limit_ms) {
  const std::int64_t limit_us = now_us_ + limit_ms * 1000;
  while (!holds()) {
    if (RunOneBy(limit_us)) continue;
    now_us_ = limit_us;
    return holds();
  }
  return true;
}

}  // namespace once
