// Many regions, one survivor: merging what others say, and dealing with one's own losers.
#include <algorithm>

#include "conflict/merge.h"
#include "conflict/mutation.h"
#include "conflict/supersede.h"
#include "conflict/survivor.h"
#include "conflict/tally.h"
#include "conflict/window.h"
#include "replica/api/digest.h"
#include "replica/ledger/effects.h"
#include "replica/ledger/ledger.h"
#include "replica/ledger/workflows.h"

namespace once {
namespace {

constexpr const char* kLossReason = "cross_region_dedup_loss";
constexpr std::uint32_t kSlotFormat = 1;

}  // namespace

Answer Ledger::Merge(const Frame& frame, const Stamp& stamp) {
  Answer answer;
  answer.kind = Answer::Kind::kDone;
  for (const Change& change : frame.changes()) {
    if (MutationOn("lost-push") && stamp.entropy[0] % 8 == 0) continue;
    if (change.has_claim()) MergeClaimChange(change, stamp, answer);
    if (change.has_run()) MergeRunChange(change);
  }
  return answer;
}

void Ledger::MergeClaimChange(const Change& change, const Stamp& stamp, Answer& answer) {
  const std::string hash = SlotKey(static_cast<std::uint8_t>(change.surface()), change.tenant(),
                                   change.endpoint(), change.key());
  if (change.has_conflict()) MergeConflict(change, hash, answer);
  Slot* slot = tables_.FindSlot(hash);
  const bool fresh = slot == nullptr;
  if (fresh) {
    // The size bound is for callers: what another region promised is kept here all the same.
    slot = &tables_.NewSlot(hash);
    slot->set_format(kSlotFormat);
    slot->set_surface(change.surface());
    slot->set_tenant(change.tenant());
    slot->set_endpoint(change.endpoint());
    slot->set_key(change.key());
  }
  const Claim* held = fresh ? nullptr : FindClaim(*slot, change.claim().run_id());
  const std::string held_fingerprint = held ? held->fingerprint() : "";
  const Merged merged = MergeClaim(*slot, change.claim());
  if (merged == Merged::kUnchanged && !fresh &&
      NewLosses(*slot, options_.region, stamp.now_ms).empty())
    return;
  // Dirty before anything can throw: what memory shows must reach the disk.
  fresh ? Index(*slot, hash) : Reindex(*slot, hash);
  tables_.Touch(hash);
  answer.woken.push_back(hash);
  if (merged == Merged::kCollision)
    KeepCollision(hash, *slot, change.claim(), held_fingerprint, stamp, answer);
  Reconcile(hash, *slot, stamp, answer);
  Reindex(*slot, hash);
  tables_.Touch(hash);
}

void Ledger::MergeRunChange(const Change& change) {
  const Run& theirs = change.run();
  const auto mine = tables_.FindRun(theirs.run_id());
  if (mine && mine->version() >= theirs.version()) return;
  tables_.PutRun(theirs);
  if (theirs.status() == WAITING_APPROVAL)
    tables_.PutInterrupt(theirs.interrupt_token(), theirs.run_id());
  if (IsTerminal(theirs.status()) && options_.run_retention_ms != 0)
    tables_.PutExpiry(
        keys::Expiring::kRun,
        SaturatingAdd(theirs.updated_ms(), static_cast<std::int64_t>(options_.run_retention_ms)),
        theirs.run_id());
}

void Ledger::Reconcile(const std::string& hash, Slot& slot, const Stamp& stamp, Answer& answer) {
  if (slot.claims_size() < 2) return;
  if (!MutationOn("supersede-forgotten") &&
      Supersede(slot, options_.region, stamp.now_ms, options_.skew_ms) > 0)
    for (const Claim& claim : slot.claims())
      if (claim.region() == options_.region && claim.state() == SUPERSEDED)
        tables_.ShipClaim(hash, claim.run_id());
  const std::vector<Loss> losses = NewLosses(slot, options_.region, stamp.now_ms);
  for (const Loss& loss : losses) Lose(hash, slot, loss, stamp, answer);
  if (!MutationOn("losses-not-persisted")) RecordLosses(slot, losses);
}

void Ledger::Lose(const std::string& hash, const Slot& slot, const Loss& loss, const Stamp& stamp,
                  Answer& answer) {
  auto run = tables_.FindRun(loss.run_id());  // first: it may throw, and then nothing is counted
  Head& head = tables_.head();
  head.set_conflicts(head.conflicts() + 1);
  // A loser is a success; only a run may still go on.
  const bool had_completed = !run || run->status() == RUN_COMPLETED;
  if (run) {
    const EffectContext context{tables_,       stamp, options_.region,
                                loss.run_id(), 1,     options_.run_retention_ms};
    run->set_completed_before(had_completed);
    if (MutationOn("cancel-twice")) CancelRunNow(*run, kLossReason, context);
    if (run->status() != RUN_CANCELLED || MutationOn("cancel-twice"))
      CancelRunNow(*run, kLossReason, context);
    answer.cancelled_runs.push_back(loss.run_id());
  }
  KeepLoss(hash, slot, loss, had_completed, stamp, answer);
}

Answer Ledger::Reassert_(const Reassert& reassert) {
  Answer answer;
  answer.kind = Answer::Kind::kDone;
  tables_.VisitSlots(static_cast<std::uint8_t>(reassert.bucket()),
                     [this](const std::string& hash, const Slot& slot) {
                       for (const Claim& claim : slot.claims())
                         if (claim.region() == options_.region) {
                           tables_.ShipClaim(hash, claim.run_id());
                           if (slot.surface() == ROUTE) tables_.ShipRun(claim.run_id());
                         }
                     });
  tables_.TouchHead();
  return answer;
}

}  // namespace once
