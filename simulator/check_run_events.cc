#include <map>

#include "replica/ledger/effects.h"
#include "simulator/checks.h"

namespace once {
namespace {

// What the last event but those of approvals says of the run.
std::string StatusAfter(const std::vector<RunEvent>& events) {
  std::string status = "running";
  for (const RunEvent& event : events) {
    if (event.type() == "approval.requested") status = "waiting-approval";
    if (event.type() == "approval.granted") status = "running";
    if (event.type() == "run.completed") status = "completed";
    if (event.type() == "run.failed") status = "failed";
    if (event.type() == "run.cancelled") status = "cancelled";
  }
  return status;
}

class EventsOfRun {
 public:
  EventsOfRun(const std::string& region, const HeldRun& held, Violations& violations)
      : region_(region), held_(held), violations_(violations) {}

  /// `whole`: nothing went with a directory.
  void Look(bool whole) {
    std::uint64_t next = held_.events.empty() ? 0 : held_.events.front().sequence();
    for (const RunEvent& event : held_.events) {
      if (whole && event.sequence() != next)
        Say("has a gap before " + std::to_string(event.sequence()));
      next = event.sequence() + 1;
      const bool lost = event.payload().find(kLossReason) != std::string::npos;
      ++times_[lost ? "its loss" : event.type()];
      if (event.type() == "run.completed" && event.time_ms() < held_.run.due_ms())
        Say("completed before it was due");
    }
    const int ends = times_["run.completed"] + times_["run.failed"] + times_["run.cancelled"];
    if (ends > 1) Say("ended " + std::to_string(ends) + " times");
    if (times_["its loss"] > 1) Say("lost more than once");
    if (times_["run.started"] > 1) Say("started more than once");
    if (times_["approval.requested"] > 1) Say("asked more than once");
    if (times_["approval.granted"] + times_["approval.rejected"] > 1) Say("was decided twice");
    if (!whole) return;
    if (held_.events.empty() || held_.events.front().sequence() != 0 ||
        held_.events.front().type() != "run.started")
      Say("does not begin with its start");
    if (next != held_.run.next_sequence()) Say("lacks its last events");
    if (StatusAfter(held_.events) != RunStatusName(held_.run.status()))
      Say(std::string("is ") + RunStatusName(held_.run.status()) + ", but its events say " +
          StatusAfter(held_.events));
  }

 private:
  void Say(const std::string& what) {
    violations_.push_back({"run-events", region_ + ": run " + held_.run.run_id() + " " + what, 0});
  }

  const std::string& region_;
  const HeldRun& held_;
  Violations& violations_;
  std::map<std::string, int> times_;
};

}  // namespace

Violations CheckRunEvents(const RunHoldings& holdings) {
  Violations violations;
  for (const auto& [region, held] : holdings)
    for (const auto& [run_id, seen] : held.runs) {
      const std::string& home = seen.run.region();
      if (seen.run.run_id().empty() || (home != kStrictRegion && home != region)) {
        if (!seen.events.empty())
          violations.push_back({"run-events",
                                region + ": run " + run_id + " has events here, and is not of here",
                                0});
        continue;
      }
      EventsOfRun(region, seen, violations).Look(home == kStrictRegion || held.life == 0);
    }
  return violations;
}

}  // namespace once
