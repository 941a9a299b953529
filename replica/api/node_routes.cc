// What the node says about itself: capabilities, health, metrics, and the administrator's calls.
#include <boost/json.hpp>
#include <map>
#include <set>

#include "replica/api/api.h"
#include "replica/api/digest.h"
#include "replica/api/errors.h"
#include "replica/api/json_value.h"

namespace once {

extern const std::string_view kOpenApiText;

namespace {

namespace json = boost::json;

constexpr const char* kNoFaults = "Fault injection is not switched on for this node.";

// The vocabulary has no word for ever.
std::uint64_t AdvertisedSeconds(std::uint64_t retention_ms) {
  return retention_ms == 0 ? kSpanSecondsMax : retention_ms / 1000;
}

json::object IdempotencyFamily(const Config& config) {
  const bool many = !config.peers.empty();
  const bool strict = StrictRoutes(config.strict_routes).all();
  const bool v17 = config.spec_profile == SpecProfile::kV17;
  json::object multi_region = {{"supported", many}};
  // Nothing is left to resolve. The newer vocabulary has no word for that without fenced effects,
  // but it need not name a rule that is never applied.
  if (strict) {
    multi_region["replicationLagBoundMs"] = 0;
  } else if (many) {
    multi_region["replicationLagBoundMs"] = config.replication_lag_bound_ms;
    multi_region["partitionRecoveryStrategy"] =
        v17 ? "lexicographic-min-run-id" : "x-host-once-lowest-run-id";
  }
  // Picking a survivor among records authorises no effect, so nothing here claims fenced effects.
  return {{"supported", true},
          {"layer1RetentionSeconds", AdvertisedSeconds(config.route_retention_ms)},
          {"layer2RetentionSeconds", AdvertisedSeconds(config.invocation_retention_ms)},
          {"crossRegion", !many    ? "single-region"
                          : v17    ? "reconciled-records"
                          : strict ? "strict"
                                   : "best-effort"},
          {"multiRegion", std::move(multi_region)}};
}

// Events of several engines meet here only in the seam that orders them.
json::object CrossEngineOrdering(const Config& config) {
  if (!config.test_seams) return {{"supported", false}};
  return {{"supported", true}, {"orderingModel", "lamport"}};
}

// By endpoint. The document is public, so tenants are not named.
json::array StrictRouteList(const Config& config) {
  std::map<std::string, const char*> tenants;
  for (const StrictRoute& route : config.strict_routes) {
    const char*& which = tenants.emplace(route.endpoint, "some").first->second;
    if (route.tenant == "*") which = "all";
  }
  json::array list;
  for (const auto& [endpoint, which] : tenants)
    list.push_back({{"endpoint", endpoint}, {"tenants", which}});
  return list;
}

json::object CapabilityDocument(const Config& config, bool strict_member) {
  json::array names;
  for (const std::string& name : Metrics::Names(!config.peers.empty(), strict_member))
    names.emplace_back(name);
  json::array fixtures;
  if (config.test_seams)
    fixtures = {"conformance-noop", "conformance-idempotent", "conformance-cancellable",
                "conformance-append-ordering"};
  json::object families = {
      {"idempotency", IdempotencyFamily(config)},
      {"eventLog", {{"crossEngineOrdering", CrossEngineOrdering(config)}}},
      {"observability", {{"metrics", {{"names", names}}}}},
  };
  json::object document = {
      {"protocolVersion", "1.0"},
      {"supportedEnvelopes", json::array()},
      {"schemaVersions", json::object()},
      {"limits",
       {{"clarificationRounds", 0},
        {"schemaRounds", 0},
        {"envelopesPerTurn", 0},
        {"maxRequestBodyBytes", config.limits.body_bytes_max}}},
      {"fixtures", fixtures},
      {"implementation", {{"name", "once"}, {"version", ONCE_VERSION}, {"region", config.region}}},
  };
  if (!config.strict_routes.empty())
    document["implementation"].as_object()["strictRoutes"] = StrictRouteList(config);
  for (const auto& [name, family] : families) document[name] = family;
  document["capabilities"] = std::move(families);
  return document;
}

json::object PolicyJson(const RoutePolicy& policy, const char* source) {
  return {{"tenant", policy.tenant()},
          {"route", policy.route()},
          {"mismatch", PolicyName(policy.mismatch())},
          {"source", source}};
}

// {tenant?, route?, mismatch}; nothing and an answer when it is something else.
std::optional<RoutePolicy> ReadPolicy(const Call& call, bool with_mismatch) {
  std::string error;
  const auto body = ParseJson(call.request.body, error);
  RoutePolicy policy;
  MismatchPolicy mismatch = REJECT;
  bool good = body && body->is_object();
  if (good) {
    for (const auto& [name, value] : body->as_object()) {
      if (!value.is_string())
        good = false;
      else if (name == "tenant")
        policy.set_tenant(std::string(value.as_string()));
      else if (name == "route")
        policy.set_route(std::string(value.as_string()));
      else if (name == "mismatch")
        good = good && ParsePolicy(value.as_string(), mismatch);
      else
        good = false;
    }
    if (with_mismatch && !body->as_object().contains("mismatch")) good = false;
  }
  if (!good) {
    call.Fail(
        400, "validation_error",
        R"(The body must be {"tenant"?, "route"?, "mismatch": "reject" | "observe" | "off"}.)");
    return std::nullopt;
  }
  policy.set_mismatch(mismatch);
  return policy;
}

}  // namespace

void Api::Discovery(Call& call) {
  HttpReply reply = JsonReply(200, CapabilityDocument(config_, replica_.strict() != nullptr));
  const std::string etag = "\"" + Hex(Bytes(Sha256(reply.body))).substr(0, 32) + "\"";
  reply.headers.emplace_back("Cache-Control", "public, max-age=60");
  reply.headers.emplace_back("ETag", etag);
  const std::string_view known = call.request.Header("If-None-Match");
  if (known == "*" || known.find(etag) != std::string_view::npos) {
    reply.status = 304;
    reply.body.clear();
  }
  call.respond(std::move(reply));
}

void Api::Health(Call& call) {
  call.respond(JsonReply(200, {{"status", "ok"}}));
}

void Api::Ready(Call& call) {
  const std::string why = replica_.Unready();
  if (why.empty()) return call.respond(JsonReply(200, {{"status", "ready"}}));
  HttpReply reply = ErrorReply(503, "not_ready", why, call.as_problem);
  RetryAfter(reply, 1);
  call.respond(std::move(reply));
}

void Api::MetricsPage(Call& call) {
  if (!config_.metrics_public) {
    const Credential* who = Authenticate(call.request);
    if (!who) return call.Fail(401, "unauthenticated", "A valid bearer key is needed.");
    if (!who->May("admin")) return call.Fail(403, "forbidden", "The key lacks a scope for this.");
  }
  Metrics::Gauges gauges = replica_.Gauges();
  if (listener_) listener_(gauges);
  if (cluster_) cluster_(gauges);
  HttpReply reply;
  reply.status = 200;
  reply.headers.emplace_back("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  reply.body = metrics_.Text(gauges);
  call.respond(std::move(reply));
}

void Api::OpenApi(Call& call) {
  HttpReply reply;
  reply.status = 200;
  reply.headers.emplace_back("Content-Type", "application/json");
  reply.headers.emplace_back("Cache-Control", "public, max-age=60");
  reply.body = kOpenApiText;
  call.respond(std::move(reply));
}

void Api::ListPolicies(Call& call) {
  json::array list;
  for (const RoutePolicy& policy : replica_.policies().set_at_run_time())
    list.emplace_back(PolicyJson(policy, "admin"));
  for (const RoutePolicy& policy : replica_.policies().configured())
    list.emplace_back(PolicyJson(policy, "configuration"));
  call.respond(JsonReply(200, {{"default", "reject"}, {"policies", std::move(list)}}));
}

void Api::PutPolicy(Call& call) {
  const auto policy = ReadPolicy(call, true);
  if (!policy) return;
  if (!policy->tenant().empty() && !IsTenantName(policy->tenant()))
    return call.Fail(400, "validation_error",
                     "tenant must be empty or " + std::string(kTenantRule) + ".");
  if (policy->route().size() > kEndpointBytesMax)
    return call.Fail(
        400, "validation_error",
        "route must be a string of at most " + std::to_string(kEndpointBytesMax) + " bytes.");
  ChangePolicy(call, *policy, false);
}

// Takes any name: to remove what is not there is no error.
void Api::DeletePolicy(Call& call) {
  const auto policy = ReadPolicy(call, false);
  if (policy) ChangePolicy(call, *policy, true);
}

void Api::ChangePolicy(Call& call, const RoutePolicy& policy, bool remove) {
  replica_.ChangePolicy(policy, remove, [this, policy, remove, respond = call.respond,
                                         as_problem = call.as_problem](const Answer& answer) {
    if (answer.kind != Answer::Kind::kDone) return respond(Refusal(answer, as_problem, false));
    log_(Severity::kInfo, "policy-changed",
         "tenant=" + policy.tenant() + " route=" + policy.route() +
             " mismatch=" + (remove ? "removed" : PolicyName(policy.mismatch())));
    respond(JsonReply(200, PolicyJson(policy, "admin")));
  });
}

// Fault injection for people who want to watch a partition.
void Api::ShowCut(Call& call) {
  if (!cut_) return call.Fail(404, "not_found", kNoFaults);
  call.respond(JsonReply(200, {{"region", config_.region},
                               {"cutFrom", json::array(cut_from_.begin(), cut_from_.end())}}));
}

// {"regions": [...]}, empty heals.
void Api::PutCut(Call& call) {
  if (!cut_) return call.Fail(404, "not_found", kNoFaults);
  std::string error;
  const auto body = ParseJson(call.request.body, error);
  const json::value* list =
      body && body->is_object() ? body->as_object().if_contains("regions") : nullptr;
  std::set<std::string> peers, regions;
  for (const PeerAddress& peer : config_.peers) peers.insert(peer.region);
  bool good = list && list->is_array();
  if (good)
    for (const json::value& region : list->as_array()) {
      good = good && region.is_string() && peers.count(std::string(region.as_string()));
      if (good) regions.emplace(region.as_string());
    }
  if (!good)
    return call.Fail(400, "validation_error",
                     R"(The body must be {"regions": [...]}, all of them peers of this node.)");
  cut_from_.assign(regions.begin(), regions.end());
  cut_(cut_from_);
  log_(Severity::kInfo, "cut", "regions=" + std::to_string(cut_from_.size()));
  ShowCut(call);
}

void Api::ReloadConfig(Call& call) {
  const std::string error = reload_ ? reload_() : "This node has no configuration file to reload.";
  if (!error.empty()) return call.Fail(409, "reload_failed", error);
  call.respond(JsonReply(200, {{"status", "reloaded"}}));
}

}  // namespace once
