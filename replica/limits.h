// Every bound of a node, in one place. Those of Limits are configurable under [limits]; their
// defaults are here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace once {

inline constexpr std::size_t kKeyBytesMax = 255;       // after unquoting
inline constexpr std::size_t kEndpointBytesMax = 512;  // of the claim API's `endpoint`
inline constexpr std::size_t kJsonDepthMax = 64;
inline constexpr std::size_t kRunIdBytes = 26;
inline constexpr std::size_t kReplayCacheBytesMax = 24u << 20;
inline constexpr std::int64_t kLeaseMsMax = 7ll * 24 * 3600 * 1000;  // of any region's lease_ms_max

struct Limits {
  std::size_t header_bytes_max = 16 * 1024;
  std::size_t body_bytes_max = 1024 * 1024;
  std::size_t bodies_bytes_max = 128 * 1024 * 1024;  // of all requests that are still arriving
  std::size_t stored_answer_bytes_max = 1024 * 1024;
  std::int64_t header_deadline_ms = 10'000;  // first byte of a request to end of its head
  std::int64_t body_deadline_ms = 30'000;    // end of head to end of body
  std::int64_t write_deadline_ms = 30'000;   // an answer that the client does not take
  std::int64_t idle_deadline_ms = 75'000;    // keep-alive between requests
  std::size_t connections_max = 4096;
  std::size_t connections_per_address_max = 1024;
  std::size_t stream_queue_bytes_max = 256 * 1024;  // unsent bytes of one event stream
  double tenant_requests_per_second = 0;            // 0: no limit
  double tenant_burst = 0;                          // 0: one second's worth
  std::size_t waiters_max = 16'384;                 // callers joined to claims in flight
  std::int64_t wait_ms_max = 30'000;                // longest `Prefer: wait`
  std::int64_t lease_ms_max = 3'600'000;
  std::size_t metric_label_values_max = 1000;  // distinct tenants (or routes) in metrics
};

static_assert(kKeyBytesMax < 16 * 1024, "a key must fit the head of a request");

}  // namespace once
