// Everything that a simulated run depends on besides the code: drawn from a seed, and then
// overridden by a scenario.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulator/cluster.h"
#include "simulator/history.h"
#include "simulator/network.h"

namespace once {

/// What callers do. Percentages are chances per call.
struct WorkloadOptions {
  std::uint64_t calls = 60;  // chains of begin, settle and retries, about three operations each
  std::uint64_t keys = 24;
  std::uint32_t burst_percent = 25;  // the same request at once, in one region or several
  std::uint32_t mismatch_percent = 6;
  std::uint32_t run_percent = 25;  // keys whose effect is a run of the node, not the caller's
  std::uint32_t short_retention_percent = 40;
  std::uint64_t short_retention_ms_max = 12'000;
  std::uint32_t never_expire_percent = 10;
  std::uint32_t late_settle_percent = 10;  // after the lease
  std::uint32_t no_settle_percent = 8;
  std::uint32_t retryable_percent = 8;
  std::uint32_t terminal_percent = 8;
  std::uint32_t release_percent = 3;
  std::uint32_t stray_settle_percent = 3;  // to a region that is not the claim's home
  std::uint32_t renew_percent = 15;        // of owners, whose work takes longer than their lease
  std::uint32_t wait_percent = 25;         // of begins, that wait while somebody is on it
  std::uint32_t give_back_times = 0;       // a key is begun and released so often by one caller
  std::uint64_t policy_changes = 2;        // of how differing bodies are met, by region and tenant
  std::uint32_t late_retry_percent = 30;
  std::uint32_t look_up_percent = 10;  // of claims, after their begin, in any region
  std::uint64_t lease_ms = 2000;
  std::string tenant;  // of all keys; empty: drawn for each
};

/// What callers do with runs and webhooks. Percentages are chances per request.
struct RunCallerOptions {
  std::uint64_t runs = 8;  // each with up to four things that happen to it
  std::uint64_t webhooks = 2;
  std::uint32_t keyed_percent = 60;
  std::uint32_t burst_percent = 25;   // the same at once, in another region
  std::uint32_t foreign_percent = 5;  // another tenant, or a node that is not there
  std::uint64_t lease_ms = 2000;
};

/// Which faults are on, and how strong. Every gap is the mean time between two of a kind.
struct FaultOptions {
  LinkRules links;
  std::int64_t cut_gap_ms = 0;  // 0: none
  std::int64_t cut_ms_max = 15'000;
  bool one_way_cuts = false;
  bool bridge_cuts = false;
  std::int64_t flap_gap_ms = 0;
  std::int64_t clog_gap_ms = 0;
  std::int64_t crash_gap_ms = 0;
  std::int64_t down_ms_max = 6000;
  std::int64_t pause_gap_ms = 0;
  std::int64_t slow_disk_gap_ms = 0;
  std::int64_t sync_failure_gap_ms = 0;
  std::int64_t disk_full_gap_ms = 0;
  std::int64_t clock_jump_gap_ms = 0;   // within the bound
  std::int64_t wild_jump_gap_ms = 0;    // beyond it
  std::int64_t start_ahead_gap_ms = 0;  // a start with the wall clock far ahead
  std::int64_t emptied_gap_ms = 0;
  std::int64_t restored_gap_ms = 0;
  std::int64_t cloned_gap_ms = 0;
  std::int64_t stepped_gap_ms = 0;        // two starts, two directories, and a clock that went back
  std::int64_t stop_gap_ms = 0;           // of nodes that are told to stop
  std::uint32_t replacements_max = 1000;  // of directories, in one world
  std::int64_t transfer_gap_ms = 0;       // of leadership
  std::int64_t dismissal_gap_ms = 0;      // of a member, for a while
  std::uint32_t dismissals_max = 0;       // at a time
  std::uint32_t early_change_percent = 0;  // of new leaders that are asked for one at once
  std::uint32_t leader_percent = 0;        // of faults that are aimed at whoever leads
  std::uint32_t strike_percent = 0;        // of new leaders that are struck right away
  std::uint32_t strike_voter_percent = 0;  // the same of those who have just voted
  std::int64_t strike_ms_max = 0;          // how soon
  std::int64_t strike_down_ms_max = 1;     // how long they are dead, or cut off
  bool strike_cuts = false;                // leaders are cut off, and do not die
  std::int64_t rules_gap_ms = 0;           // of changes of the [[strict]] rules
  std::int64_t sync_ms = 0;                // what every sync takes
  std::int64_t skew_ms_max = 0;            // of any region, either way
  std::int64_t drift_ms_max = 0;           // per second
  std::vector<Fault> schedule;             // these, at these times

  /// Whether directories may be lost at random moments.
  bool MayLose() const { return emptied_gap_ms > 0 || restored_gap_ms > 0; }
};

struct RunOptions {
  std::uint64_t seed = 1;
  std::string scenario;
  bool strict = false;  // there is a strict group
  std::int64_t safety_ms = 60'000;
  std::int64_t liveness_ms_max = 30'000;
  bool detailed = false;  // keeps lag and convergence samples for the report
  std::string without;    // a checker whose findings do not count; empty: all count
  ClusterOptions cluster;
  WorkloadOptions workload;
  RunCallerOptions run_callers;
  FaultOptions faults;
};

/// Swarm: each seed draws its own mixture. `strict`: a world with a strict group, in which some
/// tenants are strict and others are not, or all are. `for_scenario`: regions remember as long as
/// usual, stores have room, and links take what they are given.
RunOptions DrawOptions(std::uint64_t seed, bool strict = false, bool for_scenario = false);

/// How long a change may take to be durable in another region while the link between the two, and
/// both nodes, are well: two attempts, each answered at the next interval.
std::int64_t LagBoundMillis(const RunOptions& options);

/// How much longer it may take where so much had piled up: it goes a window at a time, each a trip
/// there and back, and as slowly as the link takes it.
std::int64_t PileMillis(const RunOptions& options, std::size_t piled_bytes);

/// For people, in a fixed order.
std::vector<std::pair<std::string, std::string>> Describe(const RunOptions& options);

}  // namespace once
