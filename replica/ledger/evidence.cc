// What is kept of conflicts, so that somebody can act on them: durable, without content, and each
// once per run and kind.
#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "conflict/survivor.h"
#include "conflict/tally.h"
#include "replica/ledger/ledger.h"

namespace once {
namespace {

// A region that goes wrong may do so without end. Beyond this its collisions are only counted.
constexpr std::uint64_t kCollisionsMax = 1000;

Conflict About(const Slot& slot, const std::string& hash, const Claim& claim, ConflictKind kind,
               std::int64_t now_ms) {
  Conflict conflict;
  conflict.set_format(1);
  conflict.set_kind(kind);
  conflict.set_tenant(slot.tenant());
  conflict.set_endpoint(slot.endpoint());
  conflict.set_slot_hash(hash);
  conflict.set_loser(claim.run_id());
  conflict.set_region(claim.region());
  conflict.set_detected_ms(now_ms);
  return conflict;
}

}  // namespace

void Ledger::KeepEvidence(Conflict conflict, Answer& answer) {
  tables_.AddConflict(conflict);
  Head& head = tables_.head();
  if (conflict.kind() == LOST && conflict.region() == options_.region)
    head.set_conflicts(head.conflicts() + 1);
  answer.conflicts.push_back(std::move(conflict));
}

void Ledger::KeepLoss(const std::string& hash, const Slot& slot, const Loss& loss,
                      bool had_completed, const Stamp& stamp, Answer& answer) {
  // Its record came back before its winner, or its claim once more after it was forgotten. What was
  // said of it until now was said without the record.
  if (tables_.FindConflict(LOST, loss.run_id()) && !MutationOn("counter-without-dedup"))
    return tables_.ShipClaim(hash, loss.run_id());
  const Claim* loser = nullptr;
  const Claim* winner = nullptr;
  for (const Claim& claim : slot.claims()) {
    if (claim.run_id() == loss.run_id()) loser = &claim;
    if (claim.run_id() == loss.first_winner()) winner = &claim;
  }
  Conflict conflict = About(slot, hash, *loser, LOST, stamp.now_ms);
  conflict.set_winner(loss.first_winner());
  conflict.set_region_pair(loss.region_pair());
  conflict.set_payload_divergent(loser->fingerprint() != winner->fingerprint());
  conflict.set_loser_had_completed(had_completed);
  KeepEvidence(std::move(conflict), answer);
  // Carries the record to the other regions.
  if (!MutationOn("record-not-shipped")) tables_.ShipClaim(hash, loss.run_id());
}

void Ledger::KeepCollision(const std::string& hash, const Slot& slot, const Claim& came,
                           const std::string& held_fingerprint, const Stamp& stamp,
                           Answer& answer) {
  answer.collided.push_back(came.region());
  Head& head = tables_.head();
  if (head.collisions() >= kCollisionsMax || tables_.FindConflict(RUN_ID_COLLISION, came.run_id()))
    return;
  Conflict conflict = About(slot, hash, came, RUN_ID_COLLISION, stamp.now_ms);
  conflict.set_winner(came.run_id());  // a run id names one claim, whichever stands
  conflict.set_region_pair(RegionPair(options_.region, came.region()));
  conflict.set_payload_divergent(held_fingerprint != came.fingerprint());
  conflict.add_fingerprints(held_fingerprint);
  conflict.add_fingerprints(came.fingerprint());
  KeepEvidence(std::move(conflict), answer);
  head.set_collisions(head.collisions() + 1);
}

void Ledger::KeepLateCompletion(const Settle& settle, Claim& claim, const Stamp& stamp,
                                Answer& answer) {
  const bool final = (settle.state() == COMPLETED && !MutationOn("late-completion-unlisted")) ||
                     settle.state() == TERMINAL_FAILURE;
  if (answer.winner.empty() || !final || settle.fence() != claim.fence()) return;
  // The record may have come back to a directory that had lost it before the claim's outcome did.
  const bool known =
      claim.has_outcome() || tables_.FindConflict(LATE_COMPLETION, claim.run_id()).has_value();
  if (known && !MutationOn("late-completion-twice")) return;
  Reached("a claim was superseded while its completion was on the way");
  Slot& slot = *tables_.FindSlot(settle.hash());
  const Claim& winner = *FindClaim(slot, answer.winner);
  Conflict conflict = About(slot, settle.hash(), claim, LATE_COMPLETION, stamp.now_ms);
  conflict.set_winner(winner.run_id());
  conflict.set_region_pair(RegionPair(claim.region(), winner.region()));
  conflict.set_payload_divergent(claim.fingerprint() != winner.fingerprint());
  conflict.set_loser_had_completed(true);
  conflict.set_late_status(settle.outcome().status());
  KeepEvidence(std::move(conflict), answer);  // first: it may throw
  claim.set_version(claim.version() + 1);
  *claim.mutable_outcome() = settle.outcome();
  tables_.Touch(settle.hash());
  tables_.ShipClaim(settle.hash(), claim.run_id());
}

// The home region's record, listed here too. Who and where is read off the change it came with.
void Ledger::MergeConflict(const Change& change, const std::string& hash, Answer& answer) {
  Conflict conflict = change.conflict();
  if (tables_.FindConflict(conflict.kind(), conflict.loser())) return;
  const bool own = conflict.region() == options_.region;
  if (own && conflict.kind() == LOST) Reached("a region got the record of its own loser back");
  if (own && conflict.kind() == LATE_COMPLETION)
    Reached("a region got the record of its own late completion back");
  conflict.set_tenant(change.tenant());
  conflict.set_endpoint(change.endpoint());
  conflict.set_slot_hash(hash);
  if (MutationOn("record-without-kind")) conflict.set_kind(LOST);
  KeepEvidence(std::move(conflict), answer);
}

}  // namespace once
