#include "replica/storage/open_batch.h"

#include <xxhash.h>

#include <boost/unordered/unordered_flat_set.hpp>
#include <set>
#include <utility>

namespace once {
namespace {

constexpr std::size_t kReplacedBytesMax = 256 << 10;

// Elements of the index are places in the batch and stand for the keys there.
struct KeyAt {
  const KvBatch* batch;

  std::string_view operator()(std::size_t place) const {
    return KvOps::At(batch->bytes().data() + place).key;
  }
  std::string_view operator()(std::string_view key) const { return key; }
};

struct Hash {
  using is_transparent = void;
  using is_avalanching = void;
  KeyAt key_at;

  template <class Key>
  std::size_t operator()(const Key& key) const {
    const std::string_view bytes = key_at(key);
    return XXH3_64bits(bytes.data(), bytes.size());
  }
};

struct Equal {
  using is_transparent = void;
  KeyAt key_at;

  template <class Left, class Right>
  bool operator()(const Left& left, const Right& right) const {
    return key_at(left) == key_at(right);
  }
};

struct Less {
  using is_transparent = void;
  KeyAt key_at;

  template <class Left, class Right>
  bool operator()(const Left& left, const Right& right) const {
    return key_at(left) < key_at(right);
  }
};

using Sorted = std::set<std::size_t, Less>;

}  // namespace

struct OpenBatch::Index {
  explicit Index(const KvBatch& batch) : places(0, Hash{{&batch}}, Equal{{&batch}}) {}

  void Clear() {
    places.clear();
    sorted.reset();
  }

  boost::unordered_flat_set<std::size_t, Hash, Equal> places;
  std::optional<Sorted> sorted;  // the same; most batches are never asked for a range
};

OpenBatch::OpenBatch() : index_(std::make_unique<Index>(batch_)) {}

OpenBatch::~OpenBatch() = default;

std::size_t OpenBatch::size() const {
  return index_->places.size();
}

void OpenBatch::Add(const KvOp& op) {
  const std::size_t place = batch_.bytes().size();
  const auto before = index_->places.find(op.key);
  if (before != index_->places.end()) {
    replaced_bytes_ += KvOps::EncodedBytes(KvOps::At(batch_.bytes().data() + *before));
    if (index_->sorted) index_->sorted->erase(*before);
    index_->places.erase(before);
  }
  batch_.Add(op);
  index_->places.insert(place);
  if (index_->sorted) index_->sorted->insert(place);
  if (replaced_bytes_ > kReplacedBytesMax && replaced_bytes_ > batch_.bytes().size() / 2)
    DropReplaced();
}

std::optional<KvOp> OpenBatch::Find(std::string_view key) const {
  const auto at = index_->places.find(key);
  if (at == index_->places.end()) return std::nullopt;
  return KvOps::At(batch_.bytes().data() + *at);
}

std::vector<OverlaidView::Change> OpenBatch::Range(std::string_view from,
                                                   std::string_view to) const {
  if (!index_->sorted)
    index_->sorted.emplace(index_->places.begin(), index_->places.end(), Less{{&batch_}});
  std::vector<OverlaidView::Change> range;
  for (auto at = index_->sorted->lower_bound(from); at != index_->sorted->end(); ++at) {
    const KvOp op = KvOps::At(batch_.bytes().data() + *at);
    if (op.key >= to) break;
    range.push_back({std::string(op.key), std::optional<std::string>(op.value)});
  }
  return range;
}

void OpenBatch::DropReplaced() {
  KvBatch counting;
  for (const KvOp op : batch_.ops()) {
    const auto at = index_->places.find(op.key);
    const char* const newest = batch_.bytes().data() + *at;
    if (KvOps::At(newest).key.data() == op.key.data()) counting.Add(op);
  }
  index_->Clear();
  batch_ = std::move(counting);
  replaced_bytes_ = 0;
  const KvOps ops = batch_.ops();
  for (auto at = ops.begin(); at != ops.end(); ++at)
    index_->places.insert(static_cast<std::size_t>(at.place() - batch_.bytes().data()));
}

KvBatch OpenBatch::Take() {
  if (replaced_bytes_ > 0) DropReplaced();
  index_->Clear();
  return std::exchange(batch_, {});
}

void OpenBatch::Clear() {
  index_->Clear();
  batch_ = {};
  replaced_bytes_ = 0;
}

}  // namespace once
