#include "simulator/linearizability.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <string_view>

#include "simulator/story_of_key.h"

namespace once {
namespace {

using Kind = Operation::Kind;
using Heard = Operation::Answer;

/// The states that a fence goes through, in their order.
enum Phase { kClaimed, kClosed, kGone };
constexpr std::array<Phase, 3> kPhases = {kClaimed, kClosed, kGone};

/// A moment, and the call that it comes from.
struct Bound {
  std::int64_t at_ms;
  const Operation* by = nullptr;
};
constexpr Bound kAlways = {std::numeric_limits<std::int64_t>::min()};
constexpr Bound kNever = {std::numeric_limits<std::int64_t>::max()};

Bound Later(Bound one, Bound other) {
  return one.at_ms < other.at_ms ? other : one;
}
Bound Earlier(Bound one, Bound other) {
  return other.at_ms < one.at_ms ? other : one;
}

/// One claim of the slot, with the moments in which each of its phases can have begun.
struct Fence {
  std::uint64_t number = 0;
  std::string_view run_id;
  const Operation* shower = nullptr;   // a call that was told of it
  const Operation* claimer = nullptr;  // heard that it is the owner
  const Operation* settler = nullptr;  // heard that its outcome was accepted
  const Operation* teller = nullptr;   // the first that told the outcome
  const Operation* unheard = nullptr;  // the first that asked for that outcome and heard nothing
  std::array<Bound, 3> earliest = {kAlways, kAlways, kAlways};
  std::array<Bound, 3> latest = {kNever, kNever, kNever};
};

/// When a run was there, whatever the order: not at all when `until` is not after `since`.
struct Presence {
  Bound since;
  Bound until;
};

bool Unheard(const Operation& operation) {
  return operation.answer == Heard::kNone || operation.answer == Heard::kUnavailable;
}

bool SameOutcome(const Operation& one, const Operation& other) {
  return one.status == other.status && one.answer_body == other.answer_body;
}

std::string Told(const Operation& operation) {
  return std::to_string(operation.status) + " '" + operation.answer_body + "'";
}

std::string Call(const Operation& operation) {
  return "#" + std::to_string(operation.id);
}

std::string Name(const Fence& fence, Phase phase) {
  const std::string claim = "the claim under fence " + std::to_string(fence.number);
  if (phase == kClaimed) return claim;
  return phase == kClosed ? "the end of " + claim : "the end of run " + std::string(fence.run_id);
}

class SlotOrder {
 public:
  explicit SlotOrder(const std::vector<const Operation*>& operations) : operations_(operations) {}

  std::optional<Contradiction> Run() {
    Collect();
    CheckRuns();
    for (const Operation* operation : operations_) Place(*operation);
    FindClaimers();
    FindSettlers();
    CheckTakeUps();
    if (!found_) CheckOrder();
    if (!found_) CheckMissed(Presences());
    return std::move(found_);
  }

 private:
  void Collect() {
    for (const Operation* operation : operations_)
      if (ShowsFence(*operation))
        fences_.push_back({operation->fence, operation->run_id, operation});
    std::sort(fences_.begin(), fences_.end(),
              [](const Fence& one, const Fence& other) { return one.number < other.number; });
    const auto end = std::unique(
        fences_.begin(), fences_.end(),
        [](const Fence& one, const Fence& other) { return one.number == other.number; });
    fences_.erase(end, fences_.end());
  }

  Fence* Find(std::uint64_t number) {
    const auto at = std::lower_bound(
        fences_.begin(), fences_.end(), number,
        [](const Fence& fence, std::uint64_t wanted) { return fence.number < wanted; });
    return at != fences_.end() && at->number == number ? &*at : nullptr;
  }

  bool TakenUp(const Fence& fence) const {
    return &fence != &fences_.back() && (&fence)[1].run_id == fence.run_id;
  }

  Fence& LastOfRun(Fence& fence) {
    Fence* last = &fence;
    while (TakenUp(*last)) ++last;
    return *last;
  }

  void CheckRuns() {
    std::set<std::string_view> runs;
    for (const Fence& fence : fences_) {
      const bool next = &fence != &fences_.front() && (&fence)[-1].run_id == fence.run_id;
      if (next || runs.insert(fence.run_id).second) continue;
      Say(*fence.shower, "came back under fence " + std::to_string(fence.number) +
                             " after another run had taken its place");
    }
  }

  void Place(const Operation& operation) {
    if (IsRefused(operation)) return;
    if (Unheard(operation)) return PlaceUnheard(operation);
    if (operation.kind == Kind::kLookUp && operation.answer == Heard::kNotFound)
      return missed_.push_back(&operation);
    Fence* fence = Find(operation.fence);
    if (!fence) return;
    if (ShowsFence(operation) && operation.run_id != fence->run_id)
      return Say(operation, "has fence " + std::to_string(fence->number) + ", and run " +
                                std::string(fence->run_id) + " has it too");
    if (NamesItsRun(operation)) {
      if (operation.run_id != fence->run_id) return;
      operation.kind == Kind::kSettle ? PlaceSettle(operation, *fence)
                                      : PlaceRenewal(operation, *fence);
    } else {
      PlaceBegin(operation, *fence);
    }
  }

  void PlaceUnheard(const Operation& operation) {
    if (operation.kind == Kind::kBegin) unheard_begins_.push_back(&operation);
    if (operation.kind == Kind::kSettle) unheard_settles_.push_back(&operation);
  }

  void PlaceBegin(const Operation& operation, Fence& fence) {
    switch (operation.answer) {
      case Heard::kDone:
        Make(operation, fence, kClosed, fence.settler);
        Tell(operation, fence);
        [[fallthrough]];
      case Heard::kExecute:
        return Make(operation, fence, kClaimed, fence.claimer);
      case Heard::kReplay:
        Tell(operation, fence);
        return See(operation, fence, kClosed, kClosed);
      case Heard::kInFlight:
        return See(operation, fence, kClaimed, kClaimed);
      case Heard::kMismatch:
        return See(operation, fence, kClaimed, kClosed);
      default:
        return;
    }
  }

  void PlaceSettle(const Operation& operation, Fence& fence) {
    switch (operation.answer) {
      case Heard::kDone:
        Tell(operation, fence);
        return Make(operation, fence, kClosed, fence.settler);
      case Heard::kReplay:  // also of a run that is gone
        Tell(operation, fence);
        NotBefore(operation, fence, kClosed);
        if (TakenUp(fence)) NotAfter(operation, (&fence)[1], kClaimed);
        return;
      case Heard::kStaleFence:
        return NotBefore(operation, fence, kClosed);
      case Heard::kNotFound:
        return NotBefore(operation, LastOfRun(fence), kGone);
      default:
        return;
    }
  }

  void PlaceRenewal(const Operation& operation, Fence& fence) {
    switch (operation.answer) {
      case Heard::kDone:
        return See(operation, fence, kClaimed, kClaimed);
      case Heard::kStaleFence:
        return NotBefore(operation, fence, kClosed);
      case Heard::kNotFound:
        return NotBefore(operation, LastOfRun(fence), kGone);
      default:
        return;
    }
  }

  void Make(const Operation& operation, Fence& fence, Phase phase, const Operation*& maker) {
    if (maker)
      Say(operation, (phase == kClaimed ? "was given fence " : "was settled under fence ") +
                         std::to_string(fence.number) + " after " + Call(*maker) + " had been");
    maker = &operation;
    NotBefore(operation, fence, phase);
    NotAfter(operation, fence, phase);
  }

  void See(const Operation& operation, Fence& fence, Phase first, Phase last) {
    NotBefore(operation, fence, first);
    NotAfter(operation, fence, kPhases[last + 1]);
  }

  /// The call happened when the phase had begun, or made it.
  void NotBefore(const Operation& operation, Fence& fence, Phase phase) {
    Bound& latest = fence.latest[phase];
    latest = Earlier(latest, {operation.returned_ms, &operation});
  }

  /// The call happened before the phase began, or made it.
  void NotAfter(const Operation& operation, Fence& fence, Phase phase) {
    Bound& earliest = fence.earliest[phase];
    earliest = Later(earliest, {operation.invoked_ms, &operation});
  }

  void Tell(const Operation& operation, Fence& fence) {
    if (!fence.teller) fence.teller = &operation;
    if (!SameOutcome(*fence.teller, operation))
      Say(operation, "was answered with " + Told(operation) + " under fence " +
                         std::to_string(fence.number) + " and " + Call(*fence.teller) + " with " +
                         Told(*fence.teller));
  }

  /// Claims that nobody heard of belong to begins that heard nothing. Whichever it is, the n-th of
  /// the claims is not before the n-th of the begins.
  void FindClaimers() {
    std::sort(unheard_begins_.begin(), unheard_begins_.end(),
              [](const Operation* one, const Operation* other) {
                return one->invoked_ms < other->invoked_ms;
              });
    auto begin = unheard_begins_.begin();
    for (Fence& fence : fences_) {
      if (fence.claimer) continue;
      if (begin == unheard_begins_.end())
        return Say(*fence.shower, "knew of fence " + std::to_string(fence.number) +
                                      ", which nobody had asked for");
      NotAfter(**begin++, fence, kClaimed);
    }
  }

  void FindSettlers() {
    for (const Operation* settle : unheard_settles_) {
      Fence* fence = Find(settle->fence);
      if (!fence || !fence->teller || settle->run_id != fence->run_id) continue;
      if (!SameOutcome(*settle, *fence->teller)) continue;
      if (!fence->unheard || settle->invoked_ms < fence->unheard->invoked_ms)
        fence->unheard = settle;
    }
    for (Fence& fence : fences_) {
      // Whoever claimed it without hearing of it may have settled it in the same call.
      if (!fence.teller || fence.settler || !fence.claimer) continue;
      if (MayHaveMadeRoom(*fence.teller)) continue;
      if (!fence.unheard) return Say(*fence.teller, "was answered with what nobody had settled");
      NotAfter(*fence.unheard, fence, kClosed);
    }
  }

  /// Its owner was told that it is released, and that may have been for another request.
  bool MayHaveMadeRoom(const Operation& teller) const {
    return teller.status == 0 &&
           std::any_of(operations_.begin(), operations_.end(), [&teller](const Operation* begin) {
             return MayMakeRoom(*begin, teller) && begin->invoked_ms <= teller.returned_ms;
           });
  }

  void CheckTakeUps() {
    for (const Fence& fence : fences_)
      if (fence.teller && TakenUp(fence) &&
          (fence.teller->status == 0 || IsFinalStatus(fence.teller->status)))
        Say(*fence.teller, "was over with " + Told(*fence.teller) +
                               ", yet was taken up under fence " +
                               std::to_string((&fence)[1].number));
  }

  void CheckOrder() {
    Bound earliest = kAlways;
    std::string before;
    for (const Fence& fence : fences_)
      for (const Phase phase : kPhases) {
        if (earliest.at_ms < fence.earliest[phase].at_ms) {
          earliest = fence.earliest[phase];
          before = Name(fence, phase);
        }
        const Bound& latest = fence.latest[phase];
        if (earliest.at_ms > latest.at_ms)
          return Say(*earliest.by, "cannot have come after " + before + ", but was invoked at " +
                                       std::to_string(earliest.at_ms) + ", and " +
                                       Call(*latest.by) + " had returned at " +
                                       std::to_string(latest.at_ms) + ", not before " +
                                       Name(fence, phase));
      }
  }

  /// The latest moment of each claim.
  std::vector<Bound> LatestClaims() const {
    std::vector<Bound> claims(fences_.size());
    Bound latest = kNever;
    for (std::size_t at = fences_.size(); at-- > 0;) {
      for (const Bound& bound : fences_[at].latest) latest = Earlier(latest, bound);
      claims[at] = latest;
    }
    return claims;
  }

  std::vector<Presence> Presences() const {
    const std::vector<Bound> latest = LatestClaims();
    std::vector<Presence> presences;
    Bound earliest = kAlways;
    for (std::size_t at = 0, first = 0; at < fences_.size(); ++at) {
      for (const Bound& bound : fences_[at].earliest) earliest = Later(earliest, bound);
      if (TakenUp(fences_[at])) continue;
      presences.push_back({latest[first], earliest});
      first = at + 1;
    }
    return presences;
  }

  /// In a history that is in order, a run that was surely there at all was gone before the next.
  void CheckMissed(const std::vector<Presence>& presences) {
    for (const Operation* missed : missed_) {
      const auto next = std::partition_point(
          presences.begin(), presences.end(),
          [missed](const Presence& run) { return run.since.at_ms < missed->invoked_ms; });
      if (next == presences.begin() || next[-1].until.at_ms <= missed->returned_ms) continue;
      return Say(*missed, "found nothing, between " + Call(*next[-1].since.by) + " and " +
                              Call(*next[-1].until.by) + ", which saw run " +
                              next[-1].until.by->run_id);
    }
  }

  void Say(const Operation& operation, const std::string& what) {
    if (!found_) found_ = {&operation, Describe(operation) + " " + what};
  }

  const std::vector<const Operation*>& operations_;
  std::vector<Fence> fences_;  // in their order
  std::vector<const Operation*> unheard_begins_;
  std::vector<const Operation*> unheard_settles_;
  std::vector<const Operation*> missed_;  // looked for the slot and found nothing
  std::optional<Contradiction> found_;
};

}  // namespace

std::optional<Contradiction> FindContradiction(const std::vector<const Operation*>& operations) {
  return SlotOrder(operations).Run();
}

}  // namespace once
