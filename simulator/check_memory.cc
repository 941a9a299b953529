// What a node keeps in memory does not grow with what goes wrong. Judged is what the product can
// say of itself; frames that come out of order, and forwarded bodies, are not kept at all.
#include <algorithm>

#include "simulator/checks.h"

namespace once {
namespace {

constexpr std::uint64_t kEntriesPerRegion = 2;  // the present stream, and what closes the others
constexpr std::size_t kSnapshotBytesMax = 64 << 10;

struct Region {
  Cluster& cluster;
  const std::string& name;
  Violations& violations;

  void Say(const std::string& what, std::uint64_t count, const std::string& where) const {
    violations.push_back(
        {"memory", name + " keeps " + std::to_string(count) + " " + what + " " + where, 0});
  }

  void CheckSlots(const HotSlots& hot, const std::string& of) const {
    if (hot.bytes() > hot.bytes_max() && hot.durable() > 1)
      Say("bytes of " + of + " slots", hot.bytes(),
          "where " + std::to_string(hot.bytes_max()) + " are allowed and " +
              std::to_string(hot.durable()) + " slots may go");
  }

  void CheckPeers() const {
    for (const std::string& peer : cluster.regions()) {
      if (peer == name) continue;
      const std::uint64_t streams = cluster.gossip(name).StateOf(peer).streams;
      if (streams > 0)
        Say("notes of streams that " + peer + " lacks", streams, "though it lacks nothing");
    }
  }

  void CheckLog(const NativeEngine& engine) const {
    const Raft* const raft = engine.core();
    if (!raft) return;
    // What follows a snapshot that is on its way is kept for its receiver, to a bound.
    std::uint64_t upto = raft->applied();
    for (const auto& [to, progress] : raft->progress())
      if (progress.state() == Progress::State::kSnapshot && progress.sending().begun())
        upto = std::min(upto, progress.sending().meta.index());
    const std::uint64_t first = raft->log().snapshot_index();
    const std::uint64_t applied = upto - std::min(upto, first);  // one that is silent waits alone
    const std::uint64_t kept = cluster.options().strict_log_entries;
    if (applied >= 2 * kept)
      Say("applied entries of the strict log", applied,
          "though it is to be cut to " + std::to_string(kept));
    const std::uint64_t for_snapshot = NativeEngineOptions().snapshot_logs * 2 * kept;
    if (const std::uint64_t all = raft->applied() - first; all >= for_snapshot)
      Say("applied entries of the strict log", all,
          "for a snapshot, where " + std::to_string(for_snapshot) + " are too many");
  }

  // The places of its pieces, however large the state is.
  void CheckSnapshots(const NativeEngine& engine) const {
    if (const std::size_t bytes = engine.snapshot_bytes(); bytes > kSnapshotBytesMax)
      Say("bytes of snapshots", bytes, "that it sends");
  }

  // On disk, beside the state.
  void CheckLeftovers(StrictGroup& group) const {
    std::uint64_t all = 0;
    std::uint64_t present = 0;
    const auto counting = [](std::uint64_t& count) {
      return [&count](std::string_view, std::string_view) { return ++count > 0; };
    };
    group.Store();
    cluster.replica(name).tables().ScanRaw(keys::Strict(0), keys::After(keys::Strict(0)),
                                           counting(all));
    group.tables().ScanRaw("", keys::kAfterTables, counting(present));
    if (all > present) Say("strict records", all - present, "that are of no state");
  }

  void CheckWaiting() const {
    Replica& replica = cluster.replica(name);
    const HotSlots& hot = replica.tables().hot();
    if (hot.size() > hot.durable())
      Say("slots as not durable", hot.size() - hot.durable(), "though nothing is being written");
    if (const std::uint64_t waiting = replica.Gauges().queue_depth; waiting > 0)
      Say("answers", waiting, "that wait for a sync that nobody makes");
    if (const StrictGroup* const group = replica.strict(); group && group->waiting() > 0)
      Say("requests to the strict group", group->waiting(), "that were all answered");
  }
};

}  // namespace

Violations CheckMemory(Cluster& cluster) {
  Violations violations;
  for (const std::string& name : cluster.regions()) {
    if (!cluster.IsUp(name)) continue;
    const Region region{cluster, name, violations};
    region.CheckSlots(cluster.replica(name).tables().hot(), "best-effort");
    if (StrictGroup* const group = cluster.group(name))
      region.CheckSlots(group->tables().hot(), "strict");
    if (const NativeEngine* const engine = cluster.engine(name)) {
      region.CheckLog(*engine);
      region.CheckSnapshots(*engine);
    }
  }
  return violations;
}

Violations CheckMemoryAtRest(Cluster& cluster) {
  Violations violations = CheckMemory(cluster);
  for (const std::string& name : cluster.regions()) {
    const Region region{cluster, name, violations};
    region.CheckWaiting();
    region.CheckPeers();
    const std::uint64_t streams = cluster.gossip(name).journal().applied().size();
    const std::uint64_t streams_max = kEntriesPerRegion * cluster.regions().size();
    if (streams > streams_max)
      region.Say("entries in its vector", streams,
                 "where " + std::to_string(streams_max) + " do when nobody is away");
    if (const NativeEngine* const engine = cluster.engine(name))
      if (const std::size_t bytes = engine->snapshot_bytes(); bytes > 0)
        region.Say("bytes of snapshots", bytes, "that nobody receives");
    if (StrictGroup* const group = cluster.group(name)) region.CheckLeftovers(*group);
  }
  return violations;
}

}  // namespace once
