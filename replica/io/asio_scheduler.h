// Real time: the machine's clocks and an Asio event loop.
#pragma once

#include <cstdint>
#include <memory>

#include "replica/env/scheduler.h"

namespace boost::asio {
class io_context;
}

namespace once {

/// The production implementation of Scheduler. One thread runs the io_context, and it is the
/// replica's. Post may come from any thread; After and Cancel from that one only.
///
/// Timers that have not run when the scheduler is destroyed never do; posted tasks stay in the
/// io_context.
class AsioScheduler : public Scheduler {
 public:
  /// `context` must outlive the scheduler.
  explicit AsioScheduler(boost::asio::io_context& context);
  ~AsioScheduler() override;

  std::int64_t MonotonicMicros() const override;
  std::int64_t WallMillis() const override;
  void Post(Task task) override;
  void PostUnhurried(Task task) override;
  TimerId After(std::int64_t delay_ms, Task task) override;
  void Cancel(TimerId id) override;

 private:
  struct Timers;

  boost::asio::io_context& context_;
  TimerId last_id_ = 0;
  std::shared_ptr<Timers> timers_;
};

}  // namespace once
