#include "replica/ledger/effects.h"
#include "simulator/checks.h"
#include "simulator/story_of_run.h"

namespace once {
namespace {

// Empty, or what its record should say otherwise.
// A home that lost its directory may have recorded the loss before it heard of the end.
std::string Wrong(const History& history, const Run& run, const Conflict& loss,
                  bool may_have_forgotten) {
  if (run.status() != RUN_CANCELLED) return std::string("is ") + RunStatusName(run.status());
  if (IsCancelledByCaller(history, run)) return "";
  if (run.reason() != kLossReason) return "is cancelled for another reason: " + run.reason();
  if (run.completed_before() == loss.loser_had_completed()) return "";
  if (loss.loser_had_completed()) return "does not say that it had completed";
  return may_have_forgotten ? "" : "says that it had completed";
}

}  // namespace

Violations CheckCancelled(const History& history, const RunHoldings& holdings) {
  Violations violations;
  for (const auto& [home, recorded] : holdings)
    for (const auto& [run_id, loss] : recorded.lost) {
      if (loss.region() != home) continue;
      for (const auto& [region, held] : holdings) {
        const auto at = held.runs.find(run_id);
        if (at == held.runs.end() || at->second.run.run_id().empty()) continue;
        if (const std::string wrong = Wrong(history, at->second.run, loss, recorded.life > 0);
            !wrong.empty())
          violations.push_back({"cancelled", region + ": run " + run_id + " lost and " + wrong, 0});
      }
    }
  return violations;
}

}  // namespace once
