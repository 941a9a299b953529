#include <algorithm>

#include "replica/ledger/run_id.h"
#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

constexpr std::int64_t kNoticeMs = 100;    // until a node has looked who waited for so long
constexpr std::int64_t kOwnDiskMs = 1000;  // for the sync that is under way, and one more
constexpr std::int64_t kBackMs = 1000;     // until a node that was started again is ready

bool StopsItsNode(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::kCut:
    case Fault::Kind::kClog:
    case Fault::Kind::kLossyLinks:
    case Fault::Kind::kTransfer:
    case Fault::Kind::kDismissed:
      return false;
    default:
      return true;
  }
}

std::int64_t ReturnedMillis(const Operation& operation) {
  return operation.answer == Operation::Answer::kNone ? operation.invoked_ms + kPatienceMs
                                                      : operation.returned_ms;
}

std::int64_t LimitMillis(const Operation& operation) {
  return operation.wait_ms + (operation.strict ? kAnswerMs + kNoticeMs : kOwnDiskMs);
}

/// The claim was given by another region: 421 `wrong_region`.
bool IsOfAnotherRegion(const Operation& operation) {
  return NamesItsRun(operation) && RunIdCode(operation.run_id) != RegionCode(operation.region);
}

bool MayBeRefused(const Operation& operation, bool rules_change) {
  return operation.strict || rules_change || IsOfAnotherRegion(operation) ||
         operation.invoked_ms < kBackMs;
}

/// Its node did not answer in time, or had no reason for its answer. Empty: it was all right.
std::string Complaint(const Operation& operation, bool rules_change) {
  const std::int64_t took_ms = ReturnedMillis(operation) - operation.invoked_ms;
  if (took_ms > LimitMillis(operation))
    return "had no answer for " + std::to_string(took_ms) + " ms";
  const bool unavailable = operation.answer == Operation::Answer::kUnavailable;
  return unavailable && !MayBeRefused(operation, rules_change) ? "was told 503" : "";
}

bool WasWell(const History& history, const Operation& operation) {
  return std::none_of(history.faults.begin(), history.faults.end(), [&](const Fault& fault) {
    return StopsItsNode(fault.kind) && fault.region == operation.region &&
           fault.from_ms <= ReturnedMillis(operation) &&
           (fault.to_ms < 0 || fault.to_ms + kBackMs >= operation.invoked_ms);
  });
}

}  // namespace

Violations CheckAnswered(const History& history, bool rules_change) {
  Violations violations;
  for (const Operation& operation : history.operations) {
    if (!IsAboutKey(operation)) continue;
    const std::string complaint = Complaint(operation, rules_change);
    if (!complaint.empty() && WasWell(history, operation))
      violations.push_back({"answered",
                            Describe(operation) + " " + complaint + " though its node was well",
                            ReturnedMillis(operation)});
  }
  return violations;
}

}  // namespace once
