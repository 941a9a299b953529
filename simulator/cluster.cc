#include "simulator/cluster.h"

#include <algorithm>

#include "conflict/probe.h"
#include "replica/api/digest.h"
#include "replica/env/check.h"
#include "replica/ledger/event_page.h"
#include "replica/limits.h"

namespace once {
namespace {

constexpr const char* kEndpoint = "POST /pay";

// Stands for a signature: nobody in this world forges one except on purpose.
std::string Seal(const std::string& origin, const std::string& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::string* part : {&origin, &bytes})
    for (const char c : *part) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
  return keys::Big64(hash);
}

}  // namespace

Cluster::Cluster(ClusterOptions options)
    : options_(std::move(options)),
      random_(options_.seed),
      retentions_(options_.seed ^ 0x6b65'6570'2072'756eu),
      network_(time_, random_) {
  for (const std::string& region : options_.regions) {
    nodes_[region].directory = NewDirectory(region, {});
    Restart(region);
  }
}

Cluster::~Cluster() {
  for (auto& [region, node] : nodes_) Stop(node);
}

void Cluster::Stop(Node& node) {
  node.gossip.reset();
  node.homes.reset();
  node.replica.reset();
  node.shared.reset();
  node.transport.reset();
  node.store.reset();
  node.metrics.reset();
  node.scheduler.reset();
  node.callers = 0;
}

// Whoever ends it does so from outside: it does not go on below what it is doing.
void Cluster::EndWhenAnswered(Node& node, std::function<void()> ended) {
  constexpr std::int64_t kLookMs = 5;
  time_.After(0, [this, &node, start = node.starts, ended = std::move(ended)] {
    if (!node.replica || node.starts != start) return;
    if (node.callers == 0) return ended();
    node.scheduler->After(kLookMs, [this, &node, ended] { EndWhenAnswered(node, ended); });
  });
}

bool Cluster::Listens(const std::string& region) const {
  const auto& told_us = nodes_.at(region).told_to_stop_us;
  const std::int64_t grace_us = 1000 * Limits().stop_grace_ms;
  return IsUp(region) && (!told_us || time_.MonotonicMicros() < *told_us + grace_us);
}

void Cluster::StopNode(const std::string& region, std::function<void()> ended) {
  Node& node = nodes_.at(region);
  node.told_to_stop_us = time_.MonotonicMicros();
  node.scheduler->Post([this, &node, ended = std::move(ended)] {
    node.replica->Stop([this, &node, ended] { EndWhenAnswered(node, ended); });
  });
}

Replica::Done Cluster::Counted(Node& node, Replica::Done done) {
  ++node.callers;
  return [&node, done = std::move(done)](const Answer& answer) {
    --node.callers;
    done(answer);
  };
}

std::uint64_t Cluster::DrawRunRetention(Node& node) {
  std::uint64_t retention_ms = options_.run_retention_ms;
  if (options_.run_retention_raised_ms > 0 && retentions_.OneIn(2))
    retention_ms = options_.run_retention_raised_ms;
  const std::uint64_t before_ms = std::exchange(node.run_retention_ms, retention_ms);
  if (before_ms > 0 && retention_ms > before_ms)
    Reached("a node was started to keep runs for longer than last time");
  return retention_ms;
}

void Cluster::Restart(const std::string& region) {
  Node& node = nodes_.at(region);
  Check(!node.replica, "a region is started once");
  ++node.starts;
  node.started_us = time_.MonotonicMicros();
  node.told_to_stop_us.reset();
  const auto& [disk, identity, origin] = node.directory;
  Check(WhyNotStart(identity, origin, region, "data").empty(), "it is nobody else's, and no copy");
  node.scheduler = std::make_unique<NodeScheduler>(time_, node.wall_offset_ms);
  if (!options_.strict_routes.empty())
    node.scheduler->SetWatcher([this, region] {
      if (on_step) on_step(region);
    });
  node.metrics = std::make_unique<Metrics>(16);
  node.store = std::make_unique<MemoryStore>(*disk, *node.scheduler);
  node.transport = std::make_unique<SimulatedTransport>(network_, region, *node.scheduler);
  node.shared = std::make_unique<SharedTransport>(*node.transport);
  Config config;
  config.region = region;
  config.lease_ms = options_.lease_ms;
  config.route_retention_ms = options_.retention_ms;
  config.run_retention_ms = DrawRunRetention(node);
  config.forget_grace_ms = options_.forget_grace_ms;
  config.hot_bytes_max = options_.hot_bytes_max;
  config.slots_max = options_.slots_max;
  config.slot_bytes_max = options_.slot_bytes_max;
  config.evict_oldest = options_.evict_oldest;
  config.strict_routes = node.other_routes.value_or(options_.strict_routes);
  config.strict_log_entries = options_.strict_log_entries;
  config.strict_append_bytes = options_.strict_append_bytes;
  config.strict_chunk_bytes = options_.strict_chunk_bytes;
  node.replica = std::make_unique<Replica>(
      World{*node.scheduler, *node.store, [this] { return random_.Next(); }}, config,
      *node.metrics);
  if (!JoinGroup(node, config)) {
    Reached("a node refused rules that would move a claim");
    ++refused_rules_;
    // What the last start wrote may have been lost when it died.
    const bool last = StrictRoutes(node.routes).AreThoseOf(node.replica->tables());
    node.other_routes = last ? node.routes : node.former_routes;
    Stop(node);
    return Restart(region);
  }
  if (StrictRoutes(config.strict_routes).Digest() != StrictRoutes(node.routes).Digest())
    node.former_routes = std::exchange(node.routes, config.strict_routes);
  GossipOptions gossip = options_.gossip;
  gossip.region = region;
  gossip.grace_ms = options_.forget_grace_ms;
  gossip.peers.clear();
  for (const std::string& peer : options_.regions)
    if (peer != region) gossip.peers.push_back(peer);
  node.homes = std::make_unique<Homes>(*node.replica, region, gossip.peers);
  node.gossip = std::make_unique<Gossip>(
      *node.replica, node.shared->gossip(), gossip,
      static_cast<std::uint64_t>(node.scheduler->WallMillis()) << kIncarnationShift |
          random_.Next() >> 44,
      [region](const std::string& bytes) { return Seal(region, bytes); },
      [](const std::string& origin, const std::string& bytes, const std::string& signature) {
        return Seal(origin, bytes) == signature;
      });
  node.failed_to_start = false;
  node.replica->Start([this, &node](bool started) {
    node.failed_to_start = !started;
    if (!started) return;
    node.gossip->Start();
    if (node.replica->strict() && node.life == 0) FoundGroup(*node.replica->strict());
  });
  if (on_restart) on_restart(region);
}

bool Cluster::JoinGroup(Node& node, const Config& config) {
  if (options_.strict_routes.empty()) return true;
  const std::string error =
      node.replica->Join(node.shared->strict(), std::to_string(node.life), config);
  if (!error.empty()) {
    Check(!StrictRoutes(config.strict_routes).AreThoseOf(node.replica->tables()),
          "rules that stay move no claim");
    return false;
  }
  StrictGroup& group = *node.replica->strict();
  group.on_applied = [this, &group, region = config.region,
                      product = std::move(group.on_applied)](const Answer& answer) {
    product(answer);
    if (on_answered) on_answered(region, answer);
    const bool done = answer.kind == Answer::Kind::kExecute || answer.kind == Answer::Kind::kDone;
    if (!on_applied || !done || answer.hash.empty()) return;
    if (const Slot* const slot = group.tables().FindSlot(answer.hash))
      for (const Claim& claim : slot->claims())
        if (claim.run_id() == answer.claim.run_id()) on_applied(claim);
  };
  return true;
}

// By its first directories, and once: a member that has a group refuses.
void Cluster::FoundGroup(StrictGroup& group) {
  std::vector<std::string> founders;
  for (const std::string& region : options_.regions) founders.push_back(region + "/0");
  group.engine().Found(founders);
}

StrictGroup* Cluster::group(const std::string& region) {
  const Node& node = nodes_.at(region);
  return node.replica ? node.replica->strict() : nullptr;
}

const NativeEngine* Cluster::engine(const std::string& region) {
  StrictGroup* const part = group(region);
  return part ? &static_cast<const NativeEngine&>(part->engine()) : nullptr;
}

const Raft* Cluster::raft(const std::string& region) {
  const NativeEngine* const part = engine(region);
  return part ? part->core() : nullptr;
}

void Cluster::Crash(const std::string& region) {
  Node& node = nodes_.at(region);
  Stop(node);
  node.directory.disk->Crash(random_);
}

void Cluster::Restore(const std::string& region, MemoryDisk::Contents backup) {
  Node& node = nodes_.at(region);
  Check(!node.replica, "a directory is not replaced under a process");
  node.directory = NewDirectory(region, std::move(backup));
  Replaced(region);
}

void Cluster::MoveToCopy(const std::string& region, MemoryDisk::Contents copy) {
  Node& node = nodes_.at(region);
  node.aside = std::move(node.directory);
  Restore(region, std::move(copy));
}

void Cluster::MoveBack(const std::string& region) {
  Node& node = nodes_.at(region);
  Check(!node.replica && node.aside.disk, "a directory is not replaced under a process");
  node.directory = std::move(node.aside);
  // What was wrong with its medium then is over.
  node.directory.disk->SetFull(false);
  node.directory.disk->SetSyncDelay(0);
  node.directory.disk->FailNextSync(false);
  Replaced(region);
}

void Cluster::Replaced(const std::string& region) {
  ++nodes_.at(region).life;
  if (on_replaced) on_replaced(region);
}

std::string Cluster::WhyCopyDoesNotStart(const std::string& region, const std::string& as) const {
  const FileOrigin copied{files_ + 1, 0};
  return WhyNotStart(nodes_.at(region).directory.identity, copied, as, "a copy");
}

Cluster::Directory Cluster::NewDirectory(const std::string& region, MemoryDisk::Contents contents) {
  const FileOrigin origin{++files_, 0};
  return {std::make_unique<MemoryDisk>(std::move(contents)),
          {region, std::to_string(files_), origin},
          origin};
}

void Cluster::JumpWall(const std::string& region, std::int64_t delta_ms) {
  Node& node = nodes_.at(region);
  node.wall_offset_ms += delta_ms;
  if (node.scheduler) node.scheduler->JumpWall(delta_ms);
}

void Cluster::Partition(const std::vector<std::string>& one,
                        const std::vector<std::string>& other) {
  for (const std::string& a : one)
    for (const std::string& b : other) {
      network_.Cut(a, b);
      network_.Cut(b, a);
    }
}

void Cluster::Heal() {
  network_.MendAll();
}

void Cluster::Submit(const std::string& region, Command command, Replica::Done done,
                     std::int64_t wait_ms) {
  Node& node = nodes_.at(region);
  Check(node.replica != nullptr, "only a region that is up hears callers");
  node.scheduler->Post([&node, command = std::move(command), done = Counted(node, std::move(done)),
                        wait_ms] { node.replica->SubmitOrWait(command, wait_ms, done); });
}

void Cluster::ChangePolicy(const std::string& region, RoutePolicy policy, Replica::Done done) {
  Node& node = nodes_.at(region);
  Check(node.replica != nullptr, "only a region that is up hears administrators");
  node.scheduler->Post([&node, policy = std::move(policy), done = Counted(node, std::move(done))] {
    node.replica->ChangePolicy(policy, policy.mismatch() == REJECT, done);
  });
}

void Cluster::SubmitToHome(const std::string& region, Command command, Replica::Done done) {
  Node& node = nodes_.at(region);
  Check(node.replica != nullptr, "only a region that is up hears callers");
  node.scheduler->Post(
      [&node, command = std::move(command), done = Counted(node, std::move(done))] {
        const std::string home = node.homes->Of(command.mutation());
        if (home.empty()) return node.replica->Submit(command, done);
        ForwardRequest request;
        request.set_command(command.SerializeAsString());
        node.gossip->Forward(home, std::move(request), kForwardMs, done);
      });
}

void Cluster::AskForEvents(const std::string& region, EventRequest request, Replica::Done done) {
  Node& node = nodes_.at(region);
  node.scheduler->Post(
      [&node, region, request = std::move(request), done = Counted(node, std::move(done))] {
        if (const std::string home = node.homes->OfRun(request.run_id()); !home.empty()) {
          ForwardRequest question;
          *question.mutable_events() = request;
          return node.gossip->Forward(home, std::move(question), kForwardMs, done);
        }
        const std::string here(IsStrictRunId(request.run_id()) ? kStrictRegion : region);
        const auto read = [request, here, done](Tables& tables) {
          Answer answer;
          const auto page = PageOfEvents(tables, request, here);
          answer.kind = page ? Answer::Kind::kDone : Answer::Kind::kNotFound;
          if (page) answer.outcome.set_body(page->SerializeAsString());
          done(answer);
        };
        node.replica->ReadAbout(request.run_id(), read, [done] { done(Unavailable(false)); });
      });
}

void Cluster::Read(const std::string& region, const std::string& run_id,
                   std::function<void(Tables&)> read, std::function<void()> failed) {
  Node& node = nodes_.at(region);
  ++node.callers;
  node.scheduler->Post([&node, run_id, read = std::move(read), failed = std::move(failed)] {
    const auto shown = [&node, read](Tables& tables) {
      --node.callers;
      read(tables);
    };
    const auto refused = [&node, failed] {
      --node.callers;
      failed();
    };
    node.replica->ReadAbout(run_id, shown, refused);
  });
}

bool Cluster::Converged() {
  const Vector* first = nullptr;
  return std::all_of(nodes_.begin(), nodes_.end(), [&first](const auto& entry) {
    if (!entry.second.gossip) return true;
    const Vector& applied = entry.second.gossip->journal().applied();
    if (!first) first = &applied;
    return applied == *first;
  });
}

Command BeginCommand(const std::string& tenant, const std::string& key, std::uint64_t body,
                     std::uint64_t lease_ms, std::uint64_t retention_ms) {
  Command command;
  Begin& begin = *command.mutable_begin();
  SlotRef& slot = *begin.mutable_slot();
  slot.set_surface(CLAIM);
  slot.set_tenant(tenant);
  slot.set_endpoint(kEndpoint);
  slot.set_key(key);
  slot.set_hash(SlotKey(CLAIM, tenant, kEndpoint, key));
  begin.set_actor("caller");
  begin.set_fingerprint(std::string(Bytes(Sha256(keys::Big64(body)))));
  begin.set_fingerprint_version(1);
  begin.set_lease_ms(lease_ms);
  begin.set_retention_ms(retention_ms);
  return command;
}

}  // namespace once
