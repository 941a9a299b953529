#include "replica/ledger/ledger.h"

#include <algorithm>

#include "conflict/forget.h"
#include "conflict/mutation.h"
#include "conflict/survivor.h"
#include "conflict/window.h"
#include "replica/env/check.h"
#include "replica/ledger/effects.h"
#include "replica/ledger/run_id.h"

namespace once {
namespace {

constexpr std::uint64_t kFencesPerMs = 1000;  // exact as a JSON number for two centuries

// Everything of a claim but its stored answer, which may be large.
Claim Summary(const Claim& claim) {
  Claim copy;
  copy.set_run_id(claim.run_id());
  copy.set_region(claim.region());
  copy.set_version(claim.version());
  copy.set_state(claim.state());
  copy.set_fence(claim.fence());
  copy.set_lease_ms(claim.lease_ms());
  copy.set_lease_until_ms(claim.lease_until_ms());
  copy.set_created_ms(claim.created_ms());
  copy.set_finalised_ms(claim.finalised_ms());
  copy.set_expires_ms(claim.expires_ms());
  copy.set_tries(claim.tries());
  return copy;
}

// Nobody came back for it in time, and a begin may have made another claim since.
bool IsAbandoned(const Claim& claim, std::int64_t now_ms, std::int64_t skew_ms) {
  return claim.state() == PENDING && !MutationOn("abandoned-completed") &&
         !AnswersAt(EndOf(claim), now_ms, skew_ms);
}

// Whom a claim that gave way points at; empty for any other.
std::string WinnerOver(const Slot& slot, const Claim& claim) {
  const Claim* winner = claim.state() == SUPERSEDED ? RedirectOf(slot, claim.run_id()) : nullptr;
  return winner ? winner->run_id() : "";
}

// Tries of the key whose outcome freed it again. Each was a claim of its own.
std::uint32_t TriesReleased(Tables& tables, const std::string& hash) {
  std::uint32_t tries = 0;
  const Slot* slot = hash.empty() ? nullptr : tables.FindSlot(hash);
  for (int at = 0; slot && at < slot->claims_size(); ++at)
    if (slot->claims(at).state() == RELEASED) tries += slot->claims(at).tries();
  return tries;
}

Answer::Kind KindOf(Begun begun) {
  switch (begun) {
    case Begun::kNew:
    case Begun::kTakenUp:
      return Answer::Kind::kExecute;
    case Begun::kReplay:
      return Answer::Kind::kReplay;
    case Begun::kInFlight:
      return Answer::Kind::kInFlight;
    case Begun::kMismatch:
      return Answer::Kind::kMismatch;
    case Begun::kCrowded:
      break;
  }
  return Answer::Kind::kCrowded;
}

Answer AboutClaim(Answer::Kind kind, const Claim& claim, const std::string& hash) {
  Answer answer;
  answer.kind = kind;
  answer.claim = Summary(claim);
  answer.hash = hash;
  return answer;
}

}  // namespace

Ledger::Ledger(Tables& tables, LedgerOptions options, std::int64_t boot_ms)
    : tables_(tables), options_(std::move(options)) {
  Head& head = tables_.head();
  head.set_format(kRecordFormat);
  rules_ = {options_.region, options_.skew_ms, 0, 0};
  if (options_.replicated) return;
  head.set_boot(head.boot() + 1);
  head.set_stamp_ms(std::max(head.stamp_ms(), boot_ms));
  // A directory that was emptied, or restored from a backup, does not know the last fences that it
  // gave. They were fewer than kFencesPerMs for every millisecond since the epoch.
  if (!MutationOn("fence-floor-dropped"))
    head.set_fence(
        std::max(head.fence(), static_cast<std::uint64_t>(head.stamp_ms()) * kFencesPerMs));
  rules_ = {options_.region, options_.skew_ms, head.boot(), head.stamp_ms()};
}

Answer Ledger::Apply(const Command& command, Stamp stamp) {
  Head& head = tables_.head();
  stamp.now_ms = std::max(stamp.now_ms, head.stamp_ms());
  head.set_stamp_ms(stamp.now_ms);
  head.set_fence(head.fence() + 1);
  // The same floor as at a start, by the leader's clock: above what the slots' owners were given
  // while they were best-effort, or by a group that was lost.
  if (options_.replicated)
    head.set_fence(std::max(head.fence(), static_cast<std::uint64_t>(stamp.now_ms) * kFencesPerMs));
  switch (command.body_case()) {
    case Command::kBegin:
      return ApplyBegin(command.begin(), stamp);
    case Command::kSettle:
      return ApplySettle(command.settle(), stamp);
    case Command::kRenew:
      return ApplyRenew(command.renew(), stamp);
    case Command::kMutation:
      return Mutate(command.mutation(), stamp);
    case Command::kAdvanceRun:
      return Advance(command.advance_run(), stamp);
    case Command::kExpireDue:
      return Expire(command.expire_due(), stamp);
    case Command::kSetPolicy:
      return Policy(command.set_policy(), stamp);
    case Command::kMergeFrame:
      return Merge(command.merge_frame().frame(), stamp);
    case Command::kReassert:
      return ApplyReassert(command.reassert(), stamp);
    case Command::BODY_NOT_SET:
      break;
  }
  Check(false, "a command has a body");
  return {};
}

// What happens to a slot that a begin finds, whatever it then says.
void Ledger::Refresh(Slot& slot, const SlotRef& ref, const Stamp& stamp) {
  // SHA-256 over length-prefixed parts does not collide; a record that says otherwise is corrupt.
  Check(
      slot.tenant() == ref.tenant() && slot.key() == ref.key() && slot.endpoint() == ref.endpoint(),
      "a slot's tuple is the one its key was made of");
  const bool restarted = RestartOwnLeases(slot, ref.hash());
  const bool covered = slot.indexed_ms() <= stamp.covered_ms;
  const int gone = Forget(slot, stamp.now_ms, options_.skew_ms, options_.grace_ms, covered);
  if (restarted || gone > 0) tables_.Touch(ref.hash());
}

bool Ledger::NeedsRoom(Slot* slot, const Begin& begin, const Stamp& stamp) const {
  if (!slot) return IsFull();
  return IsFullOfBytes() && WouldAdd(*slot, begin, stamp.now_ms, rules_);
}

Answer Ledger::ApplyBegin(const Begin& begin, const Stamp& stamp) {
  const std::string& hash = begin.slot().hash();
  Slot* slot = tables_.FindSlot(hash);
  if (slot) Refresh(*slot, begin.slot(), stamp);
  std::optional<Answer> room;
  if (NeedsRoom(slot, begin, stamp)) {
    if (!MakeRoom(stamp, room.emplace())) {
      room->kind = Answer::Kind::kFull;
      return std::move(*room);
    }
    slot = tables_.FindSlot(hash);  // it may be what had to go
  }
  const bool fresh = slot == nullptr;
  if (fresh) slot = &NewSlot(hash, begin.slot());
  const BeginResult result = BeginOn(*slot, begin, stamp, tables_.head().fence(), rules_);
  Answer answer = result.claim ? AboutClaim(KindOf(result.begun), *result.claim, hash)
                               : Crowded(*slot, hash, stamp);
  answer.reclaimed = result.reclaimed;
  answer.mismatched = result.mismatched;
  if (room) {
    answer.expired = room->expired;
    answer.evicted = room->evicted;
  }
  if (answer.kind == Answer::Kind::kReplay) answer.outcome = result.claim->outcome();
  if (answer.kind == Answer::Kind::kInFlight)
    answer.retry_after_ms =
        std::max<std::int64_t>(1, rules_.LeaseEnd(*result.claim) - stamp.now_ms);
  if (answer.kind == Answer::Kind::kExecute) {
    fresh ? Index(*slot, hash, stamp.now_ms) : Reindex(*slot, hash, stamp.now_ms);
    for (const std::string& run_id : result.closed) tables_.ShipClaim(hash, run_id);
    tables_.ShipClaim(hash, result.claim->run_id());
    tables_.Touch(hash);
  }
  return answer;
}

Answer Ledger::Crowded(const Slot& slot, const std::string& hash, const Stamp& stamp) const {
  Answer answer;
  answer.kind = Answer::Kind::kCrowded;
  answer.hash = hash;
  std::int64_t first_end_ms = kNeverMs;
  for (const Claim& claim : slot.claims())
    if (claim.region() == options_.region) first_end_ms = std::min(first_end_ms, EndOf(claim));
  const std::int64_t forgotten_ms =
      SaturatingAdd(first_end_ms, options_.skew_ms + options_.grace_ms);
  answer.retry_after_ms = std::max<std::int64_t>(1, forgotten_ms - stamp.now_ms);
  return answer;
}

const Begin* BeginOf(const Command& command) {
  if (command.has_begin()) return &command.begin();
  const Mutation& mutation = command.mutation();
  return mutation.has_begin() && mutation.admitted_fence() == 0 ? &mutation.begin() : nullptr;
}

Answer Ledger::Recall(const Begin& begin, std::int64_t now_ms) {
  const std::string& hash = begin.slot().hash();
  Slot* slot = tables_.FindSlot(hash);
  if (!slot) return {};
  const BeginResult known = RecallOn(*slot, begin, now_ms, rules_);
  if (!known.claim) return {};
  const bool replay = known.begun == Begun::kReplay;
  Answer answer =
      AboutClaim(replay ? Answer::Kind::kReplay : Answer::Kind::kMismatch, *known.claim, hash);
  answer.mismatched = known.mismatched;
  if (replay) answer.outcome = known.claim->outcome();
  return answer;
}

bool Ledger::RestartOwnLeases(Slot& slot, const std::string& hash) {
  if (!RestartLeases(slot, rules_)) return false;
  for (const Claim& claim : slot.claims())
    if (claim.state() == PENDING && claim.region() == options_.region)
      tables_.ShipClaim(hash, claim.run_id());
  return true;
}

Claim* Ledger::Locate(std::string_view tenant, const std::string& hash, std::string_view run_id,
                      Answer& answer) {
  answer.kind = Answer::Kind::kNotFound;
  Slot* slot = tables_.FindSlot(hash);
  // A foreign tenant's claim looks like none at all.
  if (!slot || slot->tenant() != tenant) return nullptr;
  Claim* claim = FindClaim(*slot, run_id);
  if (!claim || claim->region() == options_.region || MutationOn("settled-abroad")) return claim;
  answer.kind = Answer::Kind::kUnavailable;  // only its home region moves a claim
  return nullptr;
}

void Ledger::AfterSettle(const std::string& hash, const std::string& run_id, const Stamp& stamp,
                         Answer& answer) {
  settled_since_round_ = true;
  // Dirty before anything can throw: what memory shows must reach the disk.
  tables_.Touch(hash);
  tables_.ShipClaim(hash, run_id);
  answer.woken.push_back(hash);
  Slot& slot = *tables_.FindSlot(hash);
  Reconcile(hash, slot, stamp, answer);
  Reindex(slot, hash, stamp.now_ms);
  tables_.Touch(hash);
}

Answer Ledger::ApplySettle(const Settle& settle, const Stamp& stamp) {
  Answer answer;
  Claim* claim = Locate(settle.tenant(), settle.hash(), settle.run_id(), answer);
  if (!claim && !MutationOn("claim-taken-for-granted")) return answer;
  Check(claim != nullptr, "a claim that is settled was found");
  if (RestartOwnLeases(*tables_.FindSlot(settle.hash()), settle.hash()))
    tables_.Touch(settle.hash());
  if (!IsAbandoned(*claim, stamp.now_ms, options_.skew_ms) &&
      SettleClaim(*claim, settle.fence(), settle.state(), settle.outcome(), stamp.now_ms)) {
    answer = AboutClaim(Answer::Kind::kDone, *claim, settle.hash());
    answer.outcome = claim->outcome();
    AfterSettle(settle.hash(), claim->run_id(), stamp, answer);
    return answer;
  }
  // The same owner saying the same thing again, because the first answer got lost, is no conflict.
  const bool repeated = claim->fence() == settle.fence() && claim->state() == settle.state() &&
                        (settle.state() == RELEASED || claim->outcome().SerializeAsString() ==
                                                           settle.outcome().SerializeAsString());
  answer = AboutClaim(repeated ? Answer::Kind::kReplay : Answer::Kind::kStaleFence, *claim,
                      settle.hash());
  answer.outcome = claim->outcome();
  answer.winner = WinnerOver(*tables_.FindSlot(settle.hash()), *claim);
  KeepLateCompletion(settle, *claim, stamp, answer);
  return answer;
}

Answer Ledger::ApplyRenew(const Renew& renew, const Stamp& stamp) {
  Answer answer;
  Claim* claim = Locate(renew.tenant(), renew.hash(), renew.run_id(), answer);
  if (!claim) return answer;
  if (RestartOwnLeases(*tables_.FindSlot(renew.hash()), renew.hash())) tables_.Touch(renew.hash());
  const bool abandoned = IsAbandoned(*claim, stamp.now_ms, options_.skew_ms);
  if ((abandoned && !MutationOn("abandoned-renewed")) ||
      !RenewClaim(*claim, renew.fence(), renew.lease_ms(), stamp.now_ms, rules_)) {
    answer = AboutClaim(Answer::Kind::kStaleFence, *claim, renew.hash());
    answer.winner = WinnerOver(*tables_.FindSlot(renew.hash()), *claim);
    return answer;
  }
  Reindex(*tables_.FindSlot(renew.hash()), renew.hash(), stamp.now_ms);
  tables_.Touch(renew.hash());
  tables_.ShipClaim(renew.hash(), claim->run_id());
  return AboutClaim(Answer::Kind::kDone, *claim, renew.hash());
}

Answer Ledger::Admit(const Mutation& mutation, const Stamp& stamp) {
  if (mutation.admitted_fence() == 0) return ApplyBegin(mutation.begin(), stamp);
  const std::string& hash = mutation.begin().slot().hash();
  if (Slot* slot = tables_.FindSlot(hash))
    for (const Claim& claim : slot->claims())
      if (claim.region() == options_.region && claim.state() == PENDING &&
          claim.fence() == mutation.admitted_fence() &&
          !IsAbandoned(claim, stamp.now_ms, options_.skew_ms))
        return AboutClaim(Answer::Kind::kExecute, claim, hash);
  Answer answer;
  answer.kind = Answer::Kind::kStaleFence;
  return answer;
}

Answer Ledger::Mutate(const Mutation& mutation, const Stamp& stamp) {
  Answer answer;
  answer.claim.set_run_id(MintRunId(stamp.now_ms, options_.region, stamp.entropy[0]));
  answer.claim.set_tries(1);
  if (mutation.has_begin()) {
    answer = Admit(mutation, stamp);
    if (answer.kind != Answer::Kind::kExecute || mutation.reserve_only()) return answer;
  }
  const EffectContext context{tables_,
                              stamp,
                              options_.region,
                              answer.claim.run_id(),
                              answer.claim.tries() + TriesReleased(tables_, answer.hash),
                              options_.run_retention_ms};
  Effect effect = Execute(mutation, context);
  answer.kind = Answer::Kind::kDone;
  answer.run_id = effect.run_id;
  if (mutation.has_begin()) {
    Claim* claim = FindClaim(*tables_.FindSlot(answer.hash), answer.claim.run_id());
    const bool settled =
        SettleClaim(*claim, answer.claim.fence(), StateFor(effect.outcome.status()), effect.outcome,
                    stamp.now_ms);
    Check(settled, "an admitted claim is pending under the fence it was admitted with");
    answer.claim = Summary(*claim);
    AfterSettle(answer.hash, claim->run_id(), stamp, answer);
  }
  answer.outcome = std::move(effect.outcome);
  return answer;
}

Answer Ledger::Advance(const AdvanceRun& advance, const Stamp& stamp) {
  const EffectContext context{tables_,          stamp, options_.region,
                              advance.run_id(), 1,     options_.run_retention_ms};
  Answer answer;
  answer.kind = Answer::Kind::kDone;
  if (AdvanceOneStep(advance, context)) answer.run_id = advance.run_id();
  return answer;
}

Answer Ledger::Policy(const SetPolicy& set, const Stamp&) {
  if (set.remove())
    tables_.ErasePolicy(set.policy());
  else
    tables_.PutPolicy(set.policy());
  Answer answer;
  answer.kind = Answer::Kind::kDone;
  return answer;
}

}  // namespace once
