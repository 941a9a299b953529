#include "replica/waiters.h"

#include <algorithm>
#include <vector>

namespace once {

void Waiters::Join(const std::string& slot, std::int64_t timeout_ms, std::size_t bytes,
                   std::function<void()> look_again) {
  const std::uint64_t id = next_++;
  const auto timer = scheduler_.After(timeout_ms, [this, id] { Release(id); });
  waiting_.emplace(id, Waiting{slot, timer, bytes, std::move(look_again)});
  bytes_ += bytes;
  by_slot_.emplace(slot, id);
}

void Waiters::Wake(const std::string& slot) {
  std::vector<std::uint64_t> ids;
  const auto [from, to] = by_slot_.equal_range(slot);
  for (auto at = from; at != to; ++at) ids.push_back(at->second);
  std::sort(ids.begin(), ids.end());  // in order of arrival
  for (const std::uint64_t id : ids) Release(id);
}

void Waiters::WakeAll() {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, waiting] : waiting_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const std::uint64_t id : ids) Release(id);
}

void Waiters::Release(std::uint64_t id) {
  const auto at = waiting_.find(id);
  if (at == waiting_.end()) return;
  Waiting waiting = std::move(at->second);
  waiting_.erase(at);
  const auto [from, to] = by_slot_.equal_range(waiting.slot);
  by_slot_.erase(std::find_if(from, to, [id](const auto& entry) { return entry.second == id; }));
  bytes_ -= waiting.bytes;
  scheduler_.Cancel(waiting.timer);
  waiting.look_again();
}

}  // namespace once
