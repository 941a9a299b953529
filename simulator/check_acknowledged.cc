#include <algorithm>
#include <limits>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

using Operations = std::vector<const Operation*>;

/// How long a claim stays at least. Whoever takes it up may have asked for less than its owner.
std::int64_t ShortestRetention(const Operations& operations) {
  std::uint64_t shortest_ms = std::numeric_limits<std::int64_t>::max() / 2;
  for (const Operation* operation : operations)
    if (operation->retention_ms > 0) shortest_ms = std::min(shortest_ms, operation->retention_ms);
  return static_cast<std::int64_t>(shortest_ms);
}

/// By its owner, or to make room for another request that the policy lets through.
bool MayBeReleased(const Operations& operations, const Operation& known, std::int64_t by_ms) {
  return std::any_of(operations.begin(), operations.end(), [&](const Operation* operation) {
    if (operation->invoked_ms > by_ms) return false;
    const bool released = operation->kind == Operation::Kind::kSettle &&
                          operation->run_id == known.run_id && operation->status == 0;
    return released || MayMakeRoom(*operation, known);
  });
}

/// By this very call. One that is told so again does not know since when.
bool Settled(const Operation& operation) {
  return operation.kind == Operation::Kind::kSettle && operation.answer == Operation::Answer::kDone;
}

/// What is wrong with the answer of `later` after `known` was acknowledged; empty: nothing.
std::string Missing(const Operation& known, const Operation& later) {
  if (later.answer == Operation::Answer::kNotFound &&
      (!NamesItsRun(later) || later.run_id == known.run_id))
    return "found nothing";
  if (later.kind == Operation::Kind::kSettle || !ShowsFence(later)) return "";
  const std::string shown = "fence " + std::to_string(later.fence);
  if (later.fence < known.fence) return "knew only " + shown;
  if (later.run_id != known.run_id) return "had the key under " + shown;
  const bool final = IsFinalStatus(known.status) && later.answer != Operation::Answer::kReplay &&
                     later.answer != Operation::Answer::kMismatch;
  return final ? "did not know the outcome" : "";
}

}  // namespace

Violations CheckAcknowledged(const History& history) {
  Violations violations;
  for (const auto& [key, operations] : StrictOperationsOf(history)) {
    const std::int64_t retention_ms = ShortestRetention(operations);
    for (const Operation* known : operations) {
      if (!IsGrant(*known) && !Settled(*known)) continue;
      for (const Operation* later : operations) {
        if (later->invoked_ms <= known->returned_ms ||
            later->returned_ms >= known->invoked_ms + retention_ms)
          continue;
        const std::string what = Missing(*known, *later);
        if (what.empty() || MayBeReleased(operations, *known, later->returned_ms)) continue;
        violations.push_back({"acknowledged",
                              Describe(*later) + " " + what + " though #" +
                                  std::to_string(known->id) + " run " + known->run_id +
                                  " had been acknowledged under fence " +
                                  std::to_string(known->fence),
                              later->returned_ms});
      }
    }
  }
  return violations;
}

}  // namespace once
