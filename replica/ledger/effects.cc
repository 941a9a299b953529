#include "replica/ledger/effects.h"

#include <boost/json.hpp>

#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "replica/ledger/workflows.h"
#include "replica/limits.h"

namespace once {
namespace {

namespace json = boost::json;

Outcome JsonOutcome(std::uint32_t status, const json::object& body) {
  Outcome outcome;
  outcome.set_status(status);
  Header* type = outcome.add_headers();
  type->set_name("Content-Type");
  type->set_value("application/json");
  outcome.set_body(json::serialize(body));
  return outcome;
}

Outcome ErrorOutcome(std::uint32_t status, std::string_view error, std::string_view message) {
  return JsonOutcome(status, {{"error", error}, {"message", message}});
}

Outcome RunOutcome(std::uint32_t status, const Run& run) {
  return JsonOutcome(status, {{"runId", run.run_id()}, {"status", RunStatusName(run.status())}});
}

Effect NoSuchRun() {
  return {ErrorOutcome(404, "run_not_found", "No such run."), ""};
}

std::optional<Run> FindOwnRun(std::string_view run_id, const Mutation& mutation,
                              const EffectContext& context) {
  auto run = context.tables.FindRun(run_id);
  if (!run) return std::nullopt;
  if (run->tenant() != mutation.tenant() && !MutationOn("foreign-run-shown")) return std::nullopt;
  return run;
}

Effect Do(const CreateRun& create, const Mutation& mutation, const EffectContext& context) {
  if (create.fail_status() != 0 && context.tries <= create.fail_times())
    return {ErrorOutcome(create.fail_status(), "admission_failed",
                         "The workflow refused admission, as its inputs asked."),
            ""};
  const Run run = StartRun(create, mutation, context);
  Outcome outcome = JsonOutcome(201, {{"runId", run.run_id()},
                                      {"status", RunStatusName(run.status())},
                                      {"eventsUrl", "/v1/runs/" + run.run_id() + "/events"},
                                      {"statusUrl", "/v1/runs/" + run.run_id()}});
  Header* location = outcome.add_headers();
  location->set_name("Location");
  location->set_value("/v1/runs/" + run.run_id());
  return {std::move(outcome), run.run_id()};
}

Effect Do(const CancelRun& cancel, const Mutation& mutation, const EffectContext& context) {
  auto run = FindOwnRun(cancel.run_id(), mutation, context);
  if (!run) return NoSuchRun();
  if (run->status() == RUN_CANCELLED) return {RunOutcome(200, *run), ""};
  if (IsTerminal(run->status())) Reached("a cancellation met a run that had ended");
  if (IsTerminal(run->status()) && !MutationOn("ended-run-cancelled"))
    return {ErrorOutcome(409, "run_already_terminal", "The run has ended; it cannot be cancelled."),
            ""};
  CancelRunNow(*run, cancel.reason(), context);
  return {RunOutcome(200, *run), run->run_id()};
}

Effect Resolve(std::optional<Run> run, bool approved, const std::string& payload,
               const EffectContext& context) {
  if (!run) return NoSuchRun();
  if (run->status() == RUN_CANCELLED) Reached("an approval met a run that was cancelled meanwhile");
  if (run->status() == RUNNING) Reached("an approval met a run that does not wait for it");
  if (run->status() != WAITING_APPROVAL && !MutationOn("decided-twice"))
    return {ErrorOutcome(409, "interrupt_already_resolved", "The run is not waiting for this."),
            ""};
  DecideApproval(*run, approved, payload, context);
  return {RunOutcome(200, *run), run->run_id()};
}

Effect Do(const ResolveApproval& resolve, const Mutation& mutation, const EffectContext& context) {
  auto run = FindOwnRun(resolve.run_id(), mutation, context);
  if (run && !HasNode(*run, resolve.node_id()))
    return {ErrorOutcome(404, "node_not_found", "The run has no such node."), ""};
  return Resolve(std::move(run), resolve.approved(), resolve.payload(), context);
}

Effect Do(const ResolveInterrupt& resolve, const Mutation& mutation, const EffectContext& context) {
  const auto run_id = context.tables.FindInterrupt(resolve.token());
  auto run = run_id ? FindOwnRun(*run_id, mutation, context) : std::nullopt;
  // A foreign tenant's token looks like none at all.
  if (!run) return {ErrorOutcome(404, "interrupt_not_found", "No interrupt has this token."), ""};
  return Resolve(std::move(run), resolve.approved(), resolve.payload(), context);
}

Effect Do(const RegisterWebhook& request, const Mutation& mutation, const EffectContext& context) {
  if (context.tables.CountWebhooks(mutation.tenant(), kWebhooksPerTenantMax) >=
      kWebhooksPerTenantMax)
    return {ErrorOutcome(409, "webhook_limit", "The tenant has as many webhooks as it may."), ""};
  Webhook webhook;
  webhook.set_format(1);
  webhook.set_id("wh_" + context.run_id);
  webhook.set_tenant(mutation.tenant());
  webhook.set_url(request.url());
  *webhook.mutable_events() = request.events();
  webhook.set_created_ms(context.stamp.now_ms);
  context.tables.PutWebhook(webhook);
  json::array events;
  for (const std::string& event : request.events()) events.emplace_back(event);
  return {
      JsonOutcome(201, {{"webhookId", webhook.id()}, {"url", request.url()}, {"events", events}}),
      ""};
}

Effect Do(const DeleteWebhook& request, const Mutation& mutation, const EffectContext& context) {
  if (!context.tables.FindWebhook(mutation.tenant(), request.id()))
    return {ErrorOutcome(404, "webhook_not_found", "No such webhook."), ""};
  context.tables.EraseWebhook(mutation.tenant(), request.id());
  Outcome outcome;
  outcome.set_status(204);
  return {std::move(outcome), ""};
}

}  // namespace

Effect Execute(const Mutation& mutation, const EffectContext& context) {
  switch (mutation.effect_case()) {
    case Mutation::kCreateRun:
      return Do(mutation.create_run(), mutation, context);
    case Mutation::kCancelRun:
      return Do(mutation.cancel_run(), mutation, context);
    case Mutation::kResolveApproval:
      return Do(mutation.resolve_approval(), mutation, context);
    case Mutation::kResolveInterrupt:
      return Do(mutation.resolve_interrupt(), mutation, context);
    case Mutation::kRegisterWebhook:
      return Do(mutation.register_webhook(), mutation, context);
    case Mutation::kDeleteWebhook:
      return Do(mutation.delete_webhook(), mutation, context);
    case Mutation::EFFECT_NOT_SET:
      break;
  }
  return {ErrorOutcome(500, "internal_error", "The request has no effect."), ""};
}

ClaimState StateFor(std::uint32_t status) {
  if (status == 408 || status == 425 || status == 429 || status >= 500) return RETRYABLE;
  if (status == 400 || status == 401 || status == 403) return RELEASED;
  return status < 400 ? COMPLETED : TERMINAL_FAILURE;
}

}  // namespace once
