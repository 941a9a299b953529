// Expiry and eviction: the parts of the ledger that forget.
#include <algorithm>

#include "conflict/forget.h"
#include "conflict/window.h"
#include "replica/ledger/ledger.h"

namespace once {
namespace {

// Claims that never expire are indexed behind all that do, in order of age, for eviction.
constexpr std::int64_t kNeverBase = std::int64_t{1} << 61;
constexpr std::size_t kEvictionScanMax = 1000;

bool Working(const Slot& slot) {
  return std::any_of(slot.claims().begin(), slot.claims().end(),
                     [](const Claim& claim) { return claim.state() == PENDING; });
}

}  // namespace

// One entry per slot, moved lazily: an entry that comes due while its slot lives on is put where
// the slot's end is then. A settle therefore writes no index.
void Ledger::Index(Slot& slot, const std::string& hash) {
  const std::int64_t end_ms = LatestEnd(slot);
  const std::int64_t created_ms = slot.claims(0).created_ms();
  slot.set_indexed_ms(end_ms == kNeverMs ? kNeverBase + created_ms : end_ms);
  tables_.PutExpiry(slot.indexed_ms(), keys::Expiring::kSlot, hash);
}

void Ledger::ExpireSlot(const Tables::Due& due, std::int64_t now_ms, Answer& answer) {
  tables_.EraseExpiry(due.at_ms, due.kind, due.id);
  Slot* slot = tables_.FindSlot(due.id);
  if (!slot || slot->indexed_ms() != due.at_ms) return;  // moved or gone: a stale entry
  answer.expired +=
      static_cast<std::uint64_t>(Forget(*slot, now_ms, options_.skew_ms, options_.grace_ms, true));
  if (slot->claims_size() == 0) return tables_.EraseSlot(due.id);
  Index(*slot, due.id);
  tables_.Touch(due.id);
}

Answer Ledger::Expire(const ExpireDue& expire, const Stamp& stamp) {
  Answer answer;
  answer.kind = Answer::Kind::kDone;
  const std::int64_t until_ms = stamp.now_ms - options_.skew_ms - options_.grace_ms;
  for (const Tables::Due& due : tables_.DueBefore(until_ms, expire.limit())) {
    if (due.kind == keys::Expiring::kSlot) {
      ExpireSlot(due, stamp.now_ms, answer);
      continue;
    }
    tables_.EraseExpiry(due.at_ms, due.kind, due.id);
    if (const auto run = tables_.FindRun(due.id)) tables_.EraseRun(*run);
  }
  return answer;
}

bool Ledger::MakeRoom(Answer& answer) {
  const auto full = [this] {
    return tables_.head().slots() >= options_.slots_max ||
           tables_.head().slot_bytes() >= options_.slot_bytes_max;
  };
  if (!full()) return true;
  if (!options_.evict_oldest) return false;
  // A claim that somebody is working on is never evicted; the scan passes over it.
  for (const Tables::Due& due : tables_.DueBefore(kNeverMs - 1, kEvictionScanMax)) {
    if (due.kind != keys::Expiring::kSlot) continue;
    Slot* slot = tables_.FindSlot(due.id);
    if (slot && Working(*slot)) continue;
    tables_.EraseExpiry(due.at_ms, due.kind, due.id);
    tables_.EraseSlot(due.id);
    ++answer.evicted;
    if (!full()) return true;
  }
  return !full();
}

}  // namespace once
