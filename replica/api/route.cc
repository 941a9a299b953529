#include "replica/api/route.h"

#include "replica/api/api.h"

namespace once {
namespace {

// Cuts the first segment off `rest`, which starts behind a slash.
std::string_view NextSegment(std::string_view& rest) {
  const auto slash = rest.find('/');
  const std::string_view segment = rest.substr(0, slash);
  rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  return segment;
}

bool Matches(std::string_view pattern, std::string_view path, PathParameters& parameters) {
  parameters.clear();
  if (path.empty() || path[0] != '/') return false;
  pattern.remove_prefix(1);
  path.remove_prefix(1);
  while (true) {
    const bool pattern_last = pattern.find('/') == std::string_view::npos;
    const bool path_last = path.find('/') == std::string_view::npos;
    if (pattern_last != path_last) return false;
    const std::string_view want = NextSegment(pattern);
    const std::string_view have = NextSegment(path);
    if (want.size() > 2 && want.front() == '{') {
      if (have.empty()) return false;
      parameters.emplace_back(want.substr(1, want.size() - 2), have);
    } else if (want != have) {
      return false;
    }
    if (pattern_last) return true;
  }
}

}  // namespace

std::span<const Route> Routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "/v1/claims", "claims", false, &Api::BeginClaim},
      {"POST", "/v1/runs", "runs", true, &Api::CreateRunRoute},
      {"GET", "/v1/runs/{runId}", "runs", false, &Api::GetRun},
      {"POST", "/v1/runs/{runId}/cancel", "runs", true, &Api::CancelRunRoute},
      {"GET", "/v1/runs/{runId}/events", "runs", false, &Api::GetEvents},
      {"POST", "/v1/runs/{runId}/approvals/{nodeId}", "runs", true, &Api::Approve},
      {"POST", "/v1/interrupts/{token}", "runs", true, &Api::Interrupt},
      {"POST", "/v1/webhooks", "runs", true, &Api::CreateWebhook},
      {"DELETE", "/v1/webhooks/{webhookId}", "runs", true, &Api::RemoveWebhook},
      {"GET", "/v1/claims/{claimId}", "claims", false, &Api::GetClaim},
      {"PUT", "/v1/claims/{claimId}/outcome", "claims", false, &Api::SettleClaimRoute},
      {"POST", "/v1/claims/{claimId}/renew", "claims", false, &Api::RenewClaimRoute},
      {"DELETE", "/v1/claims/{claimId}", "claims", false, &Api::ReleaseClaim},
      {"GET", "/.well-known/openwop", "", false, &Api::Discovery},
      {"GET", "/healthz", "", false, &Api::Health},
      {"GET", "/readyz", "", false, &Api::Ready},
      {"GET", "/metrics", "", false, &Api::MetricsPage},
      {"GET", "/v1/openapi.json", "", false, &Api::OpenApi},
      {"GET", "/v1/conflicts", "", false, &Api::ListConflicts},
      {"POST", "/v1/host/sample/test/multi-region/simulate-partition", "runs", false,
       &Api::SimulatePartition},
      {"POST", "/v1/host/sample/test/cross-engine/append", "runs", false, &Api::CrossEngineAppend},
      {"GET", "/v1/host/sample/test/cross-engine/read", "runs", false, &Api::CrossEngineRead},
      {"POST", "/v1/host/sample/test/cross-engine/reset", "runs", false, &Api::CrossEngineReset},
      {"GET", "/v1/admin/policies", "admin", false, &Api::ListPolicies},
      {"PUT", "/v1/admin/policies", "admin", false, &Api::PutPolicy},
      {"DELETE", "/v1/admin/policies", "admin", false, &Api::DeletePolicy},
      {"GET", "/v1/cluster", "admin", false, &Api::ShowCluster},
      {"POST", "/v1/cluster", "admin", false, &Api::ChangeCluster},
      {"GET", "/v1/admin/cut", "admin", false, &Api::ShowCut},
      {"PUT", "/v1/admin/cut", "admin", false, &Api::PutCut},
      {"POST", "/v1/admin/reload", "admin", false, &Api::ReloadConfig},
  };
  return kRoutes;
}

Match FindRoute(std::string_view method, std::string_view path) {
  Match match;
  // HEAD is GET without the body; the listener leaves it out.
  if (method == "HEAD") method = "GET";
  for (const Route& route : Routes()) {
    if (!Matches(route.path, path, match.parameters)) continue;
    if (route.method != method) {
      match.allowed += (match.allowed.empty() ? "" : ", ") + std::string(route.method);
      if (route.method == "GET") match.allowed += ", HEAD";
      continue;
    }
    match.route = &route;
    return match;
  }
  match.parameters.clear();
  return match;
}

}  // namespace once
