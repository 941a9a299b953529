#include <algorithm>
#include <map>
#include <set>

#include "simulator/checks.h"
#include "simulator/oracle.h"
#include "simulator/story_of_key.h"
#include "simulator/story_of_run.h"

namespace once {
namespace {

// Empty, or what is missing.
std::string Lost(const Operation& operation, const Claim* claim) {
  if (!claim) return "is gone";
  if (claim->fence() < operation.fence) return "fell back to an earlier owner";
  if (operation.answer == Operation::Answer::kExecute ||
      operation.answer == Operation::Answer::kInFlight)
    return "";
  const bool kept = claim->outcome().body() == operation.answer_body &&
                    claim->outcome().status() == operation.status;
  if (IsFinalStatus(operation.status)) return kept ? "" : "has lost its answer";
  const bool stepped = claim->state() != PENDING || claim->fence() > operation.fence;
  return stepped ? "" : "forgot that it was settled";
}

// In which life of its home's directory each run came to its first end.
std::map<std::string, std::uint32_t> FirstEnds(const History& history) {
  std::map<std::string, std::uint32_t> lives;
  for (const Operation& operation : history.operations) {
    if (!IsAcceptedSettle(operation) || !IsFinalStatus(operation.status) || operation.lost)
      continue;
    const auto at = lives.try_emplace(operation.run_id, operation.life).first;
    at->second = std::min(at->second, operation.life);
  }
  return lives;
}

// An end that was lost with its directory may still have been on its way to a peer, and come back
// over what another owner was given since.
bool StandsByAnotherEnd(const History& history, const Operation& operation, const Claim* claim) {
  return claim && std::any_of(history.operations.begin(), history.operations.end(),
                              [&](const Operation& end) {
                                return IsAcceptedSettle(end) && IsFinalStatus(end.status) &&
                                       end.run_id == operation.run_id && end.lost &&
                                       end.life != operation.life &&
                                       claim->outcome().body() == end.answer_body;
                              });
}

// Another request that the policy let through released it, so long ago that it may be forgotten.
bool MayHaveGivenWay(const History& history, const Operation& operation, std::int64_t by_ms) {
  return std::ranges::any_of(history.operations, [&](const Operation& begin) {
    const bool later = begin.returned_ms < 0 || begin.returned_ms >= operation.invoked_ms;
    return MayMakeRoom(begin, operation) && begin.region == operation.region &&
           begin.tenant == operation.tenant && begin.key == operation.key && later &&
           begin.invoked_ms <= by_ms;
  });
}

// What the strict group acknowledged is no single directory's: CheckKept.
bool IsAcknowledged(const Operation& operation) {
  return !operation.strict && (IsGrant(operation) || IsAcceptedSettle(operation));
}

// A look-up shows nothing that a crash could take back.
bool IsShown(const Operation& operation) {
  return !operation.strict && operation.kind == Operation::Kind::kLookUp && operation.life == 0 &&
         !operation.run_id.empty();
}

// One that nobody saw is one whose caller was answered when it had gone already.
bool MayHaveGone(const Operation& operation, const Eviction& eviction) {
  if (operation.invoked_ms > eviction.at_ms) return false;
  if (eviction.key.empty()) return operation.returned_ms >= eviction.at_ms;
  return operation.tenant == eviction.tenant && operation.key == eviction.key;
}

}  // namespace

void NoteLost(const Holdings& left, History& history) {
  for (Operation& operation : history.operations)
    if (IsAcknowledged(operation) || IsShown(operation))
      operation.lost = std::none_of(left.begin(), left.end(), [&operation](const auto& held) {
        return Lost(operation, ClaimOf(held.second, operation)).empty();
      });
}

void NoteEvicted(const std::vector<Eviction>& evictions, const Slots& left, History& history) {
  if (evictions.empty()) return;
  for (Operation& operation : history.operations) {
    if (operation.lost || ClaimOf(left, operation)) continue;
    const bool kept = IsAcknowledged(operation) || IsReplay(operation) || IsShown(operation) ||
                      IsRunCommand(operation);
    if (!kept) continue;
    operation.lost = std::ranges::any_of(
        evictions, [&](const Eviction& eviction) { return MayHaveGone(operation, eviction); });
  }
}

Violations CheckDurability(const History& history, const Holdings& holdings, std::int64_t now_ms,
                           std::int64_t grace_ms) {
  Violations violations;
  std::map<std::string, std::int64_t> released_ms;
  std::map<std::pair<std::string, std::uint64_t>, std::int64_t> settled_ms;  // by run and fence
  for (const Operation& operation : history.operations) {
    const bool settles = operation.kind == Operation::Kind::kSettle;
    if (!settles && !(IsGrant(operation) && IsFinalStatus(operation.status))) continue;
    if (operation.status == 0) released_ms.try_emplace(operation.run_id, operation.invoked_ms);
    settled_ms.try_emplace({operation.run_id, operation.fence}, operation.invoked_ms);
  }
  const std::map<std::string, std::uint32_t> first_ends = FirstEnds(history);
  for (const Operation& operation : history.operations) {
    const auto home = holdings.find(operation.region);
    if (!IsAcknowledged(operation) && !IsShown(operation)) continue;
    if (operation.lost || home == holdings.end()) continue;
    // Owners from before and after a directory was replaced do not know of each other: the first
    // end stands, whichever of them made it.
    const auto first_end = first_ends.find(operation.run_id);
    if (first_end != first_ends.end() && first_end->second != operation.life) continue;
    const Claim* claim = ClaimOf(home->second, operation);
    const auto released = released_ms.find(operation.run_id);
    const bool ends = operation.retention_ms > 0 || released != released_ms.end();
    // One that was told so again had ended before.
    const auto settled = settled_ms.find({operation.run_id, operation.fence});
    const std::int64_t from_ms = settled != settled_ms.end()
                                     ? std::min(settled->second, operation.invoked_ms)
                                     : operation.invoked_ms;
    const std::int64_t end_ms = released != released_ms.end()
                                    ? released->second
                                    : from_ms + static_cast<std::int64_t>(operation.retention_ms);
    const std::string lost = Lost(operation, claim);
    if (lost.empty() || StandsByAnotherEnd(history, operation, claim)) continue;
    const bool forgotten =
        !claim && ((ends && now_ms >= end_ms + grace_ms) ||
                   MayHaveGivenWay(history, operation, now_ms - grace_ms - kSkewBoundMs));
    if (!forgotten)
      violations.push_back({"durability", Describe(operation) + " " + lost, operation.returned_ms});
  }
  return violations;
}

}  // namespace once
