// A run that has been over for as long as runs are kept, and for the grace, is gone, with all that
// belonged to it; what has not gone yet will be found when it is over.
#include <set>
#include <string>

#include "replica/env/check.h"
#include "replica/ledger/workflows.h"
#include "replica/limits.h"
#include "simulator/checks.h"
#include "simulator/stored_ledger.h"

namespace once {
namespace {

struct Forgetful {
  const StoredLedger& ledger;
  Violations& violations;
  std::set<std::string> kept = {};

  void Say(const std::string& what) const {
    violations.push_back({"run-forgetting", ledger.name + " " + what, 0});
  }

  void CheckOver(std::int64_t upto_ms) {
    const auto index = ReadExpiries(ledger, keys::Expiring::kRun);
    VisitRecords(ledger, keys::Run(""), [&](const std::string& run_id, const std::string& bytes) {
      kept.insert(run_id);
      Run run;
      Check(run.ParseFromString(bytes), "a run parses");
      if (!IsTerminal(run.status())) return;
      if (run.updated_ms() < upto_ms)
        Say("keeps run " + run_id + ", which might have gone " +
            std::to_string(upto_ms - run.updated_ms()) + " ms ago");
      if (!index.contains(run_id)) Say("would not find run " + run_id + " when it is over");
    });
  }

  void CheckBelongings() const {
    std::set<std::string> left;
    VisitRecords(ledger, "e", [&](const std::string& event, const std::string&) {
      left.insert(event.substr(0, kRunIdBytes));
    });
    for (const std::string& run_id : left)
      if (!kept.contains(run_id)) Say("has events of run " + run_id + " and not the run");
    VisitRecords(ledger, keys::Interrupt(""), [&](const std::string&, const std::string& run_id) {
      if (!kept.contains(run_id)) Say("has a token of run " + run_id + " and not the run");
    });
    VisitRecords(ledger, keys::ActiveRun(""), [&](const std::string& run_id, const std::string&) {
      if (!kept.contains(run_id)) Say("would carry on run " + run_id + " and does not have it");
    });
  }
};

}  // namespace

Violations CheckRunsForgotten(Cluster& cluster) {
  Violations violations;
  const auto kept_ms = static_cast<std::int64_t>(cluster.options().LongestRunRetention());
  for (const StoredLedger& ledger : ReadLedgers(cluster)) {
    Forgetful forgetful{ledger, violations};
    forgetful.CheckOver(ForgottenUntil(cluster, ledger) - kept_ms);
    forgetful.CheckBelongings();
  }
  return violations;
}

}  // namespace once
