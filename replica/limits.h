// The bounds that a caller can meet. Those of Limits are configurable under [limits]; their
// defaults are here. The others are constants, either because they belong to a format or a
// protocol, or because all regions must have the same. Bounds of what is stored are in config.h,
// those of what regions and members of the strict group say to each other where they speak.
#pragma once

#include <cstddef>
#include <cstdint>

namespace once {

inline constexpr std::size_t kKeyBytesMax = 255;       // after unquoting
inline constexpr std::size_t kEndpointBytesMax = 512;  // of the claim API's `endpoint`
inline constexpr std::size_t kJsonDepthMax = 64;
inline constexpr std::size_t kRunIdBytes = 26;
inline constexpr std::size_t kMethodBytesMax = 32;
inline constexpr std::size_t kEventNameBytesMax = 128;    // of one that a webhook asks for
inline constexpr std::int64_t kAdmissionMsMax = 60'000;   // `inputs.admissionMs`
inline constexpr std::int64_t kFailTimesMax = 1'000'000;  // `inputs.times`
inline constexpr std::int64_t kWaitSecondsMax = 86'400;   // of `Prefer: wait` that is understood
inline constexpr std::size_t kConflictsPerPageMax = 1000;
inline constexpr std::size_t kSeamClaimsMax = 1000;
inline constexpr std::size_t kSeamEventsMax = 10'000;

// Commands and questions that wait for a run's home, and how long for.
inline constexpr std::size_t kForwardsMax = 10'000;
inline constexpr std::int64_t kForwardMs = 3000;

// A region answers for another, so a page must fit the message between them.
inline constexpr std::size_t kEventsPerPageMax = 1000;
inline constexpr std::size_t kEventPageBytesMax = 1u << 20;

// Of body_bytes_max and stored_answer_bytes_max where there are peers. What is said of such a one,
// with what goes before it in the same message, still fits one between regions; a message that does
// not would be sent again for ever, and nothing behind it would arrive.
inline constexpr std::size_t kReplicatedBytesMax = 2u << 20;

// Spans: what other regions believe of any lease_ms_max, and the longest that a caller may name.
inline constexpr std::int64_t kLeaseMsMax = 7ll * 24 * 3600 * 1000;
inline constexpr std::uint64_t kSpanSecondsMax = 100ull * 366 * 24 * 3600;
// Of any option in milliseconds: sums of some of them and a clock stay far from overflow.
inline constexpr std::int64_t kOptionMsMax = static_cast<std::int64_t>(kSpanSecondsMax) * 1000;

// Decided where a command is applied, by every member of the strict group for itself: members with
// different bounds would come to different states. Not an option, therefore.
inline constexpr std::size_t kWebhooksPerTenantMax = 1000;
// Claims of one region in one slot. Released ones stay as markers (for the grace of 7 days where
// there are peers), and every begin reads and writes them all: some 50 KB at this bound. Nobody who
// retries one operation comes near it. What other regions tell of is added all the same.
inline constexpr std::size_t kSlotClaimsMax = 256;

struct Limits {
  std::size_t header_bytes_max = 16 * 1024;
  std::size_t body_bytes_max = 1024 * 1024;
  std::size_t bodies_bytes_max = 128 * 1024 * 1024;   // of all requests that are still arriving
  std::size_t answers_bytes_max = 128 * 1024 * 1024;  // of all that clients have not taken yet
  std::size_t stored_answer_bytes_max = 1024 * 1024;
  std::int64_t header_deadline_ms = 10'000;  // first byte of a request to end of its head
  std::int64_t body_deadline_ms = 30'000;    // end of head to end of body
  std::int64_t write_deadline_ms = 30'000;   // an answer that the client does not take
  std::int64_t idle_deadline_ms = 75'000;    // keep-alive between requests
  std::size_t connections_max = 4096;
  std::size_t connections_per_address_max = 1024;
  std::size_t refusals_max = 64;               // connections over these that are told so at a time
  std::int64_t drain_deadline_ms = 2000;       // what a client may still send after the last answer
  std::size_t drain_bytes_max = 16u << 20;     // the same, in bytes
  std::int64_t stop_grace_ms = 500;            // for a request on an idle connection, when stopping
  std::int64_t stop_deadline_ms = 10'000;      // answers that are under way when stopping
  std::int64_t stream_keep_alive_ms = 15'000;  // a comment on event streams
  std::size_t stream_queue_bytes_max = 256 * 1024;   // unsent, beside one event of a stream
  double tenant_requests_per_second = 0;             // 0: no limit
  double tenant_burst = 0;                           // 0: one second's worth
  std::size_t waiters_max = 16'384;                  // callers joined to claims in flight
  std::size_t waiting_bytes_max = 64 * 1024 * 1024;  // of their requests; the same of admissions
  std::int64_t wait_ms_max = 30'000;                 // longest `Prefer: wait`
  std::int64_t lease_ms_max = 3'600'000;

  // Decided where a request arrives: regions may differ, as what one has accepted stands.
  std::uint64_t retention_seconds_max = kSpanSecondsMax;
  std::size_t fingerprint_bytes_max = 1024;
  std::size_t stored_headers_max = 64;     // of an outcome
  std::size_t reason_bytes_max = 1024;     // of a cancel
  std::int64_t delay_ms_max = 86'400'000;  // `inputs.delayMs`
  std::size_t webhook_url_bytes_max = 2048;
  std::size_t webhook_events_max = 64;

  std::size_t metric_label_values_max = 1000;  // distinct tenants (or routes) in metrics
};

static_assert(kKeyBytesMax < 16 * 1024, "a key must fit the head of a request");

}  // namespace once
