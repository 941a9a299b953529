#include "replica/io/pending_writes.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace once {
namespace {

// A generation with so many puts and deletes, or so many bytes, is followed by another one, ...
constexpr std::size_t kGenerationOps = 4096;
constexpr std::size_t kGenerationBytes = 1 << 20;
// ... unless there are so many, each of which a read has to look at.
constexpr std::size_t kGenerationsMax = 6;
// One with more is not used again: it would keep that memory.
constexpr std::size_t kSpareOpsMax = 4 * kGenerationOps;

}  // namespace

std::size_t PendingWrites::Hash::operator()(std::string_view key) const {
  return XXH3_64bits(key.data(), key.size());
}

void PendingWrites::Add(Batch batch) {
  const auto is_full = [](const Generation& generation) {
    return generation.ops >= kGenerationOps || generation.bytes >= kGenerationBytes;
  };
  if (generations_.empty() ||
      (is_full(*generations_.back()) && generations_.size() < kGenerationsMax)) {
    if (!spare_) spare_ = std::make_unique<Generation>();
    generations_.push_back(std::move(spare_));
  }
  Generation& generation = *generations_.back();
  const KvOps ops = batch->ops();
  for (auto at = ops.begin(); at != ops.end(); ++at) {
    const std::string_view key = (*at).key;
    generation.newest[KindOf(key)].insert_or_assign(key, at.place());
  }
  generation.ops += batch->size();
  generation.bytes += batch->bytes().size();
  generation.batches.push_back(std::move(batch));
}

void PendingWrites::Drop(std::uint64_t count) {
  while (!generations_.empty() && dropped_ + generations_.front()->batches.size() <= count) {
    std::unique_ptr<Generation> gone = std::move(generations_.front());
    generations_.pop_front();
    dropped_ += gone->batches.size();
    if (gone->ops > kSpareOpsMax) continue;
    for (Newest& newest : gone->newest)
      if (!newest.empty()) newest.clear();
    gone->batches.clear();
    gone->ops = gone->bytes = 0;
    spare_ = std::move(gone);
  }
}

std::optional<KvOp> PendingWrites::Find(std::string_view key) const {
  for (auto generation = generations_.rbegin(); generation != generations_.rend(); ++generation) {
    const Newest& newest = (*generation)->newest[KindOf(key)];
    if (const auto at = newest.find(key); at != newest.end()) return KvOps::At(at->second);
  }
  return std::nullopt;
}

std::vector<KvOp> PendingWrites::Range(std::string_view from, std::string_view to) const {
  std::vector<KvOp> range;
  for (auto generation = generations_.rbegin(); generation != generations_.rend(); ++generation)
    for (std::size_t kind = KindOf(from); kind <= KindOf(to); ++kind)
      for (const auto& [key, place] : (*generation)->newest[kind])
        if (key >= from && key < to) range.push_back(KvOps::At(place));
  // The newest of a key comes first.
  std::stable_sort(range.begin(), range.end(),
                   [](const KvOp& a, const KvOp& b) { return a.key < b.key; });
  const auto same_key = [](const KvOp& a, const KvOp& b) { return a.key == b.key; };
  range.erase(std::unique(range.begin(), range.end(), same_key), range.end());
  return range;
}

}  // namespace once
