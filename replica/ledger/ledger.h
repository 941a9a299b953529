// The ledger: the deterministic state machine that everything else carries commands to.
//
//   (state, command, stamp) -> (state', answer)
//
// No clock, disk, socket, thread or randomness of its own. The state lives in Tables; applying the
// same commands with the same stamps to the same state gives the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "replica/ledger/answer.h"
#include "replica/ledger/claims.h"
#include "replica/ledger/command.pb.h"
#include "replica/storage/tables.h"

namespace once {

inline constexpr std::uint32_t kExpiryBatch = 500;  // slots that one command expires

struct LedgerOptions {
  std::string region;
  std::int64_t skew_ms = 1000;
  std::int64_t grace_ms = 0;  // single-region keeps nothing beyond expiry plus skew
  std::uint64_t slots_max = 50'000'000;
  std::uint64_t slot_bytes_max = 64ull << 30;
  bool evict_oldest = false;  // at the bound settled slots go, those that end first, not kFull
  std::uint64_t run_retention_ms = 7ull * 24 * 3600 * 1000;
  /// One of several that apply the same commands with the same stamps: starts of a node are not
  /// counted, and leases run by stamps alone.
  bool replicated = false;
};

/// By which a stored answer to the command is found. Null: it asks for none, or its claim was
/// admitted by an earlier step.
const Begin* BeginOf(const Command& command);

class Ledger {
 public:
  /// Counts a start of the node: leases that were given before it run anew from `boot_ms`.
  Ledger(Tables& tables, LedgerOptions options, std::int64_t boot_ms = 0);

  /// The stamp's time is raised to the highest one applied before, so time never falls in here.
  /// May throw KvUnreadable before it changed anything that matters.
  Answer Apply(const Command& command, Stamp stamp);

  /// A begin that may change nothing: the stored answer (kReplay, kMismatch), or kUnavailable where
  /// there is none. For a node that can promise nothing new. May throw KvUnreadable.
  Answer Recall(const Begin& begin, std::int64_t now_ms);

  const ClaimRules& rules() const { return rules_; }

 private:
  Answer ApplyBegin(const Begin& begin, const Stamp& stamp);
  Answer ApplySettle(const Settle& settle, const Stamp& stamp);
  Answer ApplyRenew(const Renew& renew, const Stamp& stamp);
  Answer Mutate(const Mutation& mutation, const Stamp& stamp);
  Answer Admit(const Mutation& mutation, const Stamp& stamp);
  Answer Advance(const AdvanceRun& advance, const Stamp& stamp);
  Answer Expire(const ExpireDue& expire, const Stamp& stamp);
  Answer Policy(const SetPolicy& set, const Stamp& stamp);
  Answer Merge(const Frame& frame, const Stamp& stamp);
  Answer ApplyReassert(const Reassert& reassert, const Stamp& stamp);
  void MergeClaimChange(const Change& change, const Stamp& stamp, Answer& answer);
  void MergeRunChange(const Change& change, const Stamp& stamp, Answer& answer);
  /// One of our own claims came back from another region, after this one lost it.
  void TakeBack(const std::string& hash, Slot& slot, const Claim& came, bool is_new,
                const Stamp& stamp);
  /// What follows when one of our own claims was settled: it is shipped, callers that wait for it
  /// wake, and the slot is reconciled.
  void AfterSettle(const std::string& hash, const std::string& run_id, const Stamp& stamp,
                   Answer& answer);
  /// After the slot's set changed: own attempts give way, own losers are cancelled and counted.
  void Reconcile(const std::string& hash, Slot& slot, const Stamp& stamp, Answer& answer);
  void Lose(const std::string& hash, const Slot& slot, const Loss& loss, const Stamp& stamp,
            Answer& answer);
  // What is kept of conflicts; see evidence.cc.
  void KeepEvidence(Conflict conflict, Answer& answer);
  void KeepLoss(const std::string& hash, const Slot& slot, const Loss& loss, bool had_completed,
                const Stamp& stamp, Answer& answer);
  void KeepCollision(const std::string& hash, const Slot& slot, const Claim& came,
                     const std::string& held_fingerprint, const Stamp& stamp, Answer& answer);
  void KeepLateCompletion(const Settle& settle, Claim& claim, const Stamp& stamp, Answer& answer);
  void MergeConflict(const Change& change, const std::string& hash, Answer& answer);

  /// The claim behind (hash, run id) of that tenant, or null; `answer` then says why.
  Claim* Locate(std::string_view tenant, const std::string& hash, std::string_view run_id,
                Answer& answer);
  void Refresh(Slot& slot, const SlotRef& ref, const Stamp& stamp);
  /// `parts` are a SlotRef or a Change: what the hash was made of.
  template <typename Parts>
  Slot& NewSlot(const std::string& hash, const Parts& parts) {
    Slot& slot = tables_.NewSlot(hash);
    slot.set_format(kSlotFormat);
    slot.set_surface(parts.surface());
    slot.set_tenant(parts.tenant());
    slot.set_endpoint(parts.endpoint());
    slot.set_key(parts.key());
    return slot;
  }
  Answer Crowded(const Slot& slot, const std::string& hash, const Stamp& stamp) const;
  /// Whether the begin would make the store larger while it is at its bound. Null: no slot yet.
  bool NeedsRoom(Slot* slot, const Begin& begin, const Stamp& stamp) const;
  /// Room for one more slot or claim, making it if the options allow. Any slot may go by it.
  bool MakeRoom(const Stamp& stamp, Answer& answer);
  /// Forgets settled ones of these until there is room; true when there is.
  bool Evict(const std::vector<ExpiryIndex::Due>& slots, Answer& answer);
  /// The same for the next ones in the order of the index. False without `answer.more`: the whole
  /// index was gone through, and nothing in it was settled.
  bool EvictFurtherOn(Answer& answer);
  bool IsFull() const;
  bool IsFullOfBytes() const;
  /// Gives leases from before this boot their full length again, and says so to the others.
  bool RestartOwnLeases(Slot& slot, const std::string& hash);
  void Index(Slot& slot, const std::string& hash, std::int64_t now_ms);
  /// After a change: moves the entry if it would keep the slot much longer than it lives, or not
  /// long enough.
  void Reindex(Slot& slot, const std::string& hash, std::int64_t now_ms);
  /// What ended until then may be forgotten.
  std::int64_t HorizonMs(const Stamp& stamp) const;
  void ExpireSlots(const Stamp& stamp, std::uint32_t limit, Answer& answer);
  void ExpireSlot(const ExpiryIndex::Due& due, std::int64_t now_ms, Answer& answer);
  /// Best-effort: the run was entered in the index until now. False: it is to stay, as it was
  /// cancelled since because it lost, or as runs are kept for longer now; it is entered anew.
  bool MayForget(const Run& run, const Stamp& stamp);
  void ExpireRuns(const Stamp& stamp, std::uint32_t limit, Answer& answer);

  Tables& tables_;
  const LedgerOptions options_;
  ClaimRules rules_;
  // How far eviction has come, and whether anything was settled or evicted since it was at the
  // front. Not in the tables: it decides in which order slots go, in a region that stands alone.
  std::int64_t evict_from_ms_ = 0;
  bool settled_since_round_ = false;
};

}  // namespace once
