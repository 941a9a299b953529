#include "replica/io/node.h"

#include <openssl/rand.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <filesystem>

#include "replica/api/api.h"
#include "replica/env/check.h"
#include "replica/gossip/gossip.h"
#include "replica/io/asio_scheduler.h"
#include "replica/io/data_directory.h"
#include "replica/io/http_listener.h"
#include "replica/io/key_file.h"
#include "replica/io/log.h"
#include "replica/io/open_files.h"
#include "replica/io/peer_tls.h"
#include "replica/io/region_key.h"
#include "replica/io/rocks_store.h"
#include "replica/io/tls.h"
#include "replica/io/tls_transport.h"
#include "replica/replica.h"
#include "replica/strict/shared_transport.h"
#include "replica/strict/strict_group.h"

namespace once {
namespace {

RegionKeyOptions RegionKeyFiles(const Config& config) {
  RegionKeyOptions options{
      config.region, config.peer_key_file, config.peer_ca_file, config.peer_certificates_dir, {}};
  for (const PeerAddress& peer : config.peers) options.peers.push_back(peer.region);
  return options;
}

PeerTlsFiles PeerFiles(const Config& config) {
  return {config.peer_certificate_file, config.peer_key_file, config.peer_ca_file};
}

// Of certificates and keys: what is in force is replaced only when all of the new ones are good.
std::string WrongKeys(const Config& config) {
  if (!config.tls_certificate_file.empty()) {
    const auto tls = TlsContext::Load(config.tls_certificate_file, config.tls_key_file);
    if (const auto* error = std::get_if<std::string>(&tls)) return *error;
  }
  if (config.peers.empty()) return "";
  const auto key = RegionKey::Load(RegionKeyFiles(config));
  if (const auto* error = std::get_if<std::string>(&key)) return *error;
  const auto peers = PeerTls::Load(PeerFiles(config), config.region);
  const auto* error = std::get_if<std::string>(&peers);
  return error ? *error : "";
}

std::string Unreadable(const KvUnreadable& error) {
  return std::string("the store cannot be read: ") + error.what();
}

constexpr std::int64_t kReadinessIntervalMs = 500;
constexpr std::int64_t kSilenceMsMin = 3'600'000;  // however short the grace

// Random words from the system's generator, drawn in blocks: a call per word would cost more than
// the command it is for.
class SystemEntropy {
 public:
  std::uint64_t operator()() {
    if (next_ == words_.size()) {
      Check(RAND_bytes(reinterpret_cast<unsigned char*>(words_.data()), sizeof words_) == 1,
            "the system gives random bytes");
      next_ = 0;
    }
    return words_[next_++];
  }

 private:
  std::array<std::uint64_t, 256> words_{};
  std::size_t next_ = words_.size();
};

class Node {
 public:
  explicit Node(NodeOptions options)
      : options_(std::move(options)),
        config_(options_.config),
        scheduler_(context_),
        signals_(context_, SIGINT, SIGTERM),
        hangup_(context_, SIGHUP),
        metrics_(config_.limits.metric_label_values_max) {}

  /// Empty, or why not.
  std::string Open();
  void Run(const std::function<void(std::uint16_t)>& ready);
  bool failed() const { return failed_; }

 private:
  std::string OpenStore();
  std::string OpenApi();
  std::string OpenCluster();
  void ConnectCluster();
  std::string Listen();
  std::string Reload();
  void Stop();
  void AwaitHangup();
  void WatchReadiness(const std::string& last_reason);
  void Finish();

  NodeOptions options_;
  const Config config_;
  boost::asio::io_context context_{1};
  AsioScheduler scheduler_;
  boost::asio::signal_set signals_;
  boost::asio::signal_set hangup_;
  Metrics metrics_;
  std::optional<DataDirectory> directory_;
  std::unique_ptr<RocksStore> store_;
  // Only in a cluster.
  std::unique_ptr<RegionKey> region_key_;
  std::unique_ptr<TlsTransport> transport_;
  std::unique_ptr<SharedTransport> shared_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<Gossip> gossip_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<TlsContext> tls_;
  std::unique_ptr<HttpListener> listener_;
  int stopping_parts_ = 0;
  bool failed_ = false;
};

std::string Node::OpenStore() {
  auto opened = options_.adopt_data ? DataDirectory::Adopt(config_.data_dir, config_.region)
                                    : DataDirectory::Open(config_.data_dir, config_.region);
  if (auto* error = std::get_if<std::string>(&opened)) return *error;
  directory_ = std::move(std::get<DataDirectory>(opened));
  RocksStore::Options store_options;
  store_options.create = directory_->empty();
  store_options.inline_sync_max_us = config_.inline_sync_us_max;
  store_options.space_reserve_bytes = config_.free_bytes_min;
  store_options.on_sync = [this](std::int64_t sync_us) { metrics_.Sync(sync_us); };
  auto store = RocksStore::Open(config_.data_dir + "/store", store_options, scheduler_);
  if (auto* error = std::get_if<std::string>(&store)) return *error;
  store_ = std::move(std::get<std::unique_ptr<RocksStore>>(store));
  try {
    return directory_->Match(*store_);
  } catch (const KvUnreadable& error) {
    return Unreadable(error);
  }
}

std::string Node::OpenApi() {
  try {
    replica_ =
        std::make_unique<Replica>(World{scheduler_, *store_, SystemEntropy()}, config_, metrics_);
  } catch (const KvUnreadable& error) {
    return Unreadable(error);
  }
  auto credentials = LoadCredentials(config_.credentials_file);
  if (auto* error = std::get_if<std::string>(&credentials)) return *error;
  api_ = std::make_unique<Api>(
      *replica_, config_, std::get<Credentials>(std::move(credentials)), metrics_,
      [](Severity severity, std::string_view event, std::string_view detail) {
        const bool warning = severity == Severity::kWarning;
        Log(warning ? LogLevel::kWarn : LogLevel::kInfo, event, {{"detail", detail}});
      });
  api_->SetReload([this] { return Reload(); });
  return "";
}

// Before the replica starts, so that nothing it does escapes the journal; nothing is said before.
std::string Node::OpenCluster() {
  const bool was_strict = replica_->WasStrict();
  const bool strict = !config_.strict_routes.empty() || was_strict || replica_->WasMember();
  if (config_.peers.empty())
    return was_strict ? "this directory has been a member of a strict group, which needs [[peer]]"
                      : "";
  GossipOptions gossip;
  gossip.region = config_.region;
  gossip.skew_bound_ms = config_.clock_skew_bound_ms;
  gossip.grace_ms = config_.forget_grace_ms;
  gossip.silence_ms_max = std::max(config_.forget_grace_ms, kSilenceMsMin);
  for (const PeerAddress& peer : config_.peers) gossip.peers.push_back(peer.region);
  auto key = RegionKey::Load(RegionKeyFiles(config_));
  if (auto* error = std::get_if<std::string>(&key)) return *error;
  region_key_ = std::move(std::get<std::unique_ptr<RegionKey>>(key));
  TlsTransportOptions options;
  options.region = config_.region;
  options.listen = config_.peer_listen;
  options.peers = config_.peers;
  options.files = PeerFiles(config_);
  options.fault_injection = config_.fault_injection;
  auto transport = TlsTransport::Open(context_, std::move(options));
  if (auto* error = std::get_if<std::string>(&transport)) return *error;
  transport_ = std::move(std::get<std::unique_ptr<TlsTransport>>(transport));
  // Milliseconds above, randomness below: no start reuses another's number, whatever the clock
  // does.
  const std::uint64_t incarnation = static_cast<std::uint64_t>(scheduler_.WallMillis())
                                        << kIncarnationShift |
                                    SystemEntropy()() >> (64 - kIncarnationShift);
  shared_ = std::make_unique<SharedTransport>(*transport_);
  try {
    if (strict) {
      const std::string error = replica_->Join(shared_->strict(), directory_->identity(), config_);
      if (!error.empty()) return error;
      Log(LogLevel::kInfo, "strict-member",
          {{"name", MemberName(config_.region, directory_->identity())}});
    }
    gossip_ = std::make_unique<Gossip>(
        *replica_, shared_->gossip(), std::move(gossip), incarnation,
        [this](const std::string& bytes) { return region_key_->Sign(bytes); },
        [this](const std::string& origin, const std::string& bytes, const std::string& signature) {
          return region_key_->Verify(origin, bytes, signature);
        });
  } catch (const KvUnreadable& error) {
    return Unreadable(error);
  }
  ConnectCluster();
  return "";
}

void Node::ConnectCluster() {
  gossip_->on_lag = [this](const std::string& peer, std::int64_t lag_ms) {
    metrics_.Lag(peer, lag_ms);
  };
  gossip_->on_refused = [](const std::string& peer) {
    Log(LogLevel::kWarn, "peer-message-refused",
        {{"peer", peer},
         {"reason", "a message of it was wrong: nothing of it is taken for a while"}});
  };
  gossip_->on_future = [](const std::string& peer, std::int64_t ahead_ms) {
    Log(LogLevel::kWarn, "peer-clock-ahead", {{"peer", peer}, {"ms", std::to_string(ahead_ms)}});
  };
  api_->SetForward([this](const std::string& region, ForwardRequest request, Replica::Done done) {
    gossip_->Forward(region, std::move(request), kForwardMs, std::move(done));
  });
  api_->SetClusterGauges([this](Metrics::Gauges& gauges) {
    for (const PeerAddress& peer : config_.peers) {
      const Gossip::PeerState state = gossip_->StateOf(peer.region);
      const TlsTransport::PeerCounters link = transport_->CountersOf(peer.region);
      gauges.peers.push_back({.name = peer.region,
                              .partition_seconds = state.partition_seconds,
                              .unacknowledged = state.unacknowledged,
                              .queued_bytes = transport_->Unsent(peer.region),
                              .refused = state.refused,
                              .ignored = state.ignored,
                              .repaired = state.repaired,
                              .dropped = link.dropped,
                              .oversize = link.oversize,
                              .connects = link.connects,
                              .refused_certificates = link.refused,
                              .sent_bytes = link.sent_bytes,
                              .received_bytes = link.received_bytes});
    }
    gauges.peer_strangers = transport_->strangers();
  });
  if (config_.fault_injection)
    api_->SetCut([this](const std::vector<std::string>& regions) {
      transport_->SetCut({regions.begin(), regions.end()});
    });
}

std::string Node::Listen() {
  if (!config_.tls_certificate_file.empty()) {
    auto tls = TlsContext::Load(config_.tls_certificate_file, config_.tls_key_file);
    if (auto* error = std::get_if<std::string>(&tls)) return *error;
    tls_ = std::move(std::get<std::unique_ptr<TlsContext>>(tls));
  }
  if (!tls_ && !IsLoopback(config_.listen_address))
    Log(LogLevel::kWarn, "plain-http",
        {{"address", config_.listen_address},
         {"reason", "without [tls] the keys of callers cross the network in the clear"}});
  auto listener = HttpListener::Open(
      context_, {config_.listen_address, config_.listen_port, config_.limits, tls_.get()}, *api_);
  if (auto* error = std::get_if<std::string>(&listener)) return *error;
  listener_ = std::move(std::get<std::unique_ptr<HttpListener>>(listener));
  api_->SetListenerGauges([this](Metrics::Gauges& gauges) {
    const HttpCounters counters = listener_->counters();
    gauges.connections = counters.open;
    gauges.accepted_connections = counters.accepted;
    gauges.refused_connections = counters.refused;
    gauges.bad_requests = counters.bad_requests;
    gauges.request_timeouts = counters.timeouts;
  });
  return "";
}

std::string Node::Open() {
  for (const auto step : {&Node::OpenStore, &Node::OpenApi, &Node::OpenCluster})
    if (std::string error = (this->*step)(); !error.empty()) return error;
  return "";
}

void Node::Run(const std::function<void(std::uint16_t)>& ready) {
  signals_.async_wait([this](boost::system::error_code error, int) {
    if (!error) Stop();
  });
  AwaitHangup();
  replica_->Start([this, ready](bool started) {
    if (stopping_parts_ > 0) return;  // told to stop before it was ready
    // A store that did not fail has no space: the node cannot make its boot durable.
    const std::string why = store_->failure().empty() ? "the disk is full" : store_->failure();
    std::string error =
        started ? directory_->Confirm() : "the store refused the first write: " + why;
    if (error.empty()) error = Listen();
    if (!error.empty()) {
      Log(LogLevel::kError, "start-failed", {{"reason", error}});
      failed_ = true;
      return context_.stop();
    }
    if (gossip_) {
      transport_->Start();
      gossip_->Start();
    }
    ready(listener_->port());
    WatchReadiness("");
  });
  context_.run();
  if (store_->Close() != KvStatus::kOk) failed_ = true;
}

std::string Node::Reload() {
  Config fresh = config_;
  if (!options_.config_path.empty()) {
    auto loaded = LoadConfig(options_.config_path);
    if (auto* error = std::get_if<std::string>(&loaded)) return *error;
    fresh = std::get<Config>(std::move(loaded));
  }
  // At the start a file that is not there yet means no keys; now it would lock everybody out.
  if (!config_.credentials_file.empty() && !std::filesystem::exists(config_.credentials_file))
    return "there is no file " + config_.credentials_file;
  auto credentials = LoadCredentials(config_.credentials_file);
  if (auto* error = std::get_if<std::string>(&credentials)) return *error;
  if (std::string error = WrongKeys(config_); !error.empty()) return error;
  if (tls_)
    if (const auto error = tls_->Reload()) return *error;
  if (region_key_)
    if (const auto error = region_key_->Reload()) return *error;
  if (transport_)
    if (const auto error = transport_->Reload()) return *error;
  api_->Reload(std::get<Credentials>(std::move(credentials)), fresh.policies);
  Log(LogLevel::kInfo, "reloaded");
  return "";
}

void Node::AwaitHangup() {
  hangup_.async_wait([this](boost::system::error_code error, int) {
    if (error) return;
    if (const std::string why = Reload(); !why.empty())
      Log(LogLevel::kError, "reload-failed", {{"reason", why}});
    AwaitHangup();
  });
}

// A failed sync, a full disk or an unsafe clock is said once when it begins and once when it ends.
void Node::WatchReadiness(const std::string& last_reason) {
  scheduler_.After(kReadinessIntervalMs, [this, last_reason] {
    if (stopping_parts_ > 0) return;
    const std::string reason = replica_->Unready();
    if (reason != last_reason && !reason.empty())
      Log(LogLevel::kError, "not-ready", {{"reason", reason}});
    if (reason != last_reason && reason.empty()) Log(LogLevel::kInfo, "ready-again");
    WatchReadiness(reason);
  });
}

// No new connections; answers that are under way go out; what was applied becomes durable. Claims
// that are still pending stay on disk with their lease.
void Node::Stop() {
  Log(LogLevel::kInfo, "stopping");
  api_->CloseStreams();
  stopping_parts_ = listener_ ? 2 : 1;
  replica_->Stop([this] { Finish(); });
  if (listener_) listener_->Stop([this] { Finish(); });
}

void Node::Finish() {
  if (--stopping_parts_ > 0) return;
  Log(LogLevel::kInfo, "stopped");
  context_.stop();
}

/// Callers must not take the files that the store and the peers need. Empty, or why not to start.
std::string FitConnections(Limits& limits) {
  const std::size_t fit = RaiseOpenFiles(limits.connections_max);
  if (fit == 0)
    return "the limit on open files leaves none for connections: it must be above " +
           std::to_string(kOwnFilesMax);
  if (fit < limits.connections_max)
    Log(LogLevel::kWarn, "fewer-connections",
        {{"reason", "the limit on open files"}, {"connections_max", std::to_string(fit)}});
  limits.connections_max = fit;
  return "";
}

}  // namespace

std::string CheckFiles(const Config& config) {
  const auto credentials = LoadCredentials(config.credentials_file);
  if (const auto* error = std::get_if<std::string>(&credentials)) return *error;
  return WrongKeys(config);
}

int RunNode(NodeOptions options, const std::function<void(std::uint16_t)>& ready) {
  // A peer that closed its socket is an error code of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  if (const std::string error = FitConnections(options.config.limits); !error.empty()) {
    Log(LogLevel::kError, "start-failed", {{"reason", error}});
    return 1;
  }
  Node node(std::move(options));
  if (const std::string error = node.Open(); !error.empty()) {
    Log(LogLevel::kError, "start-failed", {{"reason", error}});
    return 1;
  }
  node.Run(ready);
  return node.failed() ? 1 : 0;
}

}  // namespace once
