#include "simulator/scenario.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <span>

namespace once {
namespace {

namespace fs = std::filesystem;

using Field = std::function<void(std::int64_t)>;
using Fields = std::map<std::string, Field, std::less<>>;

template <typename Number>
Field Into(Number& number) {
  return [&number](std::int64_t value) { number = static_cast<Number>(value); };
}

Fields WorkloadFields(WorkloadOptions& w) {
  return {{"calls", Into(w.calls)},
          {"keys", Into(w.keys)},
          {"burst_percent", Into(w.burst_percent)},
          {"mismatch_percent", Into(w.mismatch_percent)},
          {"run_percent", Into(w.run_percent)},
          {"short_retention_percent", Into(w.short_retention_percent)},
          {"short_retention_ms_max", Into(w.short_retention_ms_max)},
          {"never_expire_percent", Into(w.never_expire_percent)},
          {"late_settle_percent", Into(w.late_settle_percent)},
          {"no_settle_percent", Into(w.no_settle_percent)},
          {"retryable_percent", Into(w.retryable_percent)},
          {"terminal_percent", Into(w.terminal_percent)},
          {"release_percent", Into(w.release_percent)},
          {"stray_settle_percent", Into(w.stray_settle_percent)},
          {"renew_percent", Into(w.renew_percent)},
          {"wait_percent", Into(w.wait_percent)},
          {"give_back_times", Into(w.give_back_times)},
          {"policy_changes", Into(w.policy_changes)},
          {"late_retry_percent", Into(w.late_retry_percent)},
          {"look_up_percent", Into(w.look_up_percent)},
          {"lease_ms", Into(w.lease_ms)}};
}

Fields RunFields(RunCallerOptions& r) {
  return {{"runs", Into(r.runs)},
          {"webhooks", Into(r.webhooks)},
          {"keyed_percent", Into(r.keyed_percent)},
          {"burst_percent", Into(r.burst_percent)},
          {"foreign_percent", Into(r.foreign_percent)}};
}

Fields LinkFields(LinkRules& l) {
  return {{"delay_ms", Into(l.delay_ms)},
          {"jitter_ms", Into(l.jitter_ms)},
          {"loss_percent", Into(l.loss_percent)},
          {"repeat_percent", Into(l.repeat_percent)},
          {"very_late_permille", Into(l.very_late_permille)},
          {"very_late_ms", Into(l.very_late_ms)},
          {"bytes_per_ms", Into(l.bytes_per_ms)},
          {"queue_bytes_max", Into(l.queue_bytes_max)}};
}

Fields FaultFields(FaultOptions& f) {
  return {{"cut_gap_ms", Into(f.cut_gap_ms)},
          {"cut_ms_max", Into(f.cut_ms_max)},
          {"one_way_cuts", Into(f.one_way_cuts)},
          {"bridge_cuts", Into(f.bridge_cuts)},
          {"flap_gap_ms", Into(f.flap_gap_ms)},
          {"clog_gap_ms", Into(f.clog_gap_ms)},
          {"crash_gap_ms", Into(f.crash_gap_ms)},
          {"down_ms_max", Into(f.down_ms_max)},
          {"pause_gap_ms", Into(f.pause_gap_ms)},
          {"slow_disk_gap_ms", Into(f.slow_disk_gap_ms)},
          {"sync_failure_gap_ms", Into(f.sync_failure_gap_ms)},
          {"disk_full_gap_ms", Into(f.disk_full_gap_ms)},
          {"clock_jump_gap_ms", Into(f.clock_jump_gap_ms)},
          {"wild_jump_gap_ms", Into(f.wild_jump_gap_ms)},
          {"start_ahead_gap_ms", Into(f.start_ahead_gap_ms)},
          {"emptied_gap_ms", Into(f.emptied_gap_ms)},
          {"restored_gap_ms", Into(f.restored_gap_ms)},
          {"cloned_gap_ms", Into(f.cloned_gap_ms)},
          {"stepped_gap_ms", Into(f.stepped_gap_ms)},
          {"stop_gap_ms", Into(f.stop_gap_ms)},
          {"replacements_max", Into(f.replacements_max)},
          {"transfer_gap_ms", Into(f.transfer_gap_ms)},
          {"dismissal_gap_ms", Into(f.dismissal_gap_ms)},
          {"dismissals_max", Into(f.dismissals_max)},
          {"early_change_percent", Into(f.early_change_percent)},
          {"leader_percent", Into(f.leader_percent)},
          {"strike_percent", Into(f.strike_percent)},
          {"strike_voter_percent", Into(f.strike_voter_percent)},
          {"strike_ms_max", Into(f.strike_ms_max)},
          {"strike_down_ms_max", Into(f.strike_down_ms_max)},
          {"strike_cuts", Into(f.strike_cuts)},
          {"rules_gap_ms", Into(f.rules_gap_ms)},
          {"sync_ms", Into(f.sync_ms)},
          {"skew_ms_max", Into(f.skew_ms_max)},
          {"drift_ms_max", Into(f.drift_ms_max)}};
}

Fields GossipFields(GossipOptions& g) {
  return {{"interval_ms", Into(g.interval_ms)},
          {"resend_ms", Into(g.resend_ms)},
          {"relay_ms", Into(g.relay_ms)},
          {"digest_interval_ms", Into(g.digest_interval_ms)},
          {"window_bytes", Into(g.window_bytes)},
          {"baseline_ms", Into(g.baseline_ms)},
          {"silence_ms_max", Into(g.silence_ms_max)},
          {"journal_changes_max", Into(g.journal_changes_max)}};
}

Fields ClusterFields(ClusterOptions& c) {
  return {{"hot_bytes_max", Into(c.hot_bytes_max)},
          {"slots_max", Into(c.slots_max)},
          {"slot_bytes_max", Into(c.slot_bytes_max)},
          {"evict_oldest", Into(c.evict_oldest)},
          {"run_retention_ms", Into(c.run_retention_ms)},
          {"forget_grace_ms", Into(c.forget_grace_ms)},
          {"strict_log_entries", Into(c.strict_log_entries)},
          {"strict_append_bytes", Into(c.strict_append_bytes)},
          {"strict_chunk_bytes", Into(c.strict_chunk_bytes)}};
}

const std::map<std::string, Fault::Kind, std::less<>> kFaultWords = {
    {"cut", Fault::Kind::kCut},
    {"clog", Fault::Kind::kClog},
    {"crash", Fault::Kind::kCrash},
    {"pause", Fault::Kind::kPause},
    {"slow-disk", Fault::Kind::kSlowDisk},
    {"sync-failure", Fault::Kind::kSyncFailure},
    {"disk-full", Fault::Kind::kDiskFull},
    {"clock-jump", Fault::Kind::kClockJump},
    {"emptied-directory", Fault::Kind::kEmptied},
    {"restored-backup", Fault::Kind::kRestored},
    {"cloned-directory", Fault::Kind::kCloned},
    {"stepped-starts", Fault::Kind::kSteppedStarts},
    {"stopped-node", Fault::Kind::kStopped},
    {"transfer", Fault::Kind::kTransfer},
    {"dismissed-member", Fault::Kind::kDismissed}};

[[noreturn]] void Wrong(const std::string& what) {
  throw std::runtime_error(what);
}

void ReadFields(const toml::table& root, const char* name, const Fields& fields) {
  if (!root.contains(name)) return;
  const toml::table* table = root[name].as_table();
  if (!table) Wrong("must be written as a section: [" + std::string(name) + "]");
  for (const auto& [key, value] : *table) {
    const auto field = fields.find(key.str());
    if (field == fields.end())
      Wrong("unknown option " + std::string(name) + "." + std::string(key.str()));
    if (const auto number = value.value<std::int64_t>())
      field->second(*number);
    else if (const auto flag = value.value<bool>())
      field->second(*flag ? 1 : 0);
    else
      Wrong("not a number: " + std::string(name) + "." + std::string(key.str()));
  }
}

void RefuseUnknown(const toml::table& table, std::span<const char* const> known,
                   const std::string& where) {
  for (const auto& [key, value] : table)
    if (std::find(known.begin(), known.end(), key.str()) == known.end())
      Wrong("unknown option " + where + std::string(key.str()));
}

// "partition" is a word for the cuts that it consists of.
void AddFault(const toml::table& table, RunOptions& options) {
  static constexpr const char* kNames[] = {"kind", "from_ms", "to_ms", "region", "other", "amount"};
  RefuseUnknown(table, kNames, "fault.");
  const std::string kind = table["kind"].value_or(std::string());
  Fault fault;
  fault.from_ms = table["from_ms"].value_or(std::int64_t{0});
  fault.to_ms = table["to_ms"].value_or(fault.from_ms + 1000);
  fault.region = table["region"].value_or(std::string());
  fault.other = table["other"].value_or(std::string());
  fault.amount = table["amount"].value_or(std::int64_t{0});
  const auto& regions = options.cluster.regions;
  const bool by_role = options.strict && (fault.region == "leader" || fault.region == "follower");
  if (!by_role && std::find(regions.begin(), regions.end(), fault.region) == regions.end())
    Wrong("a fault names no region of the run: '" + fault.region + "'");
  if (kind == "partition" && by_role) return options.faults.schedule.push_back(fault);
  if (kind != "partition") {
    const auto at = kFaultWords.find(kind);
    if (at == kFaultWords.end()) Wrong("unknown kind of fault: '" + kind + "'");
    fault.kind = at->second;
    return options.faults.schedule.push_back(fault);
  }
  for (const std::string& other : regions) {
    if (other == fault.region || (!fault.other.empty() && other != fault.other)) continue;
    Fault there = fault;
    there.other = other;
    Fault back = there;
    std::swap(back.region, back.other);
    options.faults.schedule.push_back(there);
    options.faults.schedule.push_back(back);
  }
}

void Apply(const toml::table& root, RunOptions& options) {
  static constexpr const char* kNames[] = {"about",    "strict",  "quiet", "safety_ms",
                                           "workload", "runs",    "links", "faults",
                                           "gossip",   "cluster", "fault"};
  RefuseUnknown(root, kNames, "");
  if (root["quiet"].value_or(false)) options.faults = FaultOptions();
  options.safety_ms = root["safety_ms"].value_or(options.safety_ms);
  ReadFields(root, "workload", WorkloadFields(options.workload));
  ReadFields(root, "runs", RunFields(options.run_callers));
  ReadFields(root, "links", LinkFields(options.faults.links));
  ReadFields(root, "faults", FaultFields(options.faults));
  ReadFields(root, "gossip", GossipFields(options.cluster.gossip));
  ReadFields(root, "cluster", ClusterFields(options.cluster));
  options.cluster.lease_ms = options.workload.lease_ms;
  // Who asks a node whose clock was wrong at its start for best effort is promised nothing.
  if (options.faults.start_ahead_gap_ms > 0) options.cluster.strict_routes = {{"*", "*"}};
  if (!root.contains("fault")) return;
  if (!root["fault"].is_array_of_tables()) Wrong("fault must be written as [[fault]]");
  for (const toml::node& fault : *root["fault"].as_array()) AddFault(*fault.as_table(), options);
}

fs::path Folder() {
  return fs::path(ONCE_SCENARIO_DIR);
}

}  // namespace

std::variant<RunOptions, std::string> LoadScenario(const std::string& place, std::uint64_t seed,
                                                   bool strict) {
  if (place.empty()) return DrawOptions(seed, strict);
  std::error_code error;
  const fs::path file = fs::exists(place, error) ? fs::path(place) : Folder() / (place + ".toml");
  if (!fs::exists(file, error))
    return "there is no scenario and no file " + place + "; see once-sim list";
  if (fs::is_directory(file, error)) return "cannot read the file " + place;
  RunOptions options;
  try {
    const toml::table root = toml::parse_file(file.string());
    options = DrawOptions(seed, root["strict"].value_or(strict), true);
    options.scenario = place;
    Apply(root, options);
  } catch (const toml::parse_error& wrong) {
    return file.string() + ": " + std::string(wrong.description()) + " (line " +
           std::to_string(wrong.source().begin.line) + ")";
  } catch (const std::exception& wrong) {
    return file.string() + ": " + wrong.what();
  }
  return options;
}

std::vector<Scenario> ListScenarios() {
  std::vector<Scenario> scenarios;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(Folder(), error)) {
    if (entry.path().extension() != ".toml") continue;
    const toml::table root = toml::parse_file(entry.path().string());
    scenarios.push_back({entry.path().stem().string(), root["about"].value_or(std::string())});
  }
  std::sort(scenarios.begin(), scenarios.end(),
            [](const Scenario& a, const Scenario& b) { return a.name < b.name; });
  return scenarios;
}

}  // namespace once
