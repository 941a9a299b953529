#include "replica/api/api.h"

#include <algorithm>

#include "replica/api/digest.h"
#include "replica/api/errors.h"
#include "replica/api/header_list.h"
#include "replica/api/prefer.h"
#include "replica/api/query_string.h"

namespace once {
namespace {

constexpr std::string_view kBearer = "Bearer ";

// With --insecure-dev everybody on loopback is this one.
const Credential& Nobody() {
  static const Credential kNobody{"dev", "dev", "dev", {"runs", "claims", "admin"}, "", 0, false};
  return kNobody;
}

std::string NormalPath(std::string_view path) {
  std::string normal = NormalizePercent(path);
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

std::vector<std::string> RegionsOf(const std::vector<PeerAddress>& peers) {
  std::vector<std::string> regions;
  for (const PeerAddress& peer : peers) regions.push_back(peer.region);
  return regions;
}

bool IsBearer(std::string_view authorization) {
  return authorization.size() > kBearer.size() &&
         SameToken(authorization.substr(0, kBearer.size()), kBearer);
}

}  // namespace

std::string_view Call::Parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters)
    if (key == name) return value;
  return {};
}

void Call::Fail(int status, std::string_view error, std::string_view message) const {
  respond(ErrorReply(status, error, message, as_problem));
}

Api::Api(Replica& replica, const Config& config, Credentials credentials, Metrics& metrics, Log log)
    : replica_(replica),
      config_(config),
      homes_(replica, config.region, RegionsOf(config.peers)),
      credentials_(std::move(credentials)),
      metrics_(metrics),
      log_(std::move(log)),
      rate_limit_(config.limits.tenant_requests_per_second, config.limits.tenant_burst),
      replays_(config.replays_bytes_max) {
  KeepStreamsAlive();
  replica_.SetSlotListener([this](std::string_view hash) {
    if (hash.empty())
      replays_.Clear();
    else
      replays_.Erase(hash);
  });
  replica_.SetConflictListener([this](const Conflict& conflict) { HearOfConflict(conflict); });
  replica_.SetRunListener([this](const std::string& run_id) { PumpStreams(run_id); });
}

void Api::Reload(Credentials credentials, std::vector<RoutePolicy> policies) {
  credentials_ = std::move(credentials);
  replica_.SetConfiguredPolicies(std::move(policies));
  CloseStreams();
}

const Credential* Api::Authenticate(const HttpRequest& request) const {
  if (config_.insecure_dev) return &Nobody();
  const std::string_view authorization = request.Header("Authorization");
  if (request.Count("Authorization") != 1 || !IsBearer(authorization)) return nullptr;
  return credentials_.Find(authorization.substr(kBearer.size()));
}

Respond Api::Measured(const Route& route, Respond respond) const {
  const std::int64_t since_us = replica_.scheduler().MonotonicMicros();
  return [this, &route, since_us, respond = std::move(respond)](HttpReply reply) {
    metrics_.Request(route.path, reply.status, replica_.scheduler().MonotonicMicros() - since_us);
    respond(std::move(reply));
  };
}

bool Api::WithinRate(const Credential& who, bool as_problem, const Respond& respond) {
  if (rate_limit_.is_off()) return true;
  const int wait_s = rate_limit_.Take(who.tenant, replica_.scheduler().MonotonicMicros());
  if (wait_s == 0) return true;
  metrics_.Limited(who.tenant);
  HttpReply reply = ErrorReply(429, "rate_limited", "The tenant is over its rate.", as_problem,
                               {{"retryAfter", wait_s}});
  RetryAfter(reply, wait_s);
  respond(std::move(reply));
  return false;
}

void Api::Serve(const HttpRequest& request, Respond respond) {
  const bool as_problem = WantsProblem(request);
  const auto question = request.target.find('?');
  const std::string path = NormalPath(request.target.substr(0, question));
  Match match = FindRoute(request.method, path);
  if (!match.route && match.allowed.empty())
    return respond(ErrorReply(404, "not_found", "There is nothing at this path.", as_problem));
  if (!match.route) {
    HttpReply reply = ErrorReply(405, "method_not_allowed", "Not with this method.", as_problem);
    reply.headers.emplace_back("Allow", match.allowed);
    return respond(std::move(reply));
  }
  respond = Measured(*match.route, std::move(respond));
  const Credential* who = &Nobody();
  if (!match.route->scope.empty()) {
    who = Authenticate(request);
    if (!who)
      return respond(
          ErrorReply(401, "unauthenticated", "A valid bearer key is needed.", as_problem));
    if (!who->May(match.route->scope))
      return respond(ErrorReply(403, "forbidden", "The key lacks a scope for this.", as_problem));
    if (!WithinRate(*who, as_problem, respond)) return;
  }
  const std::string_view query =
      question == std::string_view::npos ? std::string_view() : request.target.substr(question + 1);
  Call call{request, *match.route, std::move(match.parameters), query,
            *who,    as_problem,   std::move(respond)};
  (this->*call.route.handler)(call);
}

std::int64_t Api::WaitMillis(const HttpRequest& request) const {
  const std::int64_t seconds = PreferredWait(request).value_or(0);
  return std::min(seconds * 1000, config_.limits.wait_ms_max);
}

}  // namespace once
