#include "replica/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

namespace once {
namespace {

struct EventCounter {
  const char* name;
  const char* help;
};
constexpr std::array<EventCounter, 9> kEvents = {{
    {"once_claims_total", "Requests that were admitted for execution."},
    {"once_replays_total", "Requests answered from the store."},
    {"once_in_flight_total", "Requests refused because another one with their key is under way."},
    {"once_mismatches_total", "Requests whose body differs from the one their key belongs to."},
    {"once_reclaims_total", "Claims taken over after their owner's lease ran out."},
    {"once_retryable_outcomes_total", "Outcomes that leave the key free for a retry."},
    {"once_stale_fences_total", "Settlements refused because another owner has the claim."},
    {"once_late_successes_total",
     "Of these, successes of owners that another had taken over from: executed twice."},
    {"once_refused_total", "Requests refused because nothing could be promised or stored."},
}};

struct PeerTotal {
  const char* name;
  const char* help;
  std::uint64_t Metrics::Gauges::Peer::*total;
};
using Peer = Metrics::Gauges::Peer;
constexpr std::array<PeerTotal, 9> kPeerTotals = {{
    {"once_peer_refused_messages_total",
     "Messages of a peer that were wrong; it is held off after each.", &Peer::refused},
    {"once_peer_ignored_frames_total",
     "Frames from a peer of a region that is not configured here, or that give back what was not "
     "lost.",
     &Peer::ignored},
    {"once_peer_repairs_total", "Parts of the key space that a peer was asked for again.",
     &Peer::repaired},
    {"once_peer_dropped_messages_total",
     "Messages for a peer whose queue was full; they are said again.", &Peer::dropped},
    {"once_peer_oversize_messages_total",
     "Messages to or from a peer that were larger than a message may be.", &Peer::oversize},
    {"once_peer_connects_total", "Connections that were made to a peer.", &Peer::connects},
    {"once_peer_refused_certificates_total",
     "Connections to a peer that failed because a certificate was not good enough, here or there.",
     &Peer::refused_certificates},
    {"once_peer_sent_bytes_total", "Bytes of messages to a peer.", &Peer::sent_bytes},
    {"once_peer_received_bytes_total", "Bytes of messages from a peer.", &Peer::received_bytes},
}};

const prometheus::Histogram::BucketBoundaries kSeconds = {0.00005, 0.0001, 0.00025, 0.0005, 0.001,
                                                          0.0025,  0.005,  0.01,    0.025,  0.05,
                                                          0.1,     0.25,   0.5,     1,      5};

}  // namespace

struct Metrics::Registry {
  explicit Registry(std::size_t label_values_max) : label_values_max(label_values_max) {
    for (std::size_t i = 0; i < kEvents.size(); ++i)
      events[i] =
          &prometheus::BuildCounter().Name(kEvents[i].name).Help(kEvents[i].help).Register(all);
    limited = &prometheus::BuildCounter()
                   .Name("once_rate_limited_total")
                   .Help("Requests answered 429 because their tenant is over its rate.")
                   .Register(all);
    requests = &prometheus::BuildHistogram()
                    .Name("once_request_seconds")
                    .Help("Time from a parsed request to its answer, by route and status class.")
                    .Register(all);
    sync = &prometheus::BuildHistogram()
                .Name("once_sync_seconds")
                .Help("Time of one sync of the store.")
                .Register(all)
                .Add({}, kSeconds);
    conflicts = &prometheus::BuildCounter()
                     .Name("openwop_idempotency_cross_region_conflicts_total")
                     .Help("Runs of this region that lost against another region's.")
                     .Register(all);
    late_completions = &prometheus::BuildCounter()
                            .Name("once_late_completions_total")
                            .Help("Runs of this region that succeeded after they had given way.")
                            .Register(all);
    collisions = &prometheus::BuildCounter()
                      .Name("once_run_id_collisions_total")
                      .Help("Claims that contradict one of the same run id, by their region.")
                      .Register(all);
    partition = &prometheus::BuildGauge()
                     .Name("openwop_idempotency_partition_seconds")
                     .Help("Age of the oldest state that a peer may be missing.")
                     .Register(all);
    lag = &prometheus::BuildHistogram()
               .Name("once_replication_lag_seconds")
               .Help("Time from a change to a peer's acknowledgement.")
               .Register(all);
    unacknowledged = &prometheus::BuildGauge()
                          .Name("once_peer_unacknowledged_frames")
                          .Help("Frames of this region that a peer has not acknowledged.")
                          .Register(all);
    queued_bytes = &prometheus::BuildGauge()
                        .Name("once_peer_queued_bytes")
                        .Help("Bytes for a peer that its connection has not taken.")
                        .Register(all);
    for (std::size_t i = 0; i < kPeerTotals.size(); ++i)
      peer_totals[i] = &prometheus::BuildCounter()
                            .Name(kPeerTotals[i].name)
                            .Help(kPeerTotals[i].help)
                            .Register(all);
    expired = &Single("once_expired_claims_total", "Claims forgotten after their retention.");
    evicted = &Single("once_evicted_slots_total", "Slots evicted at the size bound.");
  }

  prometheus::Counter& Single(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(all).Add({});
  }

  void Set(const char* name, const char* help, double value) {
    auto& gauge = gauges[name];
    if (!gauge) gauge = &prometheus::BuildGauge().Name(name).Help(help).Register(all).Add({});
    gauge->Set(value);
  }

  void SetPeer(const Gauges::Peer& peer) {
    const prometheus::Labels labels{{"peer", peer.name}};
    partition->Add(labels).Set(peer.partition_seconds);
    unacknowledged->Add(labels).Set(static_cast<double>(peer.unacknowledged));
    queued_bytes->Add(labels).Set(static_cast<double>(peer.queued_bytes));
    for (std::size_t i = 0; i < kPeerTotals.size(); ++i) {
      prometheus::Counter& counter = peer_totals[i]->Add(labels);
      counter.Increment(static_cast<double>(peer.*kPeerTotals[i].total) - counter.Value());
    }
  }

  // A total that is counted elsewhere.
  void Raise(const char* name, const char* help, std::uint64_t total) {
    auto& counter = totals[name];
    if (!counter) counter = &Single(name, help);
    counter->Increment(static_cast<double>(total) - counter->Value());
  }

  // One gauge for each value of the label, and none for what is no longer among them.
  void SetEach(const char* name, const char* help, const char* label,
               const std::vector<std::pair<std::string, std::uint64_t>>& values) {
    auto& family = families[name];
    if (!family.first) family.first = &prometheus::BuildGauge().Name(name).Help(help).Register(all);
    for (prometheus::Gauge* gauge : std::exchange(family.second, {})) family.first->Remove(gauge);
    for (const auto& [value, number] : values) {
      prometheus::Gauge& gauge = family.first->Add({{label, value}});
      gauge.Set(static_cast<double>(number));
      family.second.push_back(&gauge);
    }
  }

  void SetStrict(const StrictGauges& strict);

  // A flood of made-up tenants must not become a flood of time series.
  std::string Capped(std::set<std::string, std::less<>>& seen, std::string_view value) {
    if (seen.find(value) != seen.end()) return std::string(value);
    if (seen.size() >= label_values_max) return "other";
    return *seen.emplace(value).first;
  }

  using Row = std::array<prometheus::Counter*, kEvents.size()>;
  Row& RowOf(std::string_view tenant, std::string_view route) {
    place.assign(tenant).append(1, '\0').append(route);
    if (const auto at = rows.find(place); at != rows.end()) return at->second;
    // Tenants and routes are capped each; so are their pairs, or there would be the product.
    const bool known = rows.size() < 4 * label_values_max;
    const std::string shown_tenant = known ? Capped(tenants, tenant) : "other";
    const std::string shown_route = known ? Capped(routes, route) : "other";
    Row row{};
    for (std::size_t i = 0; i < kEvents.size(); ++i)
      row[i] = &events[i]->Add({{"tenant", shown_tenant}, {"route", shown_route}});
    if (!known) return overflow = row;
    return rows.emplace(place, row).first->second;
  }

  void CountBetween(prometheus::Family<prometheus::Counter>& family, std::string_view tenant,
                    std::string_view route, std::string_view pair) {
    family
        .Add({{"tenant", Capped(tenants, tenant)},
              {"route", Capped(routes, route)},
              {"region_pair", std::string(pair)}})
        .Increment();
  }

  const std::size_t label_values_max;
  prometheus::Registry all;
  std::array<prometheus::Family<prometheus::Counter>*, kEvents.size()> events{};
  prometheus::Family<prometheus::Counter>* limited = nullptr;
  prometheus::Family<prometheus::Histogram>* requests = nullptr;
  prometheus::Family<prometheus::Counter>* conflicts = nullptr;
  prometheus::Family<prometheus::Counter>* late_completions = nullptr;
  prometheus::Family<prometheus::Counter>* collisions = nullptr;
  prometheus::Family<prometheus::Gauge>* partition = nullptr;
  prometheus::Family<prometheus::Gauge>* unacknowledged = nullptr;
  prometheus::Family<prometheus::Gauge>* queued_bytes = nullptr;
  std::array<prometheus::Family<prometheus::Counter>*, kPeerTotals.size()> peer_totals{};
  prometheus::Family<prometheus::Histogram>* lag = nullptr;
  prometheus::Histogram* sync = nullptr;
  prometheus::Counter* expired = nullptr;
  prometheus::Counter* evicted = nullptr;
  std::unordered_map<std::string, prometheus::Gauge*> gauges;
  std::map<std::string, prometheus::Counter*> totals;
  std::map<std::string,
           std::pair<prometheus::Family<prometheus::Gauge>*, std::vector<prometheus::Gauge*>>>
      families;
  std::mutex mutex;  // guards everything below
  std::set<std::string, std::less<>> tenants, routes;
  std::unordered_map<std::string, Row> rows;  // by place
  std::string place;                          // that RowOf was last asked for: its memory is kept
  std::map<std::pair<std::string_view, int>, prometheus::Histogram*> by_request;
  Row overflow{};
};

void Metrics::Registry::SetStrict(const StrictGauges& strict) {
  std::vector<std::pair<std::string, std::uint64_t>> differing;
  for (const std::string& region : strict.other_rules) differing.emplace_back(region, 1);
  SetEach("once_strict_role", "1 for the role of this node in the strict group.", "role",
          {{strict.role, 1}});
  SetEach("once_strict_lag_entries", "Entries that a member lacks; only on the leader.", "peer",
          strict.lag);
  SetEach("once_strict_other_rules", "1 for a region whose [[strict]] rules differ.", "peer",
          differing);
  Set("once_strict_has_leader", "1 while a leader is known.", strict.has_leader);
  Set("once_strict_unreadable", "1 while records of the strict group cannot be read.",
      strict.unreadable);
  Set("once_strict_term", "Rises with every election.", static_cast<double>(strict.term));
  Set("once_strict_committed_index", "Last entry that is decided.",
      static_cast<double>(strict.committed));
  Set("once_strict_applied_index", "Last entry that was applied here.",
      static_cast<double>(strict.applied));
  Set("once_strict_waiting_requests", "Requests that the group has not answered yet.",
      static_cast<double>(strict.waiting));
  Raise("once_strict_leader_changes_total", "How often another leader was heard of.",
        strict.leaders);
  Raise("once_strict_entries_total", "Entries proposed by this node as leader.", strict.entries);
  Raise("once_strict_commands_total", "Commands in those entries.", strict.commands);
  Raise("once_strict_forwarded_total", "Requests sent to a leader in another region.",
        strict.forwarded);
  Raise("once_strict_unavailable_total", "Requests that the group did not answer in time.",
        strict.unavailable);
  Raise("once_strict_snapshots_given_up_total",
        "Snapshots that were sent too slowly for the log to be kept.", strict.snapshots_given_up);
  Raise("once_strict_refused_messages_total", "Messages that no honest member sends.",
        strict.refused);
}

Metrics::Metrics(std::size_t label_values_max)
    : registry_(std::make_unique<Registry>(label_values_max)) {}
Metrics::~Metrics() = default;

void Metrics::Count(Event event, std::string_view tenant, std::string_view route) {
  const std::lock_guard lock(registry_->mutex);
  registry_->RowOf(tenant, route)[static_cast<std::size_t>(event)]->Increment();
}

void Metrics::Request(std::string_view route, int status, std::int64_t micros) {
  const std::lock_guard lock(registry_->mutex);
  auto& histogram = registry_->by_request[{route, status / 100}];
  if (!histogram)
    histogram = &registry_->requests->Add(
        {{"route", std::string(route)}, {"status", std::to_string(status / 100) + "xx"}}, kSeconds);
  histogram->Observe(static_cast<double>(micros) / 1e6);
}

void Metrics::Limited(std::string_view tenant) {
  const std::lock_guard lock(registry_->mutex);
  registry_->limited->Add({{"tenant", registry_->Capped(registry_->tenants, tenant)}}).Increment();
}

void Metrics::Sync(std::int64_t micros) {
  registry_->sync->Observe(static_cast<double>(micros) / 1e6);
}
void Metrics::Conflict(std::string_view tenant, std::string_view route, std::string_view pair) {
  const std::lock_guard lock(registry_->mutex);
  registry_->CountBetween(*registry_->conflicts, tenant, route, pair);
}
void Metrics::LateCompletion(std::string_view tenant, std::string_view route,
                             std::string_view pair) {
  const std::lock_guard lock(registry_->mutex);
  registry_->CountBetween(*registry_->late_completions, tenant, route, pair);
}
void Metrics::Collision(std::string_view region) {
  registry_->collisions->Add({{"region", std::string(region)}}).Increment();
}
void Metrics::Lag(const std::string& peer, std::int64_t millis) {
  registry_->lag->Add({{"peer", peer}}, kSeconds).Observe(static_cast<double>(millis) / 1e3);
}
void Metrics::Expired(std::uint64_t claims) {
  registry_->expired->Increment(static_cast<double>(claims));
}
void Metrics::Evicted(std::uint64_t slots) {
  registry_->evicted->Increment(static_cast<double>(slots));
}

std::string Metrics::Text(const Gauges& gauges) {
  {
    const std::lock_guard lock(registry_->mutex);
    Registry& r = *registry_;
    r.Set("once_slots", "Slots in the store.", static_cast<double>(gauges.slots));
    r.Set("once_slot_bytes", "Bytes of all slots.", static_cast<double>(gauges.slot_bytes));
    r.Set("once_hot_slots", "Slots in memory.", static_cast<double>(gauges.hot_slots));
    r.Set("once_commit_queue", "Answers that wait for a sync.",
          static_cast<double>(gauges.queue_depth));
    r.Set("once_waiting_callers", "Callers joined to a claim in flight.",
          static_cast<double>(gauges.waiters));
    r.Set("once_connections", "Open client connections.", static_cast<double>(gauges.connections));
    r.Raise("once_accepted_connections_total", "Connections of clients, refused ones included.",
            gauges.accepted_connections);
    r.Raise("once_refused_connections_total",
            "Connections that were refused or dropped at a bound on connections or memory.",
            gauges.refused_connections);
    r.Raise("once_bad_requests_total", "Requests that could not be read as HTTP.",
            gauges.bad_requests);
    r.Raise("once_request_timeouts_total",
            "Requests, handshakes and answers that took too long on the network.",
            gauges.request_timeouts);
    if (!gauges.peers.empty())
      r.Raise("once_peer_strangers_total", "Connections to the peer port by who is no peer.",
              gauges.peer_strangers);
    r.Set("once_clock_offset_seconds", "Wall clock minus the node's clock.",
          static_cast<double>(gauges.clock_offset_ms) / 1e3);
    r.Set("once_clock_safe",
          "1 while the wall clock, and the strict group's clocks, are within the bound.",
          gauges.clock_safe);
    r.Set("once_store_failed", "1 after a failed sync: the node writes no more.",
          gauges.store_failed);
    for (const Gauges::Peer& peer : gauges.peers) r.SetPeer(peer);
    r.Set("once_store_full", "1 while the disk has no space.", gauges.store_full);
    if (gauges.strict) r.SetStrict(*gauges.strict);
  }
  return prometheus::TextSerializer().Serialize(registry_->all.Collect());
}

std::vector<std::string> Metrics::Names(bool many_regions, bool strict) {
  std::vector<std::string> names;
  if (many_regions)
    names = {"openwop_idempotency_cross_region_conflicts_total",
             "openwop_idempotency_partition_seconds",
             "once_replication_lag_seconds",
             "once_late_completions_total",
             "once_run_id_collisions_total",
             "once_peer_unacknowledged_frames",
             "once_peer_queued_bytes",
             "once_peer_strangers_total"};
  if (many_regions)
    for (const PeerTotal& total : kPeerTotals) names.emplace_back(total.name);
  if (strict)
    for (const char* name :
         {"once_strict_role", "once_strict_has_leader", "once_strict_term",
          "once_strict_committed_index", "once_strict_applied_index", "once_strict_lag_entries",
          "once_strict_waiting_requests", "once_strict_other_rules", "once_strict_unreadable",
          "once_strict_leader_changes_total", "once_strict_entries_total",
          "once_strict_commands_total", "once_strict_forwarded_total",
          "once_strict_unavailable_total", "once_strict_snapshots_given_up_total",
          "once_strict_refused_messages_total"})
      names.emplace_back(name);
  for (const EventCounter& event : kEvents) names.emplace_back(event.name);
  for (const char* name :
       {"once_rate_limited_total", "once_request_seconds", "once_sync_seconds",
        "once_expired_claims_total", "once_evicted_slots_total", "once_slots", "once_slot_bytes",
        "once_hot_slots", "once_commit_queue", "once_waiting_callers", "once_connections",
        "once_accepted_connections_total", "once_refused_connections_total",
        "once_bad_requests_total", "once_request_timeouts_total", "once_clock_offset_seconds",
        "once_clock_safe", "once_store_failed", "once_store_full"})
    names.emplace_back(name);
  return names;
}

}  // namespace once
