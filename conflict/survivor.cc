#include "conflict/survivor.h"

#include <algorithm>
#include <cstddef>

#include "conflict/mutation.h"
#include "conflict/window.h"

namespace once {
namespace {

bool IsLowerClaim(const Claim* a, const Claim* b) {
  return IsLowerRunId(a->run_id(), b->run_id());
}

std::vector<const Claim*> FinalClaimsByStart(const Slot& slot) {
  std::vector<const Claim*> finals;
  for (const Claim& claim : slot.claims()) {
    if (IsFinal(claim)) finals.push_back(&claim);
  }
  std::sort(finals.begin(), finals.end(), [](const Claim* a, const Claim* b) {
    if (a->taken_up_ms() != b->taken_up_ms()) return a->taken_up_ms() < b->taken_up_ms();
    return IsLowerClaim(a, b);
  });
  return finals;
}

void Decide(Component& component) {
  std::sort(component.members.begin(), component.members.end(), IsLowerClaim);
  const auto success = std::find_if(component.members.begin(), component.members.end(),
                                    [](const Claim* claim) { return claim->state() == COMPLETED; });
  component.survivor = success != component.members.end() ? *success : component.members.front();
  if (MutationOn("highest-run-id")) component.survivor = component.members.back();
  for (const Claim* claim : component.members) {
    if (claim != component.survivor && (claim->state() == COMPLETED || MutationOn("failure-loses")))
      component.losers.push_back(claim);
  }
}

/// The survivor of the component that the claim gave way to. Supersede() left its end in the claim;
/// components are disjoint and only ever grow, so it is the first that reaches as far.
const Claim* WinnerOver(const Claim& superseded, const std::vector<Component>& components) {
  for (const Component& component : components) {
    if (component.survivor->state() == COMPLETED &&
        component.expires_ms >= superseded.expires_ms()) {
      return component.survivor;
    }
  }
  return nullptr;
}

}  // namespace

bool IsLowerRunId(std::string_view a, std::string_view b) {
  // char_traits<char> compares as unsigned char, also where char is signed.
  return a < b;
}

std::vector<Component> Components(const Slot& slot) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<Component> components;
  std::size_t open = kNone;  // the component that the next window may still overlap
  for (const Claim* claim : FinalClaimsByStart(slot)) {
    const Window window = WindowOf(*claim);
    // In order of start, a window overlaps some earlier member exactly if it starts before the
    // component's end. An empty window stands alone and leaves the open component open.
    const bool joins = open != kNone && !window.Empty() &&
                       window.starts_ms < components[open].expires_ms &&
                       !(MutationOn("pairwise-merge") && components[open].members.size() > 1);
    if (!joins) {
      components.emplace_back().expires_ms = window.expires_ms;
      if (!window.Empty()) open = components.size() - 1;
    }
    Component& component = joins ? components[open] : components.back();
    component.members.push_back(claim);
    component.expires_ms = std::max(component.expires_ms, window.expires_ms);
  }
  for (Component& component : components) Decide(component);
  return components;
}

const Claim* SurvivorAt(const Slot& slot, std::int64_t now_ms, std::int64_t skew_ms) {
  const Claim* only = nullptr;
  int finals = 0;
  for (const Claim& claim : slot.claims()) {
    if (!IsFinal(claim)) continue;
    only = &claim;
    if (++finals > 1) break;
  }
  if (finals == 0) return nullptr;
  if (finals == 1) return AnswersAt(only->expires_ms(), now_ms, skew_ms) ? only : nullptr;

  const std::vector<Component> components = Components(slot);
  const auto latest = std::find_if(
      components.rbegin(), components.rend(),
      [&](const Component& component) { return AnswersAt(component.expires_ms, now_ms, skew_ms); });
  return latest == components.rend() ? nullptr : latest->survivor;
}

const Claim* RedirectOf(const Slot& slot, std::string_view run_id) {
  const auto claim = std::find_if(slot.claims().begin(), slot.claims().end(),
                                  [&](const Claim& each) { return each.run_id() == run_id; });
  if (claim == slot.claims().end()) return nullptr;
  if (claim->state() == SUPERSEDED) return WinnerOver(*claim, Components(slot));
  if (!IsFinal(*claim)) return nullptr;
  for (const Component& component : Components(slot)) {
    const auto& members = component.members;
    if (std::find(members.begin(), members.end(), &*claim) == members.end()) continue;
    return component.survivor == &*claim ? nullptr : component.survivor;
  }
  return nullptr;
}

}  // namespace once
