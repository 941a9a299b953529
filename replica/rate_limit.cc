#include "replica/rate_limit.h"

#include <algorithm>
#include <cmath>

namespace once {

RateLimit::RateLimit(double per_second, double burst)
    : per_second_(per_second), burst_(burst > 0 ? burst : std::max(1.0, per_second)) {}

int RateLimit::Take(std::string_view tenant, std::int64_t now_us) {
  if (per_second_ <= 0) return 0;
  auto [at, fresh] = buckets_.try_emplace(std::string(tenant), Bucket{burst_, now_us});
  Bucket& bucket = at->second;
  const double elapsed_s = static_cast<double>(now_us - bucket.filled_us) / 1e6;
  bucket.tokens = std::min(burst_, bucket.tokens + elapsed_s * per_second_);
  bucket.filled_us = now_us;
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return 0;
  }
  return std::max(1, static_cast<int>(std::ceil((1 - bucket.tokens) / per_second_)));
}

}  // namespace once
