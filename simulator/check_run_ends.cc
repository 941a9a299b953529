#include "replica/ledger/effects.h"
#include "simulator/checks.h"
#include "simulator/story_of_key.h"
#include "simulator/story_of_run.h"

namespace once {
namespace {

bool IsEnd(const std::string& status) {
  return status.starts_with("completed") || status.starts_with("failed") ||
         status.starts_with("cancelled");
}

bool IsLoss(const std::string& status) {
  return status == std::string("cancelled ") + kLossReason;
}

// Answers of commands name no reason.
bool IsSameEnd(const std::string& one, const std::string& other) {
  return one.starts_with(other) || other.starts_with(one);
}

// Empty, or why `later` cannot follow an end. A run that lost shows as cancelled, with its reason
// or, in the answer of a command, without.
std::string WhyNot(const std::string& end, const std::string& later, bool same_memory) {
  if (IsLoss(later) || later == "cancelled") return "";
  if (!IsEnd(later)) return same_memory ? "goes on" : "";
  if (IsSameEnd(end, later)) return "";
  // Another region may not have heard of the loss yet.
  return (IsLoss(end) || end == "cancelled") && !same_memory ? "" : "ended again";
}

// A command is answered by the home, and a read by whoever is asked, out of what it has heard.
const std::string& PlaceOf(const Operation& operation, const std::string& home) {
  return IsRunCommand(operation) ? home : operation.region;
}

}  // namespace

Violations CheckRunEnds(const History& history, const RunHoldings& holdings) {
  Violations violations;
  for (const auto& [run_id, story] : StoriesOfRuns(history)) {
    const auto say = [&](const Operation& seen, const std::string& later, const std::string& why) {
      violations.push_back(
          {"run-ends",
           Describe(seen) + " was " + StatusShown(seen) + " and " + why + ", as " + later,
           seen.returned_ms});
    };
    for (const Operation* seen : story.calls) {
      const std::string end = StatusShown(*seen);
      if (!IsEnd(end) || MayHaveForgotten(history, story.home, history.safety_ms)) continue;
      for (const Operation* later : story.calls) {
        const std::string status = StatusShown(*later);
        if (status.empty() || later->invoked_ms <= seen->returned_ms) continue;
        // A keyed command says what it said first.
        if (later->answer == Operation::Answer::kReplay) continue;
        const bool commanded = IsRunCommand(*seen) || IsRunCommand(*later);
        const bool same_memory =
            seen->strict || (PlaceOf(*seen, story.home) == PlaceOf(*later, story.home) &&
                             (commanded || seen->life == later->life));
        if (const std::string why = WhyNot(end, status, same_memory); !why.empty())
          say(*seen, status + " in " + later->region + " shows", why);
      }
      for (const auto& [region, held] : holdings) {
        const auto last = held.runs.find(run_id);
        if (last == held.runs.end() || last->second.run.run_id().empty()) continue;
        const Run& run = last->second.run;
        std::string status = RunStatusName(run.status());
        if (!run.reason().empty()) status += " " + run.reason();
        if (const std::string why = WhyNot(end, status, true); !why.empty())
          say(*seen, status + " in " + region + " in the end", why);
      }
    }
  }
  return violations;
}

}  // namespace once
