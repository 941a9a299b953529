#include "replica/ledger/workflows.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "replica/api/digest.h"
#include "replica/api/json_value.h"
#include "replica/ledger/run_id.h"
#include "replica/storage/keys.h"

namespace once {
namespace {

namespace json = boost::json;

constexpr std::string_view kApprovalNode = "approve";
constexpr std::string_view kInterruptPrefix = "int_";
constexpr std::size_t kRegionCodeBytes = 4;

void Emit(Run& run, std::string_view type, const json::object& payload,
          const EffectContext& context, std::string_view node_id = {}) {
  RunEvent event;
  event.set_type(std::string(type));
  event.set_sequence(run.next_sequence());
  event.set_payload(json::serialize(payload));
  event.set_time_ms(context.stamp.now_ms);
  event.set_node_id(std::string(node_id));
  run.set_next_sequence(run.next_sequence() + 1);
  context.tables.AppendEvent(run.run_id(), event);
}

void Finish(Run& run, RunStatus status, const EffectContext& context) {
  run.set_status(status);
  run.clear_waiting_node();
  if (context.run_retention_ms != 0)
    context.tables.expiry().Put(
        keys::Expiring::kRun,
        context.stamp.now_ms + static_cast<std::int64_t>(context.run_retention_ms), run.run_id());
}

void Save(Run& run, const EffectContext& context) {
  run.set_updated_ms(context.stamp.now_ms);
  run.set_version(run.version() + 1);
  context.tables.PutRun(run);
  context.tables.ShipRun(run.run_id());
}

void Complete(Run& run, const EffectContext& context) {
  Emit(run, "run.completed", {}, context);
  Finish(run, RUN_COMPLETED, context);
}

void AskForApproval(Run& run, const EffectContext& context) {
  const std::string secret =
      keys::Big64(context.stamp.entropy[1]) + keys::Big64(context.stamp.entropy[2]);
  const std::string token =
      std::string(kInterruptPrefix) + RegionCode(context.region) + "_" + Base64Url(secret);
  run.set_interrupt_token(token);
  run.set_waiting_node(std::string(kApprovalNode));
  run.set_status(WAITING_APPROVAL);
  context.tables.PutInterrupt(token, run.run_id());
  Emit(run, "approval.requested", {{"nodeId", kApprovalNode}, {"token", token}}, context,
       kApprovalNode);
}

void WriteTwoChannels(Run& run, const EffectContext& context) {
  for (const char* value : {"first", "second"})
    Emit(run, "channel.written", {{"channel", "log"}, {"reducer", "append"}, {"value", value}},
         context);
}

}  // namespace

std::string_view BuiltInFor(std::string_view workflow_id, bool test_seams) {
  static constexpr std::array<std::string_view, 5> kBuiltIn = {"noop", "delay", "append", "fail",
                                                               "approval"};
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kAliases = {{
      {"conformance-noop", "noop"},
      {"conformance-idempotent", "noop"},
      {"conformance-cancellable", "delay"},
      {"conformance-append-ordering", "append"},
  }};
  for (const auto name : kBuiltIn)
    if (name == workflow_id) return name;
  if (!test_seams) return {};
  for (const auto& [alias, name] : kAliases)
    if (alias == workflow_id) return name;
  return {};
}

std::string_view InterruptHomeCode(std::string_view token) {
  const std::size_t end = kInterruptPrefix.size() + kRegionCodeBytes;
  if (!token.starts_with(kInterruptPrefix) || token.size() <= end || token[end] != '_') return {};
  return token.substr(kInterruptPrefix.size(), kRegionCodeBytes);
}

bool IsTerminal(RunStatus status) {
  return status == RUN_COMPLETED || status == RUN_FAILED || status == RUN_CANCELLED;
}

const char* RunStatusName(RunStatus status) {
  switch (status) {
    case RUNNING:
      return "running";
    case WAITING_APPROVAL:
      return "waiting-approval";
    case RUN_COMPLETED:
      return "completed";
    case RUN_FAILED:
      return "failed";
    case RUN_CANCELLED:
      return "cancelled";
    default:
      return "pending";
  }
}

bool HasNode(const Run& run, std::string_view node_id) {
  return run.workflow_id() == "approval" && node_id == kApprovalNode;
}

Run StartRun(const CreateRun& create, const Mutation& mutation, const EffectContext& context) {
  Run run;
  run.set_format(1);
  run.set_run_id(context.run_id);
  run.set_tenant(mutation.tenant());
  run.set_actor(mutation.actor());
  run.set_workflow_id(create.workflow_id());
  run.set_name_shown(create.name_shown());
  run.set_inputs(create.inputs());
  run.set_region(context.region);
  run.set_status(RUNNING);
  // A claim that came back after its directory was lost may be ahead of this node's new clock.
  run.set_created_ms(std::max(context.stamp.now_ms, RunIdMillis(context.run_id)));
  run.set_due_ms(context.stamp.now_ms + create.delay_ms());
  if (MutationOn("live-run-expires"))
    context.tables.expiry().Put(
        keys::Expiring::kRun,
        context.stamp.now_ms + static_cast<std::int64_t>(context.run_retention_ms), run.run_id());
  Emit(run, "run.started", {{"workflowId", create.name_shown()}}, context);
  Save(run, context);
  return run;
}

void CancelRunNow(Run& run, std::string_view reason, const EffectContext& context) {
  run.set_reason(std::string(reason));
  Emit(run, "run.cancelled", {{"reason", reason}}, context);
  Finish(run, RUN_CANCELLED, context);
  Save(run, context);
}

void DecideApproval(Run& run, bool approved, const std::string& payload,
                    const EffectContext& context) {
  json::object decision = {{"nodeId", run.waiting_node()}};
  if (!payload.empty()) decision["payload"] = StoredJson(payload);
  Emit(run, approved ? "approval.granted" : "approval.rejected", decision, context,
       run.waiting_node());
  run.clear_waiting_node();
  run.set_status(RUNNING);
  if (!approved) {
    run.set_reason("rejected");
    Emit(run, "run.failed", {{"error", {{"code", "approval_rejected"}, {"message", "Rejected."}}}},
         context);
    Finish(run, RUN_FAILED, context);
  }
  Save(run, context);
}

bool AdvanceOneStep(const AdvanceRun& advance, const EffectContext& context) {
  auto run = context.tables.FindRun(advance.run_id());
  // Done before, or not due yet: the executor may ask twice, the run moves once.
  if (!run || run->status() != RUNNING) return false;
  if (run->step() != advance.step() && !MutationOn("step-not-compared")) return false;
  // A copy: its home region moves it.
  if (run->region() != context.region && !MutationOn("copy-advanced-abroad")) return false;
  if (context.stamp.now_ms < run->due_ms()) {
    Reached("the step of a run came before it was due");
    if (!MutationOn("due-not-looked-at")) return false;
  }
  run->set_step(run->step() + 1);
  if (run->workflow_id() == "approval" && advance.step() == 0) {
    AskForApproval(*run, context);
  } else {
    if (run->workflow_id() == "append") WriteTwoChannels(*run, context);
    Complete(*run, context);
  }
  Save(*run, context);
  return true;
}

}  // namespace once
