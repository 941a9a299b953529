// Everything the node counts. Labels are tenants, routes and regions, never caller keys; distinct
// values are capped, and what comes after the cap is counted under "other".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace once {

/// Safe from any thread.
class Metrics {
 public:
  explicit Metrics(std::size_t label_values_max);
  ~Metrics();

  /// Counters per tenant and route.
  enum class Event {
    kClaim,  // admitted: execute it
    kReplay,
    kInFlight,
    kMismatch,   // in every policy
    kReclaim,    // a lease ran out and another caller took over
    kRetryable,  // an outcome that will not be replayed
    kStaleFence,
    kLateSuccess,  // of an owner that another had taken over from: it was executed twice
    kRefused,      // 429, 503 or 507 before anything was stored
  };
  void Count(Event event, std::string_view tenant, std::string_view route);

  /// `route` must be a text that lives as long as the process.
  void Request(std::string_view route, int status, std::int64_t micros);
  void Limited(std::string_view tenant);
  void Sync(std::int64_t micros);
  /// A run of this region lost against another region's; `pair` is the two regions, sorted.
  void Conflict(std::string_view tenant, std::string_view route, std::string_view pair);
  /// A run of this region that had given way to another region's success succeeded all the same.
  void LateCompletion(std::string_view tenant, std::string_view route, std::string_view pair);
  /// That region used one run id for two claims.
  void Collision(std::string_view region);
  /// Time from a change to a peer's acknowledgement of it.
  void Lag(const std::string& peer, std::int64_t millis);
  void Expired(std::uint64_t claims);
  void Evicted(std::uint64_t slots);

  /// A node's part in the strict group.
  struct StrictGauges {
    std::string role;
    bool has_leader = false;
    bool unreadable = false;
    std::uint64_t term = 0;
    std::uint64_t committed = 0;
    std::uint64_t applied = 0;
    std::uint64_t waiting = 0;                               // requests without an answer yet
    std::vector<std::pair<std::string, std::uint64_t>> lag;  // by region; only a leader knows
    std::vector<std::string> other_rules;                    // regions
    // Since the start; they only rise.
    std::uint64_t snapshots_given_up = 0;
    std::uint64_t leaders = 0;
    std::uint64_t entries = 0;
    std::uint64_t commands = 0;
    std::uint64_t forwarded = 0;
    std::uint64_t unavailable = 0;
    std::uint64_t refused = 0;
  };
  /// Gauges, set when the page is asked for.
  struct Gauges {
    std::uint64_t slots = 0;
    std::uint64_t slot_bytes = 0;
    std::uint64_t hot_slots = 0;
    std::uint64_t queue_depth = 0;  // answers that wait for a sync
    std::uint64_t waiters = 0;      // callers joined to claims in flight
    std::uint64_t connections = 0;
    std::uint64_t accepted_connections = 0;  // this and the next four only rise
    std::uint64_t refused_connections = 0;
    std::uint64_t bad_requests = 0;
    std::uint64_t request_timeouts = 0;
    std::uint64_t peer_strangers = 0;
    std::int64_t clock_offset_ms = 0;
    bool clock_safe = true;
    bool store_failed = false;
    bool store_full = false;
    /// What gossip and the network know of another region.
    struct Peer {
      std::string name;
      double partition_seconds = 0;
      std::uint64_t unacknowledged = 0;
      std::uint64_t queued_bytes = 0;
      std::uint64_t refused = 0;  // this and what follows only rise
      std::uint64_t ignored = 0;
      std::uint64_t repaired = 0;
      std::uint64_t dropped = 0;
      std::uint64_t oversize = 0;
      std::uint64_t connects = 0;
      std::uint64_t refused_certificates = 0;
      std::uint64_t sent_bytes = 0;
      std::uint64_t received_bytes = 0;
    };
    std::vector<Peer> peers;
    std::optional<StrictGauges> strict;  // only of a member
  };
  /// The Prometheus text page.
  std::string Text(const Gauges& gauges);

  /// Every metric name, for the capability document; with those of the network between regions
  /// where there are several, and of the strict group where there is one.
  static std::vector<std::string> Names(bool many_regions, bool strict);

 private:
  struct Registry;
  std::unique_ptr<Registry> registry_;
};

}  // namespace once
