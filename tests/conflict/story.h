// Words for telling conflict stories: claims by region and window, slots, and every order of
// arrival.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "conflict/claim.pb.h"
#include "conflict/merge.h"

namespace once {

inline Claim MakeClaim(const std::string& run_id, const std::string& region, ClaimState state,
                       std::int64_t taken_up_ms, std::int64_t expires_ms) {
  Claim claim;
  claim.set_run_id(run_id);
  claim.set_region(region);
  claim.set_version(2);
  claim.set_state(state);
  claim.set_fingerprint("body");
  claim.set_taken_up_ms(taken_up_ms);
  claim.set_expires_ms(expires_ms);
  claim.set_retention_ms(24);
  return claim;
}

inline Claim Success(const std::string& run_id, const std::string& region, std::int64_t taken_up_ms,
                     std::int64_t expires_ms) {
  return MakeClaim(run_id, region, COMPLETED, taken_up_ms, expires_ms);
}

inline Claim Failure(const std::string& run_id, const std::string& region, std::int64_t taken_up_ms,
                     std::int64_t expires_ms) {
  return MakeClaim(run_id, region, TERMINAL_FAILURE, taken_up_ms, expires_ms);
}

inline Claim Retryable(const std::string& run_id, const std::string& region,
                       std::int64_t taken_up_ms, std::int64_t expires_ms) {
  return MakeClaim(run_id, region, RETRYABLE, taken_up_ms, expires_ms);
}

inline Claim Pending(const std::string& run_id, const std::string& region, std::int64_t taken_up_ms,
                     std::int64_t lease_until_ms) {
  Claim claim = MakeClaim(run_id, region, PENDING, taken_up_ms, 0);
  claim.set_version(1);
  claim.set_lease_until_ms(lease_until_ms);
  return claim;
}

inline Slot EmptySlot() {
  Slot slot;
  slot.set_tenant("acme");
  slot.set_endpoint("POST /v1/runs");
  slot.set_key("order-1");
  return slot;
}

/// A slot in which the claims arrived in the order given.
inline Slot SlotOf(const std::vector<Claim>& claims) {
  Slot slot = EmptySlot();
  for (const Claim& claim : claims) MergeClaim(slot, claim);
  return slot;
}

/// What two regions know of one slot, joined as frames join it: claim by claim.
inline Slot Join(Slot a, const Slot& b) {
  for (const Claim& claim : b.claims()) MergeClaim(a, claim);
  return a;
}

/// Every order of 0 .. count - 1.
inline std::vector<std::vector<int>> Orders(int count) {
  std::vector<int> order(count);
  for (int at = 0; at < count; ++at) order[at] = at;
  std::vector<std::vector<int>> orders;
  do {
    orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

inline std::string RunIdOf(const Claim* claim) {
  return claim ? claim->run_id() : "none";
}

}  // namespace once
