#include "replica/rate_limit.h"

#include <algorithm>
#include <cmath>

namespace once {
namespace {
constexpr double kRetryAfterSecondsMax = 3600;
}

RateLimit::RateLimit(double per_second, double burst)
    : per_second_(per_second), burst_(std::max(1.0, burst > 0 ? burst : per_second)) {}

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
  const double wait_s = std::ceil((1 - bucket.tokens) / per_second_);
  return static_cast<int>(std::clamp(wait_s, 1.0, kRetryAfterSecondsMax));
}

}  // namespace once
