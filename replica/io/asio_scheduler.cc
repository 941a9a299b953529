#include "replica/io/asio_scheduler.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <thread>
#include <unordered_map>
#include <utility>

namespace once {

struct AsioScheduler::Timers {
  struct Timer {
    boost::asio::steady_timer clock;
    Task task;
  };

  std::unordered_map<TimerId, Timer> by_id;
};

AsioScheduler::AsioScheduler(boost::asio::io_context& context)
    : context_(context), timers_(std::make_shared<Timers>()) {}

AsioScheduler::~AsioScheduler() = default;

std::int64_t AsioScheduler::MonotonicMicros() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t AsioScheduler::WallMillis() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void AsioScheduler::Post(Task task) {
  boost::asio::post(context_, std::move(task));
}

void AsioScheduler::PostUnhurried(Task task) {
  Post([task = std::move(task)] {
    std::this_thread::yield();
    task();
  });
}

Scheduler::TimerId AsioScheduler::After(std::int64_t delay_ms, Task task) {
  const TimerId id = ++last_id_;
  const std::chrono::milliseconds delay(std::max<std::int64_t>(delay_ms, 0));
  auto [timer, added] = timers_->by_id.emplace(
      id, Timers::Timer{boost::asio::steady_timer(context_, delay), std::move(task)});
  timer->second.clock.async_wait(
      [id, alive = std::weak_ptr(timers_)](const boost::system::error_code&) {
        // A timer may be due and queued when it is cancelled; only its place in the table tells.
        const auto timers = alive.lock();
        if (!timers) return;
        const auto entry = timers->by_id.extract(id);
        if (entry) entry.mapped().task();
      });
  return id;
}

void AsioScheduler::Cancel(TimerId id) {
  timers_->by_id.erase(id);
}

}  // namespace once
