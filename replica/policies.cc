#include "replica/policies.h"

#include <algorithm>

namespace once {
namespace {

// Route weighs more than tenant; -1 when the policy does not apply.
int Specificity(const RoutePolicy& policy, std::string_view tenant, std::string_view route) {
  if (!policy.tenant().empty() && policy.tenant() != tenant) return -1;
  if (!policy.route().empty() && policy.route() != route) return -1;
  return (policy.route().empty() ? 0 : 2) + (policy.tenant().empty() ? 0 : 1);
}

auto SamePlace(const RoutePolicy& policy) {
  return [&policy](const RoutePolicy& other) {
    return other.tenant() == policy.tenant() && other.route() == policy.route();
  };
}

}  // namespace

Policies::Policies(std::vector<RoutePolicy> configured, std::vector<RoutePolicy> set_at_run_time)
    : configured_(std::move(configured)), run_time_(std::move(set_at_run_time)) {}

MismatchPolicy Policies::For(std::string_view tenant, std::string_view route) const {
  MismatchPolicy found = REJECT;
  int best = -1;
  const auto look = [&](const std::vector<RoutePolicy>& list) {
    for (const RoutePolicy& policy : list) {
      const int specificity = Specificity(policy, tenant, route);
      if (specificity < 0 || specificity < best) continue;
      best = specificity;
      found = policy.mismatch();
    }
  };
  look(configured_);
  look(run_time_);
  return found;
}

void Policies::SetConfigured(std::vector<RoutePolicy> configured) {
  configured_ = std::move(configured);
}

void Policies::Set(const RoutePolicy& policy) {
  Remove(policy);
  run_time_.push_back(policy);
}

void Policies::Remove(const RoutePolicy& policy) {
  run_time_.erase(std::remove_if(run_time_.begin(), run_time_.end(), SamePlace(policy)),
                  run_time_.end());
}

}  // namespace once
