#include "simulator/memory_store.h"

#include <algorithm>

#include "replica/env/check.h"

namespace once {
namespace {

constexpr std::int64_t kSyncLookMs = 500;

}  // namespace

void MemoryDisk::Crash(Random& random) {
  KeepUnsynced(random.Below(unsynced_.size() + 1));
}

void MemoryDisk::CrashLosingUnsynced() {
  KeepUnsynced(0);
}

void MemoryDisk::TakeBack(const Undo& undo, Contents& contents) {
  for (auto op = undo.rbegin(); op != undo.rend(); ++op) {
    if (op->second)
      contents[op->first] = *op->second;
    else
      contents.erase(op->first);
  }
}

MemoryDisk::Contents MemoryDisk::durable() const {
  Contents contents = visible_;
  for (auto undo = unsynced_.rbegin(); undo != unsynced_.rend(); ++undo) TakeBack(*undo, contents);
  return contents;
}

void MemoryDisk::KeepUnsynced(std::size_t batches) {
  while (unsynced_.size() > batches) {
    TakeBack(unsynced_.back(), visible_);
    unsynced_.pop_back();
  }
  Settle(unsynced_.size());  // what survived is on the medium
  ++crashes_;
  has_store_ = false;
}

std::optional<std::string> MemoryDisk::Durable(std::string_view key) const {
  for (const Undo& undo : unsynced_)
    for (const auto& [changed, old] : undo)
      if (changed == key) return old;
  const auto found = visible_.find(key);
  return found == visible_.end() ? std::nullopt : std::optional(found->second);
}

void MemoryDisk::Settle(std::size_t batches) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < batches; ++i) {
    for (auto& [key, old] : unsynced_[i])
      if (on_durable) keys.push_back(std::move(key));
  }
  unsynced_.erase(unsynced_.begin(), unsynced_.begin() + static_cast<std::ptrdiff_t>(batches));
  if (on_durable && !keys.empty()) on_durable(keys);
}

void MemoryDisk::Apply(const KvBatch& batch) {
  Undo& undo = unsynced_.emplace_back();
  for (const KvOp op : batch.ops()) {
    const auto old = visible_.find(op.key);
    undo.emplace_back(op.key, old == visible_.end() ? std::nullopt : std::optional(old->second));
    if (op.value) {
      visible_[std::string(op.key)] = *op.value;
    } else if (old != visible_.end()) {
      visible_.erase(old);
    }
  }
}

MemoryStore::MemoryStore(MemoryDisk& disk, Scheduler& scheduler)
    : disk_(disk), scheduler_(scheduler), crashes_(disk.crashes_) {
  Check(!disk.has_store_, "a memory disk is open once at a time");
  disk.has_store_ = true;
}

MemoryStore::~MemoryStore() {
  if (crashes_ == disk_.crashes_) disk_.has_store_ = false;
}

void MemoryStore::CheckAlive() const {
  Check(crashes_ == disk_.crashes_, "a crashed process does not use its disk");
}

void MemoryStore::CheckReadable(std::string_view key) const {
  if (disk_.unreadable_.contains(key)) throw KvUnreadable("unreadable: " + std::string(key));
}

void MemoryStore::Visit(const MemoryDisk::Contents& records, std::string_view from,
                        std::string_view to, const Visitor& visit) const {
  CheckAlive();
  for (auto at = records.lower_bound(from); at != records.end() && at->first < to; ++at) {
    CheckReadable(at->first);
    if (!visit(at->first, at->second)) return;
  }
}

std::optional<std::string> MemoryStore::Get(std::string_view key) {
  CheckAlive();
  CheckReadable(key);
  const auto found = disk_.visible_.find(key);
  if (found == disk_.visible_.end()) return std::nullopt;
  return found->second;
}

void MemoryStore::Scan(std::string_view from, std::string_view to, const Visitor& visit) {
  Visit(disk_.visible_, from, to, visit);
}

/// A copy. It is on the same medium: what cannot be read there cannot be read here.
class MemoryStore::FrozenRange : public KvView {
 public:
  FrozenRange(const MemoryStore& store, MemoryDisk::Contents records)
      : store_(store), records_(std::move(records)) {}

  void Scan(std::string_view from, std::string_view to, const KvVisitor& visit) override {
    store_.Visit(records_, from, to, visit);
  }

 private:
  const MemoryStore& store_;
  const MemoryDisk::Contents records_;
};

std::unique_ptr<KvView> MemoryStore::View(std::string_view from, std::string_view to) {
  CheckAlive();
  const MemoryDisk::Contents& all = disk_.visible_;
  return std::make_unique<FrozenRange>(
      *this, MemoryDisk::Contents(all.lower_bound(from), all.lower_bound(std::max(from, to))));
}

KvStatus MemoryStore::Write(KvBatch batch) {
  CheckAlive();
  if (failed_) return KvStatus::kFailed;
  if (disk_.full_) return KvStatus::kFull;
  disk_.Apply(batch);
  return KvStatus::kOk;
}

void MemoryStore::Sync(std::function<void(KvStatus)> done) {
  CheckAlive();
  Check(!syncing_, "one sync at a time");
  syncing_ = true;
  auto report = [this, alive = std::weak_ptr(alive_), batches = disk_.unsynced_.size(),
                 done = std::move(done)] {
    // A dead process hears nothing: neither one that went away nor one whose disk crashed under it.
    if (alive.expired() || crashes_ != disk_.crashes_) return;
    done(FinishSync(batches));
  };
  if (disk_.sync_delay_ms_ > 0) {
    ReportLater(scheduler_.MonotonicMicros(), std::move(report));
  } else {
    scheduler_.Post(std::move(report));
  }
}

void MemoryStore::ReportLater(std::int64_t began_us, std::function<void()> report) {
  const std::int64_t taken_ms = (scheduler_.MonotonicMicros() - began_us) / 1000;
  if (taken_ms >= disk_.sync_delay_ms_) return report();
  scheduler_.After(std::min(disk_.sync_delay_ms_ - taken_ms, kSyncLookMs),
                   [this, alive = std::weak_ptr(alive_), began_us, report = std::move(report)] {
                     if (!alive.expired()) ReportLater(began_us, report);
                   });
}

KvStatus MemoryStore::FinishSync(std::size_t batches) {
  syncing_ = false;
  if (std::exchange(disk_.fail_next_sync_, false)) failed_ = true;
  if (failed_) return KvStatus::kFailed;
  disk_.Settle(batches);
  return KvStatus::kOk;
}

}  // namespace once
