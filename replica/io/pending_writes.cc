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
    Newest& newest = newest_[KindOf(op.key)];
    newest.erase(op.key);
    newest.emplace(op.key, &op);
  }
  batches_.push_back(std::move(batch));
}

void PendingWrites::DropFirst(std::uint64_t count, std::size_t ops_max) {
  for (std::size_t gone = 0; dropped_ < count && gone < ops_max; ++dropped_) {
    gone += batches_.front()->ops().size();
    for (const KvBatch::Op& op : batches_.front()->ops()) {
      Newest& newest = newest_[KindOf(op.key)];
      const auto at = newest.find(op.key);
      if (at != newest.end() && at->second == &op) newest.erase(at);
    }
    batches_.pop_front();
  }
}

const KvBatch::Op* PendingWrites::Find(std::string_view key) const {
  const Newest& newest = newest_[KindOf(key)];
  const auto at = newest.find(key);
  return at == newest.end() ? nullptr : at->second;
}

std::vector<const KvBatch::Op*> PendingWrites::Range(std::string_view from,
                                                     std::string_view to) const {
  std::vector<const KvBatch::Op*> range;
  for (std::size_t kind = KindOf(from); kind <= KindOf(to); ++kind)
    for (const auto& [key, op] : newest_[kind])
      if (key >= from && key < to) range.push_back(op);
  std::sort(range.begin(), range.end(), [](auto* a, auto* b) { return a->key < b->key; });
  return range;
}

}  // namespace once
