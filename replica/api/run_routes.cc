// Runs, approvals, interrupts and webhooks.
#include <algorithm>
#include <boost/json.hpp>

#include "replica/api/api.h"
#include "replica/api/errors.h"
#include "replica/api/json_value.h"
#include "replica/api/timestamp.h"
#include "replica/ledger/workflows.h"

namespace once {
namespace {

namespace json = boost::json;

// The body as an object; an absent body is an empty one. Empty and answered when it is neither.
std::optional<json::object> BodyObject(const Call& call) {
  if (call.request.body.empty()) return json::object();
  std::string error;
  auto value = ParseJson(call.request.body, error);
  if (!value) {
    call.Fail(400, "validation_error", "The body is not acceptable JSON: " + error);
    return std::nullopt;
  }
  if (!value->is_object()) {
    call.Fail(400, "validation_error", "The body must be a JSON object.");
    return std::nullopt;
  }
  return std::move(value->as_object());
}

const json::string* StringIn(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value ? value->if_string() : nullptr;
}

// A whole number from `low` to `high`, `fallback` when absent, nothing when it is something else.
std::optional<std::int64_t> Whole(const json::object& object, std::string_view name,
                                  std::int64_t low, std::int64_t high, std::int64_t fallback) {
  const auto* value = object.if_contains(name);
  if (!value) return fallback;
  if (!value->is_int64() || value->as_int64() < low || value->as_int64() > high)
    return std::nullopt;
  return value->as_int64();
}

// Reads what the built-in workflows take from `inputs`; false and an answer when it is wrong.
bool ReadInputs(const Call& call, const json::object& inputs, std::int64_t delay_ms_max,
                CreateRun& create, std::int64_t& admission_ms) {
  const auto delay_ms = Whole(inputs, "delayMs", 0, delay_ms_max, 0);
  const auto status = Whole(inputs, "status", 400, 599, 503);
  const auto times = Whole(inputs, "times", 0, kFailTimesMax, kFailTimesMax);
  const auto takes_ms = Whole(inputs, "admissionMs", 0, kAdmissionMsMax, 0);
  if (!delay_ms || !status || !times || !takes_ms) {
    call.Fail(400, "validation_error",
              "inputs: delayMs (to " + std::to_string(delay_ms_max) +
                  "), status (400-599), times and admissionMs must be whole numbers in range.");
    return false;
  }
  if (create.workflow_id() == "delay") create.set_delay_ms(*delay_ms);
  if (create.workflow_id() == "fail") {
    create.set_fail_status(static_cast<std::uint32_t>(*status));
    create.set_fail_times(static_cast<std::uint32_t>(*times));
  }
  admission_ms = *takes_ms;
  return true;
}

json::object RunJson(const Run& run) {
  json::object body = {{"runId", run.run_id()},
                       {"workflowId", run.name_shown()},
                       {"status", RunStatusName(run.status())},
                       {"owner", {{"tenant", run.tenant()}, {"principal", run.actor()}}},
                       {"region", run.region()},
                       {"startedAt", Timestamp(run.created_ms())},
                       {"eventsUrl", "/v1/runs/" + run.run_id() + "/events"}};
  if (!run.inputs().empty()) body["variables"] = StoredJson(run.inputs());
  if (!run.waiting_node().empty()) body["currentNodeId"] = run.waiting_node();
  if (run.status() == WAITING_APPROVAL) body["interruptToken"] = run.interrupt_token();
  if (!run.reason().empty()) body["reason"] = run.reason();
  if (run.completed_before()) body["completedBefore"] = true;
  if (IsTerminal(run.status())) body["completedAt"] = Timestamp(run.updated_ms());
  if (run.status() == RUN_FAILED)
    body["error"] = {{"code", "approval_rejected"}, {"message", "The approval was rejected."}};
  return body;
}

// approve or reject, from {"decision": …} or {"action": …}; nothing when it says neither.
std::optional<bool> Decision(const json::object& body) {
  const json::string* word = StringIn(body, "decision");
  if (!word) word = StringIn(body, "action");
  if (!word) return std::nullopt;
  if (*word == "approved" || *word == "approve" || *word == "accept") return true;
  if (*word == "rejected" || *word == "reject") return false;
  return std::nullopt;
}

// ResolveApproval or ResolveInterrupt; false and an answer when the body decides nothing.
template <typename Resolve>
bool ReadDecision(const Call& call, Resolve& resolve) {
  const auto body = BodyObject(call);
  if (!body) return false;
  const auto decision = Decision(*body);
  if (!decision) {
    call.Fail(400, "validation_error",
              R"(The body must say {"decision": "approved"} or {"decision": "rejected"}.)");
    return false;
  }
  resolve.set_approved(*decision);
  if (const auto* payload = body->if_contains("payload"))
    resolve.set_payload(json::serialize(*payload));
  return true;
}

bool IsHttpUrl(std::string_view url) {
  return (url.starts_with("https://") || url.starts_with("http://")) &&
         std::all_of(url.begin(), url.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

void Api::CreateRunRoute(Call& call) {
  const auto body = BodyObject(call);
  if (!body) return;
  const json::string* workflow = StringIn(*body, "workflowId");
  if (!workflow) return call.Fail(400, "validation_error", "workflowId must be a string.");
  const std::string_view built_in = BuiltInFor(*workflow, config_.test_seams);
  Mutation mutation;
  CreateRun& create = *mutation.mutable_create_run();
  if (built_in.empty())
    return call.Fail(400, "validation_error",
                     "workflowId is none of noop, delay, append, fail, approval.");
  create.set_workflow_id(std::string(built_in));
  create.set_name_shown(std::string(*workflow));
  std::int64_t admission_ms = 0;
  if (const auto* inputs = body->if_contains("inputs")) {
    if (!inputs->is_object())
      return call.Fail(400, "validation_error", "inputs must be a JSON object.");
    if (!ReadInputs(call, inputs->as_object(), config_.limits.delay_ms_max, create, admission_ms))
      return;
    create.set_inputs(json::serialize(*inputs));
  }
  Mutate(call, std::move(mutation), admission_ms);
}

void Api::GetRun(Call& call) {
  replica_.ReadAbout(
      call.Parameter("runId"),
      [respond = call.respond, id = std::string(call.Parameter("runId")), tenant = call.who.tenant,
       as_problem = call.as_problem](Tables& tables) {
        const auto run = tables.FindRun(id);
        if (!run || run->tenant() != tenant)
          return respond(ErrorReply(404, "run_not_found", "No such run.", as_problem));
        respond(JsonReply(200, RunJson(*run)));
      },
      [respond = call.respond, as_problem = call.as_problem] { respond(CannotRead(as_problem)); });
}

void Api::CancelRunRoute(Call& call) {
  const auto body = BodyObject(call);
  if (!body) return;
  Mutation mutation;
  CancelRun& cancel = *mutation.mutable_cancel_run();
  cancel.set_run_id(std::string(call.Parameter("runId")));
  cancel.set_reason("cancelled_by_caller");
  if (const auto* reason = body->if_contains("reason")) {
    const std::size_t most = config_.limits.reason_bytes_max;
    if (!reason->is_string() || reason->as_string().size() > most)
      return call.Fail(400, "validation_error",
                       "reason must be a string of at most " + std::to_string(most) + " bytes.");
    cancel.set_reason(std::string(reason->as_string()));
  }
  Mutate(call, std::move(mutation));
}

void Api::Approve(Call& call) {
  Mutation mutation;
  ResolveApproval& resolve = *mutation.mutable_resolve_approval();
  resolve.set_run_id(std::string(call.Parameter("runId")));
  resolve.set_node_id(std::string(call.Parameter("nodeId")));
  if (ReadDecision(call, resolve)) Mutate(call, std::move(mutation));
}

void Api::Interrupt(Call& call) {
  Mutation mutation;
  ResolveInterrupt& resolve = *mutation.mutable_resolve_interrupt();
  resolve.set_token(std::string(call.Parameter("token")));
  if (ReadDecision(call, resolve)) Mutate(call, std::move(mutation));
}

void Api::CreateWebhook(Call& call) {
  const auto body = BodyObject(call);
  if (!body) return;
  const json::string* url = StringIn(*body, "url");
  const Limits& limits = config_.limits;
  if (!url || !IsHttpUrl(*url) || url->size() > limits.webhook_url_bytes_max)
    return call.Fail(400, "validation_error",
                     "url must be an http or https URL of at most " +
                         std::to_string(limits.webhook_url_bytes_max) + " bytes.");
  Mutation mutation;
  RegisterWebhook& request = *mutation.mutable_register_webhook();
  request.set_url(std::string(*url));
  if (const auto* events = body->if_contains("events")) {
    if (!events->is_array() || events->as_array().size() > limits.webhook_events_max)
      return call.Fail(400, "validation_error",
                       "events must be a list of at most " +
                           std::to_string(limits.webhook_events_max) + " names.");
    for (const auto& event : events->as_array()) {
      if (!event.is_string() || event.as_string().size() > kEventNameBytesMax)
        return call.Fail(
            400, "validation_error",
            "events must be names of at most " + std::to_string(kEventNameBytesMax) + " bytes.");
      request.add_events(std::string(event.as_string()));
    }
  }
  Mutate(call, std::move(mutation));
}

void Api::RemoveWebhook(Call& call) {
  Mutation mutation;
  mutation.mutable_delete_webhook()->set_id(std::string(call.Parameter("webhookId")));
  Mutate(call, std::move(mutation));
}

}  // namespace once
