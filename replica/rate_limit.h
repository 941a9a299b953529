// A token bucket per tenant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace once {

class RateLimit {
 public:
  /// `per_second` 0: no limit. `burst` 0: one second's worth. A burst below 1 counts as 1, because
  /// nothing would ever pass it.
  RateLimit(double per_second, double burst);

  bool is_off() const { return per_second_ <= 0; }
  /// 0 when the request may go on, otherwise the seconds after which it may be tried again.
  int Take(std::string_view tenant, std::int64_t now_us);

 private:
  struct Bucket {
    double tokens;
    std::int64_t filled_us;
  };
  const double per_second_;
  const double burst_;
  std::unordered_map<std::string, Bucket>
      buckets_;  // as many as there are tenants with credentials
};

}  // namespace once
