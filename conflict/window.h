// The span of time in which a claim speaks for its key, and arithmetic that keeps "never" never.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "conflict/claim.pb.h"
#include "conflict/mutation.h"

namespace once {

/// A point in time that is never reached: the end of a claim that is kept for ever.
inline constexpr std::int64_t kNeverMs = std::numeric_limits<std::int64_t>::max();

/// `a + b`, held at the ends of the range. Adding a bound to kNeverMs gives kNeverMs.
inline std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  if (a == kNeverMs || b == kNeverMs) return kNeverMs;
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? kNeverMs : std::numeric_limits<std::int64_t>::min();
}

/// The end of a retention that starts at `from_ms`. A retention of 0 never ends.
inline std::int64_t RetainedUntil(std::int64_t from_ms, std::uint64_t retention_ms) {
  if (retention_ms == 0) return kNeverMs;
  return SaturatingAdd(from_ms,
                       static_cast<std::int64_t>(std::min<std::uint64_t>(retention_ms, kNeverMs)));
}

/// True once `now_ms` has reached `limit_ms`; kNeverMs is not reached by any stamp.
inline bool Past(std::int64_t limit_ms, std::int64_t now_ms) {
  return limit_ms != kNeverMs && now_ms >= limit_ms;
}

/// True while something that expires at `expires_ms` must still be answered with: clocks may differ
/// by `skew_ms`, and nothing expires early on any of them.
inline bool AnswersAt(std::int64_t expires_ms, std::int64_t now_ms, std::int64_t skew_ms) {
  if (MutationOn("early-expiry")) skew_ms = -500;
  return !Past(SaturatingAdd(expires_ms, skew_ms), now_ms);
}

/// COMPLETED and TERMINAL_FAILURE: the states in which a claim is immutable and has a window. A
/// state that this build does not know is not final.
inline bool IsFinal(const Claim& claim) {
  if (MutationOn("retryable-replayed") && claim.state() == RETRYABLE) return true;
  return claim.state() == COMPLETED || claim.state() == TERMINAL_FAILURE;
}

/// Half open, [starts_ms, expires_ms). One that ends no later than it starts is empty.
struct Window {
  std::int64_t starts_ms = 0;
  std::int64_t expires_ms = 0;

  bool Empty() const { return expires_ms <= starts_ms; }
};

/// From the last take-up until finalisation plus retention. Meaningful for a final claim only.
inline Window WindowOf(const Claim& claim) {
  return {claim.taken_up_ms(), claim.expires_ms()};
}

}  // namespace once
