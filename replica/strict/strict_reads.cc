#include "replica/strict/strict_reads.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "conflict/mutation.h"

namespace once {

StrictReads::StrictReads(Scheduler& scheduler, std::int64_t answer_ms, std::int64_t resend_ms,
                         std::uint64_t first_number, AskLeader ask)
    : scheduler_(scheduler),
      answer_ms_(answer_ms),
      resend_ms_(resend_ms),
      last_number_(first_number),
      ask_(std::move(ask)) {}

StrictReads::~StrictReads() {
  *alive_ = false;
}

void StrictReads::Read(std::function<void()> ready, std::function<void()> failed) {
  if (waiting_.size() >= kReadsWaitingMax) return failed();
  const std::uint64_t number = ++last_number_;
  waiting_[number] = {std::move(ready), std::move(failed), std::nullopt};
  Watch(number, answer_ms_);
  ask_(number);
}

void StrictReads::Known(std::uint64_t number, std::uint64_t index, std::uint64_t applied) {
  const auto at = waiting_.find(number);
  if (at == waiting_.end() || at->second.index) return;
  at->second.index = index;
  by_index_.emplace(index, number);
  Applied(MutationOn("read-before-applied") ? index : applied);
}

void StrictReads::Applied(std::uint64_t index) {
  while (!by_index_.empty() && by_index_.begin()->first <= index) {
    auto found = waiting_.extract(by_index_.begin()->second);
    by_index_.erase(by_index_.begin());
    if (!found.empty()) found.mapped().ready();
  }
}

void StrictReads::AskAgain() {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, waiting] : waiting_)
    if (!waiting.index) numbers.push_back(number);
  for (const std::uint64_t number : numbers) ask_(number);
}

void StrictReads::Watch(std::uint64_t number, std::int64_t left_ms) {
  const std::int64_t wait_ms = std::min(resend_ms_, left_ms);
  const std::int64_t then_ms = MutationOn("reads-never-give-up") ? left_ms : left_ms - wait_ms;
  scheduler_.After(wait_ms, [this, alive = alive_, number, left_ms = then_ms] {
    if (!*alive) return;
    const auto at = waiting_.find(number);
    if (at == waiting_.end()) return;
    if (left_ms == 0) return waiting_.extract(at).mapped().failed();
    Watch(number, left_ms);
    if (!at->second.index) ask_(number);
  });
}

}  // namespace once
