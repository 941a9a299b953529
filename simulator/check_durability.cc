#include <algorithm>
#include <map>
#include <set>

#include "simulator/checks.h"
#include "simulator/oracle.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

// Empty, or what is missing.
std::string Lost(const Operation& operation, const Claim* claim) {
  if (!claim) return "is gone";
  if (claim->fence() < operation.fence) return "fell back to an earlier owner";
  if (operation.kind == Operation::Kind::kBegin && operation.answer == Operation::Answer::kExecute)
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

// What the strict group acknowledged is no single directory's: CheckKept.
bool IsAcknowledged(const Operation& operation) {
  return !operation.strict && (IsGrant(operation) || IsAcceptedSettle(operation));
}

}  // namespace

void NoteLost(const Holdings& left, History& history) {
  for (Operation& operation : history.operations)
    if (IsAcknowledged(operation))
      operation.lost = std::none_of(left.begin(), left.end(), [&operation](const auto& held) {
        return Lost(operation, ClaimOf(held.second, operation)).empty();
      });
}

Violations CheckDurability(const History& history, const Holdings& holdings, std::int64_t now_ms,
                           std::int64_t grace_ms) {
  Violations violations;
  std::set<std::string> released;
  for (const Operation& operation : history.operations)
    if (operation.kind == Operation::Kind::kSettle && operation.status == 0)
      released.insert(operation.run_id);
  const std::map<std::string, std::uint32_t> first_ends = FirstEnds(history);
  for (const Operation& operation : history.operations) {
    const auto home = holdings.find(operation.region);
    if (!IsAcknowledged(operation) || operation.lost || home == holdings.end()) continue;
    // Owners from before and after a directory was replaced do not know of each other: the first
    // end stands, whichever of them made it.
    const auto first_end = first_ends.find(operation.run_id);
    if (first_end != first_ends.end() && first_end->second != operation.life) continue;
    const Claim* claim = ClaimOf(home->second, operation);
    const bool ends_soon = released.count(operation.run_id) > 0;
    const std::int64_t kept_ms = ends_soon ? 0 : static_cast<std::int64_t>(operation.retention_ms);
    const bool forgotten = !claim && (ends_soon || operation.retention_ms > 0) &&
                           now_ms >= operation.invoked_ms + kept_ms + grace_ms;
    if (const std::string lost = Lost(operation, claim); !lost.empty() && !forgotten)
      violations.push_back({"durability", Describe(operation) + " " + lost, operation.returned_ms});
  }
  return violations;
}

}  // namespace once
