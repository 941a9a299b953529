// Test seams: the production rules, driven with given input. 404 unless test_seams is on.
#include <boost/json.hpp>

#include "conflict/merge.h"
#include "conflict/survivor.h"
#include "replica/api/api.h"
#include "replica/api/errors.h"
#include "replica/api/json_value.h"

namespace once {
namespace {

namespace json = boost::json;

// The claims as one slot whose windows all overlap: what a healed partition leaves. Nothing when
// they are not claims of one key.
std::optional<Slot> ReadSlot(const json::array& claims) {
  Slot slot;
  for (const auto& entry : claims) {
    if (!entry.is_object()) return std::nullopt;
    const json::object& given = entry.as_object();
    const std::string tenant = JsonText(given, "tenantId"), endpoint = JsonText(given, "endpoint"),
                      key = JsonText(given, "key"), run_id = JsonText(given, "runId"),
                      region = JsonText(given, "region");
    if (tenant.empty() || endpoint.empty() || key.empty() || run_id.empty() || region.empty())
      return std::nullopt;
    if (slot.claims_size() > 0 &&
        (slot.tenant() != tenant || slot.endpoint() != endpoint || slot.key() != key))
      return std::nullopt;
    slot.set_tenant(tenant);
    slot.set_endpoint(endpoint);
    slot.set_key(key);
    Claim claim;
    claim.set_run_id(run_id);
    claim.set_region(region);
    claim.set_state(COMPLETED);
    claim.set_taken_up_ms(0);
    claim.set_expires_ms(1);
    MergeClaim(slot, claim);
  }
  return slot;
}

}  // namespace

bool Api::SeamsOff(const Call& call) const {
  if (config_.test_seams) return false;
  call.Fail(404, "not_found", "There is nothing at this path.");
  return true;
}

void Api::SimulatePartition(Call& call) {
  if (SeamsOff(call)) return;
  std::string error;
  const auto body = ParseJson(call.request.body, error);
  const json::value* claims =
      body && body->is_object() ? body->as_object().if_contains("claims") : nullptr;
  std::optional<Slot> slot;
  if (claims && claims->is_array() && claims->as_array().size() >= 2 &&
      claims->as_array().size() <= kSeamClaimsMax)
    slot = ReadSlot(claims->as_array());
  if (!slot)
    return call.Fail(400, "validation_error",
                     "claims must be 2 to " + std::to_string(kSeamClaimsMax) +
                         " {runId, tenantId, endpoint, key, region} of one (tenantId, endpoint, "
                         "key).");
  const std::vector<Component> components = Components(*slot);
  const Component& component = components.front();
  json::array losers, redirects;
  for (const Claim* loser : component.losers) losers.emplace_back(loser->run_id());
  for (const auto& claim : claims->as_array())
    redirects.emplace_back(json::object{{"region", JsonText(claim.as_object(), "region")},
                                        {"cacheKey", slot->endpoint() + ":" + slot->key()},
                                        {"redirectToRunId", component.survivor->run_id()}});
  call.respond(JsonReply(200, {{"winner", component.survivor->run_id()},
                               {"losers", std::move(losers)},
                               {"cacheRedirects", std::move(redirects)},
                               {"loserCancelReason", "cross_region_dedup_loss"}}));
}

void Api::CrossEngineAppend(Call& call) {
  if (SeamsOff(call)) return;
  std::string error;
  const auto body = ParseJson(call.request.body, error);
  const std::string engine =
      body && body->is_object() ? JsonText(body->as_object(), "engineId") : "";
  if (lamport_log_.size() >= kSeamEventsMax)
    return call.Fail(400, "validation_error", "The log has as many events as it may.");
  if (engine.empty())
    return call.Fail(400, "validation_error", "engineId must be a string that is not empty.");
  const json::object& given = body->as_object();
  const json::value* hint = given.if_contains("lamportHint");
  if (!hint) hint = given.if_contains("hint");
  if (hint && (!hint->is_int64() || hint->as_int64() < 0))
    return call.Fail(400, "validation_error", "lamportHint must be a whole number.");
  const json::value* payload = given.if_contains("payload");
  const LamportLog::Entry entry =
      lamport_log_.Append(engine, hint ? static_cast<std::uint64_t>(hint->as_int64()) : 0,
                          payload ? json::serialize(*payload) : "null");
  call.respond(JsonReply(
      201, {{"engineId", entry.engine}, {"lamport", entry.lamport}, {"seq", entry.sequence}}));
}

void Api::CrossEngineRead(Call& call) {
  if (SeamsOff(call)) return;
  json::array events;
  for (const LamportLog::Entry& entry : lamport_log_.Read())
    events.emplace_back(json::object{{"lamport", entry.lamport},
                                     {"engineId", entry.engine},
                                     {"seq", entry.sequence},
                                     {"payload", StoredJson(entry.payload)}});
  call.respond(JsonReply(200, {{"events", std::move(events)}}));
}

void Api::CrossEngineReset(Call& call) {
  if (SeamsOff(call)) return;
  lamport_log_.Reset();
  call.respond(JsonReply(200, {{"status", "reset"}}));
}

}  // namespace once
