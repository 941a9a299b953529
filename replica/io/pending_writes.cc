#include "replica/io/pending_writes.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace once {

std::size_t PendingWrites::Hash::operator()(std::string_view key) const {
  return XXH3_64bits(key.data(), key.size());
}

void PendingWrites::Add(Batch batch) {
  for (const KvBatch::Op& op : batch->ops()) {
    // The key must point into the batch that stays longest.
    newest_.erase(op.key);
    newest_.emplace(op.key, &op);
  }
  batches_.push_back(std::move(batch));
}

void PendingWrites::DropFirst(std::uint64_t count) {
  for (; dropped_ < count; ++dropped_) {
    for (const KvBatch::Op& op : batches_.front()->ops()) {
      const auto at = newest_.find(op.key);
      if (at != newest_.end() && at->second == &op) newest_.erase(at);
    }
    batches_.pop_front();
  }
}

const KvBatch::Op* PendingWrites::Find(std::string_view key) const {
  const auto at = newest_.find(key);
  return at == newest_.end() ? nullptr : at->second;
}

std::vector<const KvBatch::Op*> PendingWrites::Range(std::string_view from,
                                                     std::string_view to) const {
  std::vector<const KvBatch::Op*> range;
  for (const auto& [key, op] : newest_)
    if (key >= from && key < to) range.push_back(op);
  std::sort(range.begin(), range.end(), [](auto* a, auto* b) { return a->key < b->key; });
  return range;
}

}  // namespace once
