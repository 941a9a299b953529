// Expiry and eviction: the parts of the ledger that forget.
#include <algorithm>
#include <utility>

#include "conflict/forget.h"
#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "conflict/window.h"
#include "replica/ledger/ledger.h"
#include "replica/ledger/workflows.h"

namespace once {
namespace {

// Claims that never expire are indexed behind all that do, in order of age, for eviction.
constexpr std::int64_t kNeverBase = std::int64_t{1} << 61;
// Eviction looks at so many slots from the front of the index, then at so many more from where it
// last stopped: behind slots that are all being worked on it gets on from begin to begin.
constexpr std::size_t kEvictionFront = 100;
constexpr std::size_t kEvictionScanMax = 1000;
constexpr std::uint32_t kExpireForRoom = 16;
// How much longer than its end the index may keep a slot. Above any usual lease, so that a settle,
// which ends a slot earlier by what is left of the lease, writes no index.
constexpr std::int64_t kIndexSlackMs = 3'600'000;

std::int64_t IndexedAt(const Slot& slot) {
  const std::int64_t end_ms = LatestEnd(slot);
  return end_ms == kNeverMs ? kNeverBase + slot.claims(0).created_ms() : end_ms;
}

bool Working(const Slot& slot) {
  return std::any_of(slot.claims().begin(), slot.claims().end(),
                     [](const Claim& claim) { return claim.state() == PENDING; });
}

}  // namespace

// One entry per slot, moved lazily: an entry that comes due while its slot lives on is put where
// the slot's end is then. It is never before the slot's last change: whoever has all that happened
// until then has that change.
void Ledger::Index(Slot& slot, const std::string& hash, std::int64_t now_ms) {
  slot.set_indexed_ms(std::max(now_ms, IndexedAt(slot)));
  tables_.expiry().Put(keys::Expiring::kSlot, slot.indexed_ms(), hash);
}

void Ledger::Reindex(Slot& slot, const std::string& hash, std::int64_t now_ms) {
  const std::int64_t longer_ms = slot.indexed_ms() - std::max(now_ms, IndexedAt(slot));
  if (slot.indexed_ms() >= now_ms && longer_ms <= kIndexSlackMs) return;
  if (!MutationOn("index-entry-stays"))
    tables_.expiry().Erase(keys::Expiring::kSlot, slot.indexed_ms(), hash);
  Index(slot, hash, now_ms);
}

std::int64_t Ledger::HorizonMs(const Stamp& stamp) const {
  const std::int64_t over_ms = stamp.now_ms - options_.skew_ms - options_.grace_ms;
  return MutationOn("forgotten-uncovered") ? over_ms : std::min(stamp.covered_ms, over_ms);
}

// Called for entries up to HorizonMs only: every member has all that the slot holds.
void Ledger::ExpireSlot(const ExpiryIndex::Due& due, std::int64_t now_ms, Answer& answer) {
  Slot* slot = tables_.FindSlot(due.id);
  if (!slot || slot->indexed_ms() != due.at_ms) return;  // moved or gone: a stale entry
  RestartOwnLeases(*slot, due.id);
  answer.expired +=
      static_cast<std::uint64_t>(Forget(*slot, now_ms, options_.skew_ms, options_.grace_ms, true));
  if (slot->claims_size() == 0) return tables_.EraseSlot(due.id);
  if (!MutationOn("never-forgotten")) Index(*slot, due.id, 0);
  tables_.Touch(due.id);
}

void Ledger::ExpireSlots(const Stamp& stamp, std::uint32_t limit, Answer& answer) {
  const auto due = tables_.expiry().Take(keys::Expiring::kSlot, HorizonMs(stamp), limit);
  for (const ExpiryIndex::Due& each : due) ExpireSlot(each, stamp.now_ms, answer);
  if (due.size() >= limit) answer.more = true;
}

bool Ledger::MayForget(const Run& run, const Stamp& stamp) {
  // One that goes on gets another entry when it ends.
  if (!IsTerminal(run.status()) && !MutationOn("live-run-expires")) return false;
  const std::int64_t end_ms = RetainedUntil(run.updated_ms(), options_.run_retention_ms);
  if (end_ms <= HorizonMs(stamp)) return true;
  Reached("a run had another end when its first was to be forgotten");
  if (end_ms != kNeverMs && !MutationOn("run-index-entry-lost"))
    tables_.expiry().Put(keys::Expiring::kRun, end_ms, run.run_id());
  return false;
}

void Ledger::ExpireRuns(const Stamp& stamp, std::uint32_t limit, Answer& answer) {
  const auto due = tables_.expiry().Take(keys::Expiring::kRun, HorizonMs(stamp), limit);
  for (const ExpiryIndex::Due& each : due) {
    // A strict run has one end, and all that apply its log must forget it together.
    if (const auto run = tables_.FindRun(each.id);
        run && (options_.replicated || MayForget(*run, stamp))) {
      Reached("a run was forgotten");
      tables_.EraseRun(*run);
    }
  }
  if (due.size() >= limit) answer.more = true;
}

Answer Ledger::Expire(const ExpireDue& expire, const Stamp& stamp) {
  Answer answer;
  answer.kind = Answer::Kind::kDone;
  ExpireSlots(stamp, expire.limit(), answer);
  ExpireRuns(stamp, expire.limit(), answer);
  return answer;
}

bool Ledger::IsFull() const {
  const std::uint64_t more = MutationOn("one-slot-too-many") ? 1 : 0;
  return tables_.head().slots() >= options_.slots_max + more || IsFullOfBytes();
}

bool Ledger::IsFullOfBytes() const {
  return tables_.head().slot_bytes() >= options_.slot_bytes_max &&
         !MutationOn("byte-bound-ignored");
}

bool Ledger::MakeRoom(const Stamp& stamp, Answer& answer) {
  ExpireSlots(stamp, kExpireForRoom, answer);
  if (!IsFull()) return true;
  if (!options_.evict_oldest) return false;
  return Evict(tables_.expiry().From(keys::Expiring::kSlot, 0, kEvictionFront), answer) ||
         EvictFurtherOn(answer);
}

bool Ledger::Evict(const std::vector<ExpiryIndex::Due>& slots, Answer& answer) {
  for (const ExpiryIndex::Due& each : slots) {
    Slot* slot = tables_.FindSlot(each.id);
    // A claim that somebody is working on is never evicted; the scan passes over it.
    if (slot && Working(*slot)) {
      Reached("eviction passed over a claim that somebody worked on");
      if (!MutationOn("worked-on-evicted")) continue;
    }
    tables_.expiry().Erase(keys::Expiring::kSlot, each.at_ms, each.id);
    if (!slot || slot->indexed_ms() != each.at_ms) continue;  // a stale entry
    tables_.EraseSlot(each.id);
    ++answer.evicted;
    settled_since_round_ = true;  // and so may others be that were not looked at
    if (!IsFull()) return true;
  }
  return false;
}

bool Ledger::EvictFurtherOn(Answer& answer) {
  for (std::size_t looked = 0; looked < kEvictionScanMax;) {
    const auto page = tables_.expiry().From(keys::Expiring::kSlot, evict_from_ms_, kEvictionFront);
    if (page.empty()) {
      evict_from_ms_ = 0;
      if (!std::exchange(settled_since_round_, false)) {
        answer.more = false;
        return false;
      }
      continue;
    }
    if (Evict(page, answer)) return true;
    looked += page.size();
    evict_from_ms_ = page.back().at_ms + 1;
  }
  answer.more = true;
  return false;
}

}  // namespace once
