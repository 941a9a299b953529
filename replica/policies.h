// Which mismatch policy holds for a tenant and route: the most specific entry wins, and one set at
// run time wins over one from the configuration file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "replica/ledger/records.pb.h"

namespace once {

class Policies {
 public:
  Policies(std::vector<RoutePolicy> configured, std::vector<RoutePolicy> set_at_run_time);

  MismatchPolicy For(std::string_view tenant, std::string_view route) const;
  void SetConfigured(std::vector<RoutePolicy> configured);
  void Set(const RoutePolicy& policy);
  void Remove(const RoutePolicy& policy);
  const std::vector<RoutePolicy>& configured() const { return configured_; }
  const std::vector<RoutePolicy>& set_at_run_time() const { return run_time_; }

 private:
  std::vector<RoutePolicy> configured_;
  std::vector<RoutePolicy> run_time_;
};

}  // namespace once
