#include "conflict/merge.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "conflict/mutation.h"
#include "conflict/survivor.h"
#include "conflict/window.h"

namespace once {
namespace {

auto Identity(const Claim& claim) {
  return std::tuple(claim.created_ms(), std::string_view(claim.region()),
                    std::string_view(claim.fingerprint()));
}

bool Same(const Claim& a, const Claim& b) {
  return a.version() == b.version() && a.SerializeAsString() == b.SerializeAsString();
}

bool SameApartFromVersion(const Claim& a, const Claim& b) {
  Claim relabelled = b;
  relabelled.set_version(a.version());
  return Same(a, relabelled);
}

/// Strict total order over the states of one run_id; the laws of merge rest on it.
bool StandsOver(const Claim& a, const Claim& b) {
  if (Identity(a) != Identity(b)) return Identity(a) < Identity(b);
  if (IsFinal(a) != IsFinal(b)) return IsFinal(a);
  // Two ends of one run, after its region went on from an earlier state: the first has been told.
  if (IsFinal(a) && a.finalised_ms() != b.finalised_ms())
    return (a.finalised_ms() < b.finalised_ms()) != MutationOn("second-end-stands");
  // The same while it is open: whoever took it up last owns it.
  if (!IsFinal(a) && a.fence() != b.fence()) return a.fence() > b.fence();
  // What an owner has ended it has ended; only the next one's fence opens it again.
  if ((a.state() == PENDING) != (b.state() == PENDING))
    return (b.state() == PENDING) != MutationOn("ended-reopened");
  if (a.version() != b.version()) return (a.version() < b.version()) == IsFinal(a);
  return a.SerializeAsString() < b.SerializeAsString();
}

/// Whether two different states cannot both belong to a claim that moves as claims may move.
bool Contradict(const Claim& a, const Claim& b) {
  if (Identity(a) != Identity(b)) return true;
  if (IsFinal(a) && IsFinal(b)) return !SameApartFromVersion(a, b);
  if (a.version() == b.version()) return true;
  const Claim& later = a.version() > b.version() ? a : b;
  const Claim& earlier = &later == &a ? b : a;
  return IsFinal(earlier) && !IsFinal(later);
}

void Insert(Slot& into, const Claim& claim, int index) {
  auto* claims = into.mutable_claims();
  *claims->Add() = claim;
  for (int at = claims->size() - 1; at > index; --at) claims->SwapElements(at, at - 1);
}

}  // namespace

Merged MergeClaim(Slot& into, const Claim& claim) {
  const auto place = std::lower_bound(
      into.claims().begin(), into.claims().end(), claim,
      [](const Claim& a, const Claim& b) { return IsLowerRunId(a.run_id(), b.run_id()); });
  const int index = static_cast<int>(place - into.claims().begin());
  if (place == into.claims().end() || place->run_id() != claim.run_id()) {
    Insert(into, claim, index);
    return Merged::kAdded;
  }
  Claim& held = *into.mutable_claims(index);
  if (Same(held, claim)) return Merged::kUnchanged;
  const bool contradict = Contradict(held, claim);
  const bool advances = StandsOver(claim, held);
  if (advances) held = claim;
  if (contradict) return Merged::kCollision;
  return advances ? Merged::kAdvanced : Merged::kUnchanged;
}

}  // namespace once
