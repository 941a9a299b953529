// Many regions, one survivor: merging what others say, and dealing with one's own losers.
#include <algorithm>

#include "conflict/forget.h"
#include "conflict/merge.h"
#include "conflict/mutation.h"
#include "conflict/probe.h"
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

bool IsLost(const Run& run) {
  return run.status() == RUN_CANCELLED && run.reason() == kLossReason;
}

// Versions are counted twice when a region goes on from an earlier state of its own. The state that
// stands must be the same everywhere, and a loser stays one, however far others saw it come.
bool StandsOver(const Run& a, const Run& b) {
  if (IsLost(a) != IsLost(b)) return IsLost(a);
  if (a.version() != b.version()) return a.version() > b.version();
  if (IsTerminal(a.status()) != IsTerminal(b.status())) return IsTerminal(a.status());
  return a.SerializeAsString() < b.SerializeAsString();
}

void NoteLoser(const Run& run) {
  if (run.status() == RUN_COMPLETED) Reached("a loser had completed before it was cancelled");
  if (run.status() == WAITING_APPROVAL) Reached("a loser was waiting for an approval");
  if (run.status() == RUN_CANCELLED && !IsLost(run))
    Reached("a loser had been cancelled by its caller");
}

}  // namespace

Answer Ledger::Merge(const Frame& frame, const Stamp& stamp) {
  Answer answer;
  answer.kind = Answer::Kind::kDone;
  for (const Change& change : frame.changes()) {
    if (MutationOn("lost-push") && stamp.entropy[0] % 8 == 0) continue;
    if (change.has_claim()) MergeClaimChange(change, stamp, answer);
    if (change.has_run()) MergeRunChange(change, stamp, answer);
  }
  return answer;
}

void Ledger::MergeClaimChange(const Change& change, const Stamp& stamp, Answer& answer) {
  const std::string hash = SlotKey(static_cast<std::uint8_t>(change.surface()), change.tenant(),
                                   change.endpoint(), change.key());
  if (change.has_conflict()) MergeConflict(change, hash, answer);
  Slot* slot = tables_.FindSlot(hash);
  const bool fresh = slot == nullptr;
  // The size bound is for callers: what another region promised is kept here all the same.
  if (fresh) slot = &NewSlot(hash, change);
  if (fresh && Past(EndOf(change.claim()), stamp.now_ms - options_.skew_ms - options_.grace_ms))
    Reached("a claim came that may have been forgotten here");
  const Claim* held = fresh ? nullptr : FindClaim(*slot, change.claim().run_id());
  const std::string held_fingerprint = held ? held->fingerprint() : "";
  const Merged merged = MergeClaim(*slot, change.claim());
  if (change.claim().region() == options_.region)
    TakeBack(hash, *slot, change.claim(), merged != Merged::kUnchanged, stamp);
  if (merged == Merged::kUnchanged && !fresh && NewLosses(*slot, options_.region).empty()) return;
  // Dirty before anything can throw: what memory shows must reach the disk.
  fresh ? Index(*slot, hash, stamp.now_ms) : Reindex(*slot, hash, stamp.now_ms);
  tables_.Touch(hash);
  answer.woken.push_back(hash);
  if (merged == Merged::kCollision)
    KeepCollision(hash, *slot, change.claim(), held_fingerprint, stamp, answer);
  if (slot->claims_size() < 2) return;
  Reconcile(hash, *slot, stamp, answer);
  Reindex(*slot, hash, stamp.now_ms);
  tables_.Touch(hash);
}

// Whoever worked under it may still do so, and nobody counted its time meanwhile. It is said again:
// who gave it back may be the only one that knew it, and lose it before the others hear of it.
void Ledger::TakeBack(const std::string& hash, Slot& slot, const Claim& came, bool is_new,
                      const Stamp& stamp) {
  Head& head = tables_.head();
  if (!MutationOn("returned-fence-ignored")) head.set_fence(std::max(head.fence(), came.fence()));
  if (!is_new) return;
  Reached("a region got its own claim back");
  Claim* claim = FindClaim(slot, came.run_id());
  tables_.ShipClaim(hash, claim->run_id());
  if (claim->state() != PENDING) return;
  Reached("a region got a claim back that somebody may still work on");
  claim->set_version(claim->version() + 1);
  claim->set_lease_until_ms(
      SaturatingAdd(stamp.now_ms, static_cast<std::int64_t>(claim->lease_ms())));
  claim->set_lease_boot(rules_.boot);
}

void Ledger::MergeRunChange(const Change& change, const Stamp& stamp, Answer& answer) {
  const Run& theirs = change.run();
  const auto mine = tables_.FindRun(theirs.run_id());
  if (mine && !StandsOver(theirs, *mine)) return;
  // Its home asked twice, in two lives: no record would lead to the other token any more.
  if (mine && !mine->interrupt_token().empty() &&
      mine->interrupt_token() != theirs.interrupt_token())
    tables_.EraseInterrupt(mine->interrupt_token());
  tables_.PutRun(theirs);
  if (theirs.region() == options_.region) tables_.ShipRun(theirs.run_id());
  if (theirs.region() == options_.region && !IsTerminal(theirs.status())) {
    Reached("a run came back to a home that had lost it and goes on");
    if (!MutationOn("returned-run-not-resumed")) answer.returned_runs.push_back(theirs.run_id());
  }
  if (theirs.status() == WAITING_APPROVAL && !MutationOn("token-not-indexed"))
    tables_.PutInterrupt(theirs.interrupt_token(), theirs.run_id());
  if (IsTerminal(theirs.status()) && options_.run_retention_ms != 0)
    tables_.expiry().Put(
        keys::Expiring::kRun,
        std::max(stamp.now_ms, RetainedUntil(theirs.updated_ms(), options_.run_retention_ms)),
        theirs.run_id());
}

void Ledger::Reconcile(const std::string& hash, Slot& slot, const Stamp& stamp, Answer& answer) {
  if (slot.claims_size() < 2) return;
  if (!MutationOn("supersede-forgotten") &&
      Supersede(slot, options_.region, stamp.now_ms, options_.skew_ms) > 0)
    for (const Claim& claim : slot.claims())
      if (claim.region() == options_.region && claim.state() == SUPERSEDED)
        tables_.ShipClaim(hash, claim.run_id());
  for (const Loss& loss : NewLosses(slot, options_.region)) {
    Lose(hash, slot, loss, stamp, answer);
    // Before the next one, which may throw.
    if (!MutationOn("losses-not-persisted")) RecordLosses(slot, {loss});
  }
}

void Ledger::Lose(const std::string& hash, const Slot& slot, const Loss& loss, const Stamp& stamp,
                  Answer& answer) {
  auto run = tables_.FindRun(loss.run_id());
  // A loser is a success; only a run may still go on.
  const bool had_completed = !run || run->status() == RUN_COMPLETED || run->completed_before();
  KeepLoss(hash, slot, loss, had_completed, stamp, answer);
  // Nothing was changed by what may throw, and from here on nothing throws.
  if (!run) return;
  NoteLoser(*run);
  const EffectContext context{tables_,       stamp, options_.region,
                              loss.run_id(), 1,     options_.run_retention_ms};
  if (!MutationOn("completed-before-forgotten")) run->set_completed_before(had_completed);
  if (MutationOn("cancel-twice")) CancelRunNow(*run, kLossReason, context);
  if (run->status() != RUN_CANCELLED || MutationOn("cancel-twice"))
    CancelRunNow(*run, MutationOn("loss-without-reason") ? "" : kLossReason, context);
  answer.cancelled_runs.push_back(loss.run_id());
}

Answer Ledger::ApplyReassert(const Reassert& reassert, const Stamp& stamp) {
  const std::string& region = reassert.region().empty() ? options_.region : reassert.region();
  const bool own = region == options_.region;
  const std::int64_t past_ms = stamp.now_ms - options_.skew_ms - options_.grace_ms;
  Answer answer;
  answer.kind = Answer::Kind::kDone;
  tables_.TouchHead();
  for (const std::string& run_id : reassert.run_ids())
    if (const auto run = tables_.FindRun(run_id); run && run->region() == region)
      tables_.ShipRun(run_id);
  if (reassert.run_ids_size() > 0) return answer;
  tables_.VisitSlots(static_cast<std::uint8_t>(reassert.bucket()),
                     [&](const std::string& hash, const Slot& slot) {
                       // Whoever has forgotten it is not told again; of what is not with all yet
                       // some may never have heard.
                       const bool unheard = own && slot.indexed_ms() > stamp.covered_ms;
                       if (Past(LatestEnd(slot), past_ms) && !unheard) return;
                       for (const Claim& claim : slot.claims()) {
                         if (claim.region() != region) continue;
                         // The run first: a claim that lost cancels it.
                         if (slot.surface() == ROUTE) tables_.ShipRun(claim.run_id());
                         tables_.ShipClaim(hash, claim.run_id());
                       }
                     });
  return answer;
}

}  // namespace once
