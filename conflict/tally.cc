#include "conflict/tally.h"

#include <algorithm>

#include "conflict/mutation.h"
#include "conflict/survivor.h"

namespace once {
namespace {

/// Index of the first recorded loss whose run_id is not lower.
int PlaceOf(const Slot& slot, std::string_view run_id) {
  const auto place = std::lower_bound(
      slot.losses().begin(), slot.losses().end(), run_id,
      [](const Loss& loss, std::string_view id) { return IsLowerRunId(loss.run_id(), id); });
  return static_cast<int>(place - slot.losses().begin());
}

bool IsRecorded(const Slot& slot, std::string_view run_id) {
  if (MutationOn("counter-without-dedup")) return false;
  const int place = PlaceOf(slot, run_id);
  return place < slot.losses_size() && slot.losses(place).run_id() == run_id;
}

}  // namespace

std::string RegionPair(std::string_view a, std::string_view b) {
  const auto [first, second] = std::minmax(a, b);
  std::string pair(first);
  pair += '|';
  pair += second;
  return pair;
}

std::vector<Loss> NewLosses(const Slot& slot, std::string_view region) {
  std::vector<Loss> losses;
  if (slot.claims_size() < 2) return losses;
  for (const Component& component : Components(slot)) {
    for (const Claim* loser : component.losers) {
      if (loser->region() != region || IsRecorded(slot, loser->run_id())) continue;
      Loss& loss = losses.emplace_back();
      loss.set_run_id(loser->run_id());
      loss.set_first_winner(component.survivor->run_id());
      loss.set_region_pair(RegionPair(loser->region(), component.survivor->region()));
    }
  }
  std::sort(losses.begin(), losses.end(),
            [](const Loss& a, const Loss& b) { return IsLowerRunId(a.run_id(), b.run_id()); });
  return losses;
}

int RecordLosses(Slot& slot, const std::vector<Loss>& losses) {
  int recorded = 0;
  for (const Loss& loss : losses) {
    if (IsRecorded(slot, loss.run_id())) continue;
    const int place = PlaceOf(slot, loss.run_id());
    auto* marks = slot.mutable_losses();
    *marks->Add() = loss;
    for (int at = marks->size() - 1; at > place; --at) marks->SwapElements(at, at - 1);
    ++recorded;
  }
  return recorded;
}

}  // namespace once
