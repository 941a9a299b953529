// Regions in one simulated world: the production Replica and Gossip of each over simulated time,
// network and disk. Random runs and handwritten stories share it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "replica/config.h"
#include "replica/directory_identity.h"
#include "replica/gossip/gossip.h"
#include "replica/homes.h"
#include "replica/metrics.h"
#include "replica/replica.h"
#include "replica/strict/shared_transport.h"
#include "replica/strict/strict_group.h"
#include "replica/strict/strict_routes.h"
#include "simulator/memory_store.h"
#include "simulator/network.h"
#include "simulator/node_scheduler.h"

namespace once {

struct ClusterOptions {
  std::vector<std::string> regions = {"ap", "eu", "us"};
  std::uint64_t seed = 1;
  std::uint64_t retention_ms = 24ull * 3600 * 1000;
  std::uint64_t lease_ms = 2000;
  std::uint64_t run_retention_ms = Config().run_retention_ms;
  std::uint64_t run_retention_raised_ms = 0;  // not 0: every start takes this one or the other
  std::int64_t forget_grace_ms = 7ll * 24 * 3600 * 1000;
  std::size_t hot_bytes_max = Config().hot_bytes_max;
  std::uint64_t slots_max = Config().slots_max;
  std::uint64_t slot_bytes_max = Config().slot_bytes_max;
  bool evict_oldest = false;               // one region only
  std::vector<StrictRoute> strict_routes;  // none: there is no strict group
  std::uint64_t strict_log_entries = 4096;
  std::uint64_t strict_append_bytes = 256 << 10;
  std::size_t strict_chunk_bytes = 512 << 10;
  GossipOptions gossip;  // region and peers are filled in

  std::uint64_t LongestRunRetention() const {
    return std::max(run_retention_ms, run_retention_raised_ms);
  }
};

/// Claims are forgotten sooner than their late owners may come.
inline bool ForgetsSoon(const ClusterOptions& options) {
  return options.forget_grace_ms < ClusterOptions().forget_grace_ms;
}

class Cluster {
 public:
  explicit Cluster(ClusterOptions options);
  ~Cluster();

  VirtualScheduler& time() { return time_; }
  Network& network() { return network_; }
  Random& random() { return random_; }
  const std::vector<std::string>& regions() const { return options_.regions; }
  const ClusterOptions& options() const { return options_; }

  /// Its store refused when it started: the process would end.
  bool HasFailedToStart(const std::string& region) const {
    return nodes_.at(region).failed_to_start;
  }
  bool IsUp(const std::string& region) const { return nodes_.at(region).replica != nullptr; }
  /// New callers find it: it is up, and was not told to stop so long ago that its listener closed.
  bool Listens(const std::string& region) const;
  /// Loses what was not synced (a random suffix of it survives), and every timer.
  void Crash(const std::string& region);
  void Restart(const std::string& region);
  /// As SIGTERM does (replica/io/node.cc): it goes on until all is durable and nobody waits for an
  /// answer, and then `ended` is called, and it may be crashed. Not called when it dies before. Its
  /// callers find nobody any more when it has ended.
  void StopNode(const std::string& region, std::function<void()> ended);
  /// How often it was started, and when for the last time.
  std::uint64_t starts(const std::string& region) const { return nodes_.at(region).starts; }
  std::int64_t StartedMicros(const std::string& region) const {
    return nodes_.at(region).started_us;
  }
  /// Its directory is replaced by an older copy. Only while the region is down.
  void Restore(const std::string& region, MemoryDisk::Contents backup);
  /// Loses everything. Only while the region is down.
  void Empty(const std::string& region) { Restore(region, {}); }
  /// Its directory is set aside for a copy of it, or comes back in place of that copy, if there is
  /// one aside. Only while the region is down.
  void MoveToCopy(const std::string& region, MemoryDisk::Contents copy);
  void MoveBack(const std::string& region);
  bool IsOneAside(const std::string& region) const {
    return nodes_.at(region).aside.disk != nullptr;
  }
  /// What whoever starts a copy of the region's directory as the region `as` is told; empty: it
  /// would run.
  std::string WhyCopyDoesNotStart(const std::string& region, const std::string& as) const;
  /// How often the region's directory was replaced.
  std::uint32_t life(const std::string& region) const { return nodes_.at(region).life; }
  /// It is started with these from now on; nothing: with those of all. One that refuses them is
  /// started with those of its last start.
  void SetStrictRoutes(const std::string& region, std::optional<std::vector<StrictRoute>> routes) {
    nodes_.at(region).other_routes = std::move(routes);
  }
  /// With which it was started last.
  const std::vector<StrictRoute>& StrictRoutesOf(const std::string& region) const {
    return nodes_.at(region).routes;
  }
  /// With which it will be started next.
  const std::vector<StrictRoute>& NextStrictRoutesOf(const std::string& region) const {
    const auto& other = nodes_.at(region).other_routes;
    return other ? *other : options_.strict_routes;
  }
  /// Whether it takes that for strict.
  bool IsStrict(const std::string& region, const std::string& tenant,
                const std::string& endpoint) const {
    return StrictRoutes(StrictRoutesOf(region)).Contains(tenant, endpoint);
  }
  /// How often a region refused to start with the rules that it was given.
  std::uint64_t refused_rules() const { return refused_rules_; }
  void Pause(const std::string& region) { nodes_.at(region).scheduler->Pause(); }
  void Resume(const std::string& region) { nodes_.at(region).scheduler->Resume(); }
  bool IsPaused(const std::string& region) const { return nodes_.at(region).scheduler->paused(); }
  /// What the wall of the region's process shows, or would show.
  std::int64_t WallMillis(const std::string& region) const {
    return time_.WallMillis() + nodes_.at(region).wall_offset_ms;
  }
  void JumpWall(const std::string& region, std::int64_t delta_ms);
  MemoryDisk& disk(const std::string& region) { return *nodes_.at(region).directory.disk; }
  /// The region's member of the strict group: another one for every life of its directory.
  std::string Member(const std::string& region) const {
    return region + "/" + std::to_string(nodes_.at(region).life);
  }
  /// Only while the region is up.
  Replica& replica(const std::string& region) { return *nodes_.at(region).replica; }
  Gossip& gossip(const std::string& region) { return *nodes_.at(region).gossip; }
  const Transport& transport(const std::string& region) const {
    return *nodes_.at(region).transport;
  }
  Metrics& metrics(const std::string& region) { return *nodes_.at(region).metrics; }
  /// The region's part in the strict group. Null: it is down, or there is no group.
  StrictGroup* group(const std::string& region);
  /// Null also while it is silent.
  const Raft* raft(const std::string& region);
  /// Null as the group is.
  const NativeEngine* engine(const std::string& region);

  /// Both directions between every pair across the two sides.
  void Partition(const std::vector<std::string>& one, const std::vector<std::string>& other);
  void Heal();

  /// Called at the end of every Restart.
  std::function<void(const std::string& region)> on_restart;
  /// Called whenever a region that is up has done something.
  std::function<void(const std::string& region)> on_step;
  /// Called with what a region's strict ledger has just answered, whoever asked.
  std::function<void(const std::string& region, const Answer& answer)> on_answered;
  /// Called with a claim that a region's strict ledger has just taken up, or settled.
  std::function<void(const Claim& claim)> on_applied;
  /// Called when a directory has been replaced.
  std::function<void(const std::string& region)> on_replaced;

  /// Sends a command to a region, and waits there for so long while somebody is on it; `done` gets
  /// nothing when the process dies first.
  void Submit(const std::string& region, Command command, Replica::Done done,
              std::int64_t wait_ms = 0);
  /// Changes a policy of a region at run time, likewise.
  void ChangePolicy(const std::string& region, RoutePolicy policy, Replica::Done done);

  /// The same as the API does it: a command about another region's run goes to the run's home.
  void SubmitToHome(const std::string& region, Command command, Replica::Done done);
  /// The region asks whoever has the run's events: kDone with an EventPage as its outcome's body,
  /// kNotFound or kUnavailable.
  void AskForEvents(const std::string& region, EventRequest request, Replica::Done done);

  /// Reads what the run's domain holds of it, like Replica::ReadAbout; neither is called when the
  /// process dies first.
  void Read(const std::string& region, const std::string& run_id, std::function<void(Tables&)> read,
            std::function<void()> failed);

  /// True when every region that is up has merged all that any of them has said.
  bool Converged();

 private:
  struct Directory {
    std::unique_ptr<MemoryDisk> disk;
    DirectoryIdentity identity;
    FileOrigin origin;  // of its IDENTITY
  };
  struct Node {
    Directory directory;
    Directory aside;
    std::uint32_t life = 0;
    std::int64_t wall_offset_ms = 0;
    std::optional<std::vector<StrictRoute>> other_routes;
    std::vector<StrictRoute> routes;         // of its last start
    std::vector<StrictRoute> former_routes;  // of the last one with others
    std::uint64_t run_retention_ms = 0;      // of its last start
    bool failed_to_start = false;
    std::uint64_t starts = 0;
    std::int64_t started_us = 0;
    std::optional<std::int64_t> told_to_stop_us;
    std::size_t callers = 0;  // that wait for an answer
    std::unique_ptr<NodeScheduler> scheduler;
    std::unique_ptr<Metrics> metrics;
    std::unique_ptr<MemoryStore> store;
    std::unique_ptr<SimulatedTransport> transport;
    std::unique_ptr<SharedTransport> shared;
    std::unique_ptr<Replica> replica;
    std::unique_ptr<Homes> homes;
    std::unique_ptr<Gossip> gossip;
  };
  void Stop(Node& node);
  /// For its next start.
  std::uint64_t DrawRunRetention(Node& node);
  void EndWhenAnswered(Node& node, std::function<void()> ended);
  /// The same caller, counted among those that wait.
  static Replica::Done Counted(Node& node, Replica::Done done);
  /// A directory that was made, or adopted, by the region.
  Directory NewDirectory(const std::string& region, MemoryDisk::Contents contents);
  void Replaced(const std::string& region);
  /// False: it was given rules that would move a claim, and refuses.
  bool JoinGroup(Node& node, const Config& config);
  void FoundGroup(StrictGroup& group);

  ClusterOptions options_;
  Random random_;
  Random retentions_;  // of its own: all else is drawn as without it
  VirtualScheduler time_;
  Network network_;
  std::map<std::string, Node> nodes_;
  std::uint64_t files_ = 0;  // made so far
  std::uint64_t refused_rules_ = 0;
};

/// The Begin of a simulated caller.
Command BeginCommand(const std::string& tenant, const std::string& key, std::uint64_t body,
                     std::uint64_t lease_ms, std::uint64_t retention_ms);

}  // namespace once
