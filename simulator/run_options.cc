#include "simulator/run_options.h"

#include <algorithm>
#include <functional>

#include "replica/env/random.h"
#include "replica/limits.h"

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

// Messages come seconds late, and twice, while who sent them was started again, or is down, or
// another leads. What they ask for could be done again: leases are short, and much fails.
void DrawEchoes(Random& random, RunOptions& options) {
  FaultOptions& faults = options.faults;
  faults.links.delay_ms = Between(random, 1, 30);
  faults.links.loss_percent = 0;
  faults.links.very_late_permille = static_cast<std::uint32_t>(Between(random, 300, 500));
  faults.links.very_late_ms = Between(random, 4000, 8000);
  faults.links.repeat_percent = random.OneIn(2) ? 50 : 0;
  faults.crash_gap_ms = Between(random, 600, 2000);
  faults.down_ms_max = random.OneIn(3) ? Between(random, 20, 100) : Between(random, 3000, 6000);
  faults.leader_percent = static_cast<std::uint32_t>(Between(random, 0, 30));
  faults.transfer_gap_ms = Between(random, 1000, 3000);
  options.cluster.strict_routes = {{"*", "*"}};
  options.workload.calls = 120;
  options.workload.keys = 40;
  options.workload.lease_ms = options.cluster.lease_ms = 500;
  options.workload.retryable_percent = 30;
  options.workload.no_settle_percent = 40;
  options.workload.late_retry_percent = 0;
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

// Regions die and are back at once, while what they asked and what they were asked is on its way or
// not on disk yet.
void DrawRestarts(Random& random, RunOptions& options) {
  FaultOptions& faults = options.faults;
  faults.links.delay_ms = Between(random, 100, 500);
  faults.links.jitter_ms = Between(random, 0, 600);
  faults.sync_ms = Between(random, 50, 300);
  faults.crash_gap_ms = Between(random, 1000, 2500);
  faults.down_ms_max = Between(random, 10, 150);
  faults.cut_gap_ms = faults.clog_gap_ms = faults.slow_disk_gap_ms = 0;
  faults.emptied_gap_ms = faults.restored_gap_ms = faults.cloned_gap_ms = 0;
  options.run_callers.runs = static_cast<std::uint64_t>(Between(random, 8, 14));
}

// Of their own stream, like what was there before them.
void DrawRuns(RunOptions& options, bool for_scenario) {
  Random random(options.seed ^ 0x7275'6e73'2061'6c6cu);
  RunCallerOptions& callers = options.run_callers;
  callers.runs = static_cast<std::uint64_t>(Between(random, 2, 8));
  callers.webhooks = static_cast<std::uint64_t>(Between(random, 0, 2));
  callers.keyed_percent = static_cast<std::uint32_t>(Between(random, 30, 90));
  callers.burst_percent = static_cast<std::uint32_t>(Between(random, 0, 60));
  callers.lease_ms = options.workload.lease_ms;
  if (random.OneIn(3)) callers.runs = callers.webhooks = 0;
  if (for_scenario) return;
  if (!options.strict && random.OneIn(24)) return DrawRestarts(random, options);
  const FaultOptions& faults = options.faults;
  if (!random.OneIn(4) || faults.MayLose() || faults.cloned_gap_ms > 0) return;
  // Forgotten within the world, as soon as all have them, and so are claims.
  options.cluster.run_retention_ms = static_cast<std::uint64_t>(Between(random, 2000, 15'000));
  options.cluster.forget_grace_ms = Between(random, 0, 5000);
  options.workload.never_expire_percent = 0;
  Random raises(options.seed ^ 0x7261'6973'6520'6974u);
  if (raises.OneIn(2))
    options.cluster.run_retention_raised_ms =
        options.cluster.run_retention_ms +
        static_cast<std::uint64_t>(Between(raises, 2000, 10'000));
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
  Random sizes(options.seed ^ 0x2468ace013579bdfu);
  switch (sizes.Below(24)) {
    case 0:
    case 1:
      cluster.regions = {"ap", "br", "eu", "us"};
      break;
    case 2:
      cluster.regions = {"ap", "br", "eu", "sa", "us", "za"};
      break;
    default:
      break;
  }
  options.workload.look_up_percent = 30;
  FaultOptions& faults = options.faults;
  faults.replacements_max = 1;
  faults.leader_percent = static_cast<std::uint32_t>(Between(random, 0, 80));
  faults.transfer_gap_ms = Gap(random, 3, 2000, 10'000);
  faults.dismissal_gap_ms = Gap(random, 3, 3000, 10'000);
  faults.early_change_percent =
      sizes.OneIn(4) ? static_cast<std::uint32_t>(Between(sizes, 20, 80)) : 0;
  const std::size_t voters = cluster.regions.size();
  faults.dismissals_max = static_cast<std::uint32_t>(faults.MayLose() ? voters - 3 : voters - 1);
  DrawTrouble(random, options);
  if (sizes.OneIn(16)) DrawEchoes(sizes, options);
  FitPieces(options);
}

// Stores at their size bound: a new key is refused, or, in a region that stands alone and may
// forget, what ends first goes. And a caller that gives one key back more often than a slot holds.
void DrawBounds(Random& random, RunOptions& options) {
  ClusterOptions& cluster = options.cluster;
  const std::uint64_t keys = options.workload.keys;
  if (random.OneIn(160)) options.workload.give_back_times = kSlotClaimsMax + 20;
  const bool alone = !options.strict && random.OneIn(16);
  if (alone) {
    cluster.regions = {"us"};
    cluster.forget_grace_ms = 0;
    cluster.evict_oldest = random.OneIn(2);
  }
  if (!alone && !random.OneIn(8)) return;
  if (random.OneIn(3))
    cluster.slot_bytes_max = 200 * (1 + random.Below(keys));
  else
    cluster.slots_max = 1 + random.Below(keys);
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
    case 2:  // Whoever is away for so long comes back by a baseline, and nothing is forgotten.
      options.cluster.forget_grace_ms = ClusterOptions().forget_grace_ms;
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

/// Says a value that is not zero.
using SayOption = std::function<void(const char* name, std::int64_t value)>;

void DescribeFaults(const FaultOptions& faults, const SayOption& say) {
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
  say("stop_gap_ms", faults.stop_gap_ms);
  say("transfer_gap_ms", faults.transfer_gap_ms);
  say("dismissal_gap_ms", faults.dismissal_gap_ms);
  say("early_change_percent", faults.early_change_percent);
  say("leader_percent", faults.leader_percent);
  say("strike_percent", faults.strike_percent);
  say("strike_voter_percent", faults.strike_voter_percent);
  say("strike_ms_max", faults.strike_ms_max);
  if (faults.strike_ms_max > 0) say("strike_down_ms_max", faults.strike_down_ms_max);
  say("strike_cuts", faults.strike_cuts);
  say("rules_gap_ms", faults.rules_gap_ms);
  say("sync_ms", faults.sync_ms);
  say("skew_ms_max", faults.skew_ms_max);
  say("drift_ms_max", faults.drift_ms_max);
}

// What members say queues up, and is dropped where the queue is full. Pieces of a snapshot are
// small, so that an election does not begin while one is under way.
void DrawSlowLinks(std::uint64_t seed, RunOptions& options) {
  Random random(seed ^ 0x736c'6f77'206c'696eu);
  if (!random.OneIn(16)) return;
  LinkRules& links = options.faults.links;
  links.bytes_per_ms = Between(random, 6, 30);
  links.queue_bytes_max = static_cast<std::size_t>(Between(random, 4, 32)) << 10;
  options.cluster.strict_chunk_bytes = static_cast<std::size_t>(Between(random, 200, 1000));
  FitPieces(options);
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
      static_cast<std::uint64_t>(strict ? Between(random, 34, 68) : Between(random, 20, 42));
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
  Random rules(seed ^ 0x1122334455667788u);
  if (strict && !all_strict) options.faults.rules_gap_ms = Gap(rules, 5, 2000, 8000);
  if (all_strict) options.faults.start_ahead_gap_ms = Gap(clocks, 2, 4000, 10'000);
  Random stops(seed ^ 0x7374'6f70'2069'7421u);
  options.faults.stop_gap_ms = Gap(stops, 4, 2000, 12'000);
  Random bodies(seed ^ 0x0a1b2c3d4e5f6078u);
  options.workload.mismatch_percent = static_cast<std::uint32_t>(Between(bodies, 2, 16));
  options.workload.policy_changes = bodies.Below(9);
  Random bounds(seed ^ 0x5a4b3c2d1e0f9687u);
  if (!for_scenario) DrawBounds(bounds, options);
  DrawRuns(options, for_scenario);
  LinkRules& links = options.faults.links;
  const bool echoes = links.very_late_permille >= 300;
  if (links.very_late_permille > 0 && random.OneIn(3) && !echoes)
    links.very_late_ms = Between(random, 1, 180) * 60'000;
  if (!for_scenario) strict ? DrawSlowLinks(seed, options) : DrawMemory(seed, options);
  return options;
}

std::int64_t LagBoundMillis(const RunOptions& options) {
  const GossipOptions& gossip = options.cluster.gossip;
  const LinkRules& links = options.faults.links;
  return 2 * gossip.resend_ms + 4 * gossip.interval_ms +
         4 * (links.delay_ms + links.jitter_ms + options.faults.sync_ms);
}

std::int64_t PileMillis(const RunOptions& options, std::size_t piled_bytes) {
  const LinkRules& links = options.faults.links;
  const std::int64_t trip_ms = 2 * (links.delay_ms + links.jitter_ms) + options.faults.sync_ms;
  // A window that has room for whole frames only is half full at least, and of what a slow link
  // takes half may be heartbeats, or something that is said again.
  const auto bytes = static_cast<std::int64_t>(2 * piled_bytes);
  const auto window_bytes = static_cast<std::int64_t>(options.cluster.gossip.window_bytes);
  return bytes / window_bytes * trip_ms + (links.bytes_per_ms ? bytes / links.bytes_per_ms : 0);
}

std::vector<std::pair<std::string, std::string>> Describe(const RunOptions& options) {
  std::vector<std::pair<std::string, std::string>> lines;
  const SayOption say = [&lines](const char* name, std::int64_t value) {
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
  const ClusterOptions standard;
  if (options.cluster.slots_max != standard.slots_max) say("slots_max", options.cluster.slots_max);
  if (options.cluster.slot_bytes_max != standard.slot_bytes_max)
    say("slot_bytes_max", options.cluster.slot_bytes_max);
  say("evict_oldest", options.cluster.evict_oldest);
  say("give_back_times", options.workload.give_back_times);
  say("calls", options.workload.calls);
  say("keys", options.workload.keys);
  say("runs", options.run_callers.runs);
  say("webhooks", options.run_callers.webhooks);
  if (options.cluster.run_retention_ms != standard.run_retention_ms)
    say("run_retention_ms", options.cluster.run_retention_ms);
  say("run_retention_raised_ms", options.cluster.run_retention_raised_ms);
  if (options.cluster.forget_grace_ms != standard.forget_grace_ms)
    say("forget_grace_ms", options.cluster.forget_grace_ms);
  say("lease_ms", options.workload.lease_ms);
  say("interval_ms", options.cluster.gossip.interval_ms);
  if (options.cluster.gossip.window_bytes != GossipOptions().window_bytes)
    say("window_bytes", static_cast<std::int64_t>(options.cluster.gossip.window_bytes));
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
  if (options.cluster.gossip.silence_ms_max != GossipOptions().silence_ms_max) {
    say("silence_ms_max", options.cluster.gossip.silence_ms_max);
    say("journal_changes_max", options.cluster.gossip.journal_changes_max);
    say("baseline_ms", options.cluster.gossip.baseline_ms);
  }
  DescribeFaults(faults, say);
  say("scheduled_faults", faults.schedule.size());
  return lines;
}

}  // namespace once
