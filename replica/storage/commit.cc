#include "replica/storage/commit.h"

#include <algorithm>

#include "conflict/mutation.h"

namespace once {

Commit::Commit(Tables& tables, KvStore& store, Scheduler& scheduler)
    : tables_(tables), store_(store), scheduler_(scheduler) {}

void Commit::WhenDurable(std::uint64_t batch, int rounds, Done done) {
  if (MutationOn("acknowledged-before-durable")) {
    Schedule(rounds);
    return done(Durable::kYes);
  }
  if (batch <= durable_) return done(Durable::kYes);
  if (failed_) return done(Durable::kUnknown);
  // A caller may wait for the batch that is being synced while others wait for the next one, which
  // can still be refused: it goes before them and does not share their fate.
  const auto place = std::upper_bound(
      waiting_.begin(), waiting_.end(), batch,
      [](std::uint64_t before, const auto& other) { return before < other.first; });
  waiting_.emplace(place, batch, std::move(done));
  Schedule(rounds);
}

void Commit::WhenAllDurable(Done done) {
  WhenDurable(tables_.dirty() ? tables_.open_batch() : tables_.open_batch() - 1, std::move(done));
}

// Posted, not called: whatever the event loop already holds is applied first and shares the sync.
// Callers that were just answered come back within microseconds; a few turns of the loop let them
// in too, instead of splitting the callers into two groups that wait for each other's syncs.
void Commit::Schedule(int rounds) {
  if (scheduled_ || syncing_ || failed_ || !tables_.dirty()) return;
  scheduled_ = true;
  Gather(rounds);
}

void Commit::Gather(int rounds) {
  scheduler_.Post([this, rounds] {
    if (rounds > 1) return Gather(rounds - 1);
    scheduled_ = false;
    Flush();
  });
}

void Commit::Flush() {
  const std::uint64_t batch = tables_.open_batch();
  KvStatus written = KvStatus::kFailed;
  try {
    written = tables_.Flush();
  } catch (const KvUnreadable&) {
    // What the batch rests on cannot be read: as bad as not being able to write.
  }
  full_ = written == KvStatus::kFull;
  if (written == KvStatus::kFull) return Finish(batch, Durable::kFull);
  if (written == KvStatus::kFailed) {
    failed_ = true;
    return Finish(UINT64_MAX, Durable::kUnknown);
  }
  if (MutationOn("forgotten-sync")) {
    durable_ = batch;
    if (on_durable) on_durable();
    return Finish(batch, Durable::kYes);
  }
  syncing_ = true;
  store_.Sync([this, batch](KvStatus synced) {
    syncing_ = false;
    if (synced != KvStatus::kOk) {
      failed_ = true;
      return Finish(UINT64_MAX, Durable::kUnknown);
    }
    durable_ = batch;
    tables_.Synced(batch);
    if (on_durable) on_durable();
    // The next sync starts before this one's callers are answered: the disk is the slow part.
    if (tables_.dirty()) Schedule();
    Finish(batch, Durable::kYes);
  });
}

void Commit::Finish(std::uint64_t upto, Durable durable) {
  if (durable == Durable::kFull) durable_ = std::max(durable_, upto);
  while (!waiting_.empty() && waiting_.front().first <= upto) {
    Done done = std::move(waiting_.front().second);
    waiting_.pop_front();
    done(durable);
  }
  Schedule();
}

}  // namespace once
