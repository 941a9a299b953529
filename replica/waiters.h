// Callers that wait for a claim in flight instead of being told to come back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "replica/env/scheduler.h"

namespace once {

class Waiters {
 public:
  explicit Waiters(Scheduler& scheduler) : scheduler_(scheduler) {}

  /// Runs `look_again` once: when Wake(slot) is called, or after `timeout_ms`. It holds `bytes`.
  void Join(const std::string& slot, std::int64_t timeout_ms, std::size_t bytes,
            std::function<void()> look_again);
  void Wake(const std::string& slot);
  void WakeAll();
  std::size_t size() const { return waiting_.size(); }
  /// What all of them hold.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Waiting {
    std::string slot;
    Scheduler::TimerId timer;
    std::size_t bytes;
    std::function<void()> look_again;
  };
  void Release(std::uint64_t id);

  Scheduler& scheduler_;
  std::uint64_t next_ = 1;
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint64_t, Waiting> waiting_;
  std::unordered_multimap<std::string, std::uint64_t> by_slot_;
};

}  // namespace once
