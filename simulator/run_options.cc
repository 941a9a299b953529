#include "simulator/run_options.h"

#include <algorithm>

#include "replica/env/random.h"

namespace once {
namespace {

std::int64_t Between(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(high - low + 1)));
}

// On in one seed of `one_in`, at a strength of its own.
std::int64_t Gap(Random& random, std::uint64_t one_in, std::int64_t low, std::int64_t high) {
  const std::int64_t gap_ms = Between(random, low, high);
  return random.OneIn(one_in) ? gap_ms : 0;
}

LinkRules DrawLinks(Random& random) {
  LinkRules links;
  links.delay_ms = Between(random, 1, random.OneIn(3) ? 150 : 20);
  links.jitter_ms = random.OneIn(2) ? Between(random, 0, 60) : 2;
  if (random.OneIn(3)) links.loss_percent = static_cast<std::uint32_t>(Between(random, 1, 30));
  if (random.OneIn(3)) links.repeat_percent = static_cast<std::uint32_t>(Between(random, 1, 50));
  if (random.OneIn(4))
    links.very_late_permille = static_cast<std::uint32_t>(Between(random, 1, 100));
  return links;
}

FaultOptions DrawFaults(Random& random) {
  FaultOptions faults;
  faults.links = DrawLinks(random);
  faults.cut_gap_ms = Between(random, 0, 3) > 0 ? Between(random, 3000, 20'000) : 0;
  faults.cut_ms_max = Between(random, 1000, 30'000);
  faults.one_way_cuts = random.OneIn(3);
  faults.bridge_cuts = random.OneIn(3);
  faults.flap_gap_ms = Gap(random, 6, 5000, 20'000);
  faults.clog_gap_ms = Gap(random, 3, 4000, 20'000);
  faults.crash_gap_ms = Gap(random, 2, 3000, 20'000);
  faults.down_ms_max = Between(random, 10, 15'000);
  faults.pause_gap_ms = Gap(random, 3, 5000, 20'000);
  faults.slow_disk_gap_ms = Gap(random, 3, 5000, 20'000);
  faults.sync_failure_gap_ms = Gap(random, 5, 8000, 30'000);
  faults.disk_full_gap_ms = Gap(random, 4, 6000, 20'000);
  faults.clock_jump_gap_ms = Gap(random, 3, 3000, 20'000);
  faults.wild_jump_gap_ms = Gap(random, 5, 8000, 30'000);
  faults.skew_ms_max = random.OneIn(2) ? Between(random, 1, 450) : 0;
  faults.drift_ms_max = random.OneIn(3) ? Between(random, 1, 30) : 0;
  faults.emptied_gap_ms = Gap(random, 5, 15'000, 60'000);
  faults.restored_gap_ms = Gap(random, 5, 15'000, 60'000);
  return faults;
}

std::vector<StrictRoute> DrawRoutes(Random& random) {
  switch (random.Below(4)) {
    case 0:
      return {{"*", "*"}};
    case 1:
      return {{"globex", "*"}};
    default:
      return {{"acme", "*"}};
  }
}

// Leaders and voters are struck right after they have promised something, leaders' disks are slow
// or hang, and what leaders leave behind travels in pieces.
void DrawStorm(Random& random, RunOptions& options) {
  FaultOptions& faults = options.faults;
  faults.strike_percent = static_cast<std::uint32_t>(Between(random, 20, 70));
  faults.strike_voter_percent = faults.strike_percent;
  faults.links.delay_ms = Between(random, 40, 180);
  faults.strike_ms_max = 4 * faults.links.delay_ms;
  faults.sync_ms = random.OneIn(2) ? Between(random, 10, 300) : 0;
  if (random.OneIn(2)) faults.slow_disk_gap_ms = Between(random, 1500, 4000);
  faults.crash_gap_ms = Between(random, 1500, 4000);
  faults.down_ms_max = random.OneIn(2) ? Between(random, 50, 300) : Between(random, 500, 3000);
  faults.strike_down_ms_max = faults.down_ms_max;
  faults.cut_gap_ms = random.OneIn(2) ? Between(random, 2000, 6000) : 0;
  faults.cut_ms_max = Between(random, 500, 3000);
  faults.leader_percent = 90;
  options.cluster.strict_append_bytes = 1;
}

// Leaders are cut off before anybody hears of what they have just written, come back when another
// was, and are cut off between two of their words: what figure 8 of the Raft paper needs.
void DrawStormOfLeaders(Random& random, RunOptions& options) {
  DrawStorm(random, options);
  FaultOptions& faults = options.faults;
  faults.strike_percent = static_cast<std::uint32_t>(Between(random, 60, 95));
  faults.strike_voter_percent = 0;
  faults.strike_cuts = true;
  faults.strike_ms_max = Between(random, 1, 4) * faults.links.delay_ms;
  faults.strike_down_ms_max = Between(random, 2000, 5000);
  faults.slow_disk_gap_ms = faults.crash_gap_ms = faults.cut_gap_ms = 0;
}

// Voters die while their vote is on its way to the disk or to the candidate, and are back while the
// election goes on: a vote that is given twice. Requests that spread let two stand at a time.
void DrawStormOfVoters(Random& random, RunOptions& options) {
  DrawStorm(random, options);
  FaultOptions& faults = options.faults;
  faults.strike_voter_percent = static_cast<std::uint32_t>(Between(random, 50, 95));
  faults.links.delay_ms = Between(random, 60, 120);
  faults.links.jitter_ms = Between(random, 40, 120);
  faults.sync_ms = random.OneIn(2) ? Between(random, 100, 300) : Between(random, 5, 60);
  faults.strike_ms_max = faults.sync_ms + Between(random, 0, 100);
  faults.strike_down_ms_max = Between(random, 10, 100);
}

// Whoever leads stands still now and then, and is asked what it knew when it goes on.
void DrawStandstills(Random& random, RunOptions& options) {
  FaultOptions& faults = options.faults;
  faults.pause_gap_ms = Between(random, 2000, 4000);
  faults.leader_percent = 90;
  options.workload.look_up_percent = 100;
  options.workload.burst_percent = 60;
}

// One is away for long, so that the log goes on without it.
void DrawLaggard(Random& random, RunOptions& options) {
  FaultOptions& faults = options.faults;
  faults.cut_gap_ms = Between(random, 3000, 6000);
  faults.cut_ms_max = Between(random, 8000, 20'000);
  faults.leader_percent = static_cast<std::uint32_t>(Between(random, 0, 30));
  options.cluster.strict_log_entries = static_cast<std::uint64_t>(Between(random, 2, 6));
}

void DrawTrouble(Random& random, RunOptions& options) {
  switch (random.Below(7)) {
    case 0:
      return DrawStorm(random, options);
    case 1:
      return DrawStormOfLeaders(random, options);
    case 2:
      return DrawStormOfVoters(random, options);
    case 3:
      return DrawLaggard(random, options);
    case 4:
      return DrawStandstills(random, options);
    default:
      return;
  }
}

// The pieces of a snapshot go one at a time, each after a trip there and back. They are so large
// that a state of 25 kB, more than these worlds have, is there within half the bound of liveness.
void FitPieces(RunOptions& options) {
  constexpr std::int64_t kBytesPerMs = 4;
  const LinkRules& links = options.faults.links;
  const std::int64_t trip_ms = 2 * (links.delay_ms + links.jitter_ms) + options.faults.sync_ms;
  options.cluster.strict_chunk_bytes =
      std::max(options.cluster.strict_chunk_bytes, static_cast<std::size_t>(kBytesPerMs * trip_ms));
}

void DrawStrict(Random& random, RunOptions& options) {
  options.strict = true;
  options.safety_ms = 30'000;
  ClusterOptions& cluster = options.cluster;
  cluster.strict_routes = DrawRoutes(random);
  cluster.strict_log_entries = static_cast<std::uint64_t>(Between(random, 2, 40));
  if (random.OneIn(2)) cluster.strict_append_bytes = 1;
  if (random.OneIn(2))
    cluster.strict_chunk_bytes = static_cast<std::size_t>(Between(random, 200, 4000));
  if (random.OneIn(6)) cluster.regions = {"ap", "br", "eu", "sa", "us"};
  options.workload.look_up_percent = 30;
  FaultOptions& faults = options.faults;
  faults.replacements_max = 1;
  faults.leader_percent = static_cast<std::uint32_t>(Between(random, 0, 80));
  faults.transfer_gap_ms = Gap(random, 3, 2000, 10'000);
  faults.dismissal_gap_ms = Gap(random, 3, 3000, 10'000);
  const std::size_t voters = cluster.regions.size();
  faults.dismissals_max = static_cast<std::uint32_t>(faults.MayLose() ? voters - 3 : voters - 1);
  DrawTrouble(random, options);
  FitPieces(options);
}

// Regions that forget soon, or that do not wait for whoever is silent, links that are slow, and
// starts with the clock set back. Of its own stream: the rest of the world is the same without.
void DrawMemory(std::uint64_t seed, RunOptions& options) {
  Random random(seed ^ 0x5a5a1234c3c36789u);
  GossipOptions& gossip = options.cluster.gossip;
  switch (random.Below(16)) {
    case 0:
    case 1:  // Claims are over soon and forgotten soon.
      options.cluster.forget_grace_ms = Between(random, 2500, 12'000);
      options.workload.short_retention_percent = 90;
      options.workload.short_retention_ms_max = 8000;
      break;
    case 2:  // Whoever is away for so long comes back by a baseline.
      gossip.silence_ms_max = Between(random, 3000, 15'000);
      gossip.journal_changes_max = static_cast<std::uint64_t>(Between(random, 50, 120));
      gossip.baseline_ms = Between(random, 1000, 4000);
      break;
    case 3: {
      LinkRules& links = options.faults.links;
      links.bytes_per_ms = Between(random, 2, 8);
      links.queue_bytes_max = static_cast<std::size_t>(Between(random, 4, 32)) << 10;
      // What piled up goes a window at a time, and has to be through within the bound of lag.
      gossip.window_bytes = static_cast<std::size_t>(Between(random, 1500, 4000));
      break;
    }
    case 4:
      options.faults.stepped_gap_ms = Between(random, 4000, 15'000);
      options.workload.no_settle_percent = 40;
      break;
    default:
      break;
  }
}

}  // namespace

RunOptions DrawOptions(std::uint64_t seed, bool strict, bool for_scenario) {
  Random random(seed ^ 0x0123456789abcdefu);
  RunOptions options;
  options.seed = seed;
  options.cluster.seed = seed;
  options.cluster.gossip.interval_ms = Between(random, 1, 4) * 100;
  options.cluster.gossip.resend_ms = Between(random, 5, 10) * 100;
  options.cluster.gossip.relay_ms = Between(random, 2, 6) * 100;
  options.cluster.gossip.digest_interval_ms = random.OneIn(2) ? 100 : 1000;
  options.cluster.gossip.window_bytes = random.OneIn(4) ? 2048 : 512 * 1024;
  if (random.OneIn(4)) options.cluster.hot_bytes_max = 8192;
  // About 200 operations.
  options.workload.calls =
      static_cast<std::uint64_t>(strict ? Between(random, 40, 80) : Between(random, 27, 57));
  options.workload.keys = static_cast<std::uint64_t>(Between(random, 4, 40));
  options.workload.lease_ms = static_cast<std::uint64_t>(Between(random, 500, 4000));
  options.workload.short_retention_percent = static_cast<std::uint32_t>(Between(random, 0, 90));
  options.workload.burst_percent = static_cast<std::uint32_t>(Between(random, 0, 60));
  options.cluster.lease_ms = options.workload.lease_ms;
  options.faults = DrawFaults(random);
  if (strict) DrawStrict(random, options);
  // Of its own stream: the faults above are the same with it and without.
  Random clones(seed ^ 0xfedcba9876543210u);
  options.faults.cloned_gap_ms = Gap(clones, 12, 15'000, 60'000);
  Random clocks(seed ^ 0x0f1e2d3c4b5a6978u);
  const bool all_strict = strict && options.cluster.strict_routes.front().tenant == "*";
  if (all_strict) options.faults.start_ahead_gap_ms = Gap(clocks, 2, 4000, 10'000);
  LinkRules& links = options.faults.links;
  if (links.very_late_permille > 0 && random.OneIn(3))
    links.very_late_ms = Between(random, 1, 180) * 60'000;
  if (!strict && !for_scenario) DrawMemory(seed, options);
  return options;
}

std::int64_t LagBoundMillis(const RunOptions& options) {
  const GossipOptions& gossip = options.cluster.gossip;
  const LinkRules& links = options.faults.links;
  return 2 * gossip.resend_ms + 4 * gossip.interval_ms +
         4 * (links.delay_ms + links.jitter_ms + options.faults.sync_ms);
}

std::vector<std::pair<std::string, std::string>> Describe(const RunOptions& options) {
  std::vector<std::pair<std::string, std::string>> lines;
  const auto say = [&lines](const char* name, auto value) {
    if (value) lines.emplace_back(name, std::to_string(value));
  };
  const FaultOptions& faults = options.faults;
  for (const StrictRoute& route : options.cluster.strict_routes)
    lines.emplace_back("strict", route.tenant + " " + route.endpoint);
  if (options.strict) {
    say("log_entries", options.cluster.strict_log_entries);
    say("append_bytes", options.cluster.strict_append_bytes);
    say("chunk_bytes", options.cluster.strict_chunk_bytes);
  }
  say("calls", options.workload.calls);
  say("keys", options.workload.keys);
  say("lease_ms", options.workload.lease_ms);
  say("interval_ms", options.cluster.gossip.interval_ms);
  say("resend_ms", options.cluster.gossip.resend_ms);
  say("short_retention_percent", options.workload.short_retention_percent);
  say("delay_ms", faults.links.delay_ms);
  say("jitter_ms", faults.links.jitter_ms);
  say("loss_percent", faults.links.loss_percent);
  say("repeat_percent", faults.links.repeat_percent);
  say("very_late_permille", faults.links.very_late_permille);
  if (faults.links.very_late_permille > 0) say("very_late_ms", faults.links.very_late_ms);
  say("bytes_per_ms", faults.links.bytes_per_ms);
  if (faults.links.bytes_per_ms > 0) say("queue_bytes_max", faults.links.queue_bytes_max);
  if (options.cluster.forget_grace_ms != ClusterOptions().forget_grace_ms)
    say("forget_grace_ms", options.cluster.forget_grace_ms);
  if (options.cluster.gossip.silence_ms_max != GossipOptions().silence_ms_max) {
    say("silence_ms_max", options.cluster.gossip.silence_ms_max);
    say("journal_changes_max", options.cluster.gossip.journal_changes_max);
    say("baseline_ms", options.cluster.gossip.baseline_ms);
  }
  say("cut_gap_ms", faults.cut_gap_ms);
  say("one_way_cuts", faults.one_way_cuts);
  say("bridge_cuts", faults.bridge_cuts);
  say("flap_gap_ms", faults.flap_gap_ms);
  say("clog_gap_ms", faults.clog_gap_ms);
  say("crash_gap_ms", faults.crash_gap_ms);
  say("pause_gap_ms", faults.pause_gap_ms);
  say("slow_disk_gap_ms", faults.slow_disk_gap_ms);
  say("sync_failure_gap_ms", faults.sync_failure_gap_ms);
  say("disk_full_gap_ms", faults.disk_full_gap_ms);
  say("clock_jump_gap_ms", faults.clock_jump_gap_ms);
  say("wild_jump_gap_ms", faults.wild_jump_gap_ms);
  say("start_ahead_gap_ms", faults.start_ahead_gap_ms);
  say("emptied_gap_ms", faults.emptied_gap_ms);
  say("restored_gap_ms", faults.restored_gap_ms);
  say("cloned_gap_ms", faults.cloned_gap_ms);
  say("stepped_gap_ms", faults.stepped_gap_ms);
  say("transfer_gap_ms", faults.transfer_gap_ms);
  say("dismissal_gap_ms", faults.dismissal_gap_ms);
  say("leader_percent", faults.leader_percent);
  say("strike_percent", faults.strike_percent);
  say("strike_voter_percent", faults.strike_voter_percent);
  say("strike_ms_max", faults.strike_ms_max);
  if (faults.strike_ms_max > 0) say("strike_down_ms_max", faults.strike_down_ms_max);
  say("strike_cuts", faults.strike_cuts);
  say("sync_ms", faults.sync_ms);
  say("skew_ms_max", faults.skew_ms_max);
  say("drift_ms_max", faults.drift_ms_max);
  say("scheduled_faults", faults.schedule.size());
  return lines;
}

}  // namespace once
