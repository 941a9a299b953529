#include "tests/bench/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace once::load {
namespace {

constexpr unsigned kStepBits = 6;  // 64 buckets for each power of two
constexpr std::uint64_t kSteps = 1u << kStepBits;

std::size_t BucketOf(std::uint64_t value) {
  if (value < 2 * kSteps) return value;
  const unsigned shift = std::bit_width(value) - kStepBits - 1;
  return shift * kSteps + (value >> shift);
}

std::uint64_t UpperBoundOf(std::size_t bucket) {
  if (bucket < 2 * kSteps) return bucket;
  const unsigned shift = bucket / kSteps - 1;
  const std::uint64_t step = bucket - shift * kSteps;
  return ((step + 1) << shift) - 1;
}

constexpr std::uint64_t kLatencyNsMax = std::uint64_t{1} << 40;  // 18 minutes

}  // namespace

Histogram::Histogram() : buckets_(BucketOf(kLatencyNsMax) + 1) {}

void Histogram::Record(std::uint64_t latency_ns) {
  ++buckets_[BucketOf(std::min(latency_ns, kLatencyNsMax))];
  ++count_;
  max_ns_ = std::max(max_ns_, latency_ns);
}

std::uint64_t Histogram::QuantileNs(double fraction) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(fraction * count_));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= wanted && seen > 0) return std::min(UpperBoundOf(bucket), max_ns_);
  }
  return 0;
}

}  // namespace once::load
