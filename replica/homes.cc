#include "replica/homes.h"

#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "replica/ledger/run_id.h"
#include "replica/ledger/workflows.h"

namespace once {

std::string Homes::Of(const Mutation& mutation) {
  if (mutation.has_cancel_run()) return OfRun(mutation.cancel_run().run_id());
  if (mutation.has_resolve_approval()) return OfRun(mutation.resolve_approval().run_id());
  if (mutation.has_resolve_interrupt())
    return WithCode(InterruptHomeCode(mutation.resolve_interrupt().token()));
  return "";
}

std::string Homes::OfRun(const std::string& run_id) {
  try {
    if (const auto run = replica_.tables().FindRun(run_id))
      return run->region() == region_ ? "" : run->region();
  } catch (const KvUnreadable&) {
    return "";
  }
  const std::string home = OfRunId(run_id);
  if (!home.empty()) Reached("somebody asked about a run that is not known here yet");
  return home.empty() || MutationOn("unknown-run-is-nobodys") ? "" : home;
}

std::string Homes::OfRunId(std::string_view run_id) const {
  const std::string_view code = RunIdCode(run_id);
  return code.empty() ? "" : WithCode(code);
}

std::string Homes::WithCode(std::string_view code) const {
  for (const std::string& peer : peers_)
    if (RegionCode(peer) == code) return peer;
  return "";
}

}  // namespace once
