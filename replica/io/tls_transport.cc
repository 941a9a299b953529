#include "replica/io/tls_transport.h"

#include <openssl/rand.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <utility>

#include "replica/env/check.h"
#include "replica/env/random.h"
#include "replica/io/log.h"

namespace once {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kBatchBytes = 64 * 1024;  // small messages share a write of about so much
constexpr std::size_t kHandshakesMax = 64;      // accepted connections that are nobody yet
constexpr std::int64_t kAcceptRetryMs = 100;

std::uint64_t SystemSeed() {
  std::uint64_t seed = 0;
  Check(RAND_bytes(reinterpret_cast<unsigned char*>(&seed), sizeof seed) == 1,
        "the system gives random bytes");
  return seed;
}

}  // namespace

class TlsTransport::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& context, TlsTransportOptions options, std::unique_ptr<PeerTls> tls)
      : context_(context),
        options_(std::move(options)),
        tls_(std::move(tls)),
        acceptor_(context),
        accept_retry_(context),
        random_(SystemSeed()) {
    for (const PeerAddress& peer : options_.peers)
      links_.try_emplace(peer.region, context, peer.region, *ParseAddress(peer.address));
  }
  ~Impl();

  error_code Listen(const tcp::endpoint& endpoint);
  void Start();
  void Send(const std::string& to, std::string message);
  std::size_t Unsent(const std::string& to) const;
  bool SetCut(std::set<std::string> regions);
  PeerCounters CountersOf(const std::string& region) const;

  Receive receive_;
  PeerTls& tls() { return *tls_; }
  std::uint64_t strangers() const { return strangers_; }
  std::uint16_t port() const { return port_; }

 private:
  // What we say to one peer.
  struct Link {
    Link(asio::io_context& context, std::string to, NetworkAddress address)
        : region(std::move(to)), where(std::move(address)), retry(context) {}

    const std::string region;
    const NetworkAddress where;
    asio::steady_timer retry;
    std::shared_ptr<PeerConnection> connection;
    std::deque<std::string> queue;  // oldest first
    std::size_t queued_bytes = 0;
    std::size_t writing_bytes = 0;
    std::int64_t retry_ms = 0;
    std::string trouble;  // why it is down, as last logged
    PeerCounters counters;
  };
  // What one peer says to us, or may: no region before it is admitted.
  struct Incoming {
    std::shared_ptr<PeerConnection> connection;
    std::string region;
  };

  void Dial(Link& link);
  void Up(Link& link);
  void Down(Link& link, PeerConnection::End end, const std::string& why);
  void Pump(Link& link);
  void Accept();
  void Take(tcp::socket socket);
  std::string Admit(std::uint64_t id, const std::string& region);
  void Welcome(std::uint64_t id);
  void Deliver(std::uint64_t id, std::string message);
  void Leave(std::uint64_t id, PeerConnection::End end, const std::string& why);

  asio::io_context& context_;
  const TlsTransportOptions options_;
  const std::unique_ptr<PeerTls> tls_;
  tcp::acceptor acceptor_;
  asio::steady_timer accept_retry_;
  Random random_;
  std::map<std::string, Link> links_;
  std::map<std::uint64_t, Incoming> incoming_;
  std::uint64_t last_id_ = 0;
  std::set<std::string> cut_;
  std::uint64_t strangers_ = 0;
  std::chrono::steady_clock::time_point next_refusal_logged_{};
  std::uint16_t port_ = 0;
};

TlsTransport::Impl::~Impl() {
  for (auto& [name, link] : links_)
    if (link.connection) link.connection->Close();
  for (auto& [id, incoming] : incoming_) incoming.connection->Close();
}

error_code TlsTransport::Impl::Listen(const tcp::endpoint& endpoint) {
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  return error;
}

void TlsTransport::Impl::Start() {
  Accept();
  for (auto& [name, link] : links_) Dial(link);
}

void TlsTransport::Impl::Send(const std::string& to, std::string message) {
  const auto at = links_.find(to);
  if (at == links_.end() || cut_.count(to)) return;
  Link& link = at->second;
  if (message.size() > options_.connection.message_bytes_max) {
    ++link.counters.oversize;
    return;
  }
  // An empty message is what the wire calls a heartbeat: it says nothing.
  if (message.empty()) return;
  const std::size_t waiting = link.queued_bytes + link.writing_bytes;
  if (waiting > 0 && waiting + message.size() > options_.queue_bytes_max) {
    ++link.counters.dropped;
    return;
  }
  link.queued_bytes += message.size();
  link.queue.push_back(std::move(message));
  Pump(link);
}

std::size_t TlsTransport::Impl::Unsent(const std::string& to) const {
  const auto at = links_.find(to);
  return at == links_.end() ? 0 : at->second.queued_bytes + at->second.writing_bytes;
}

bool TlsTransport::Impl::SetCut(std::set<std::string> regions) {
  if (!options_.fault_injection) return false;
  cut_ = std::move(regions);
  for (const std::string& region : cut_) {
    const auto at = links_.find(region);
    if (at == links_.end()) continue;
    at->second.queue.clear();
    at->second.queued_bytes = 0;
  }
  return true;
}

TlsTransport::PeerCounters TlsTransport::Impl::CountersOf(const std::string& region) const {
  const auto at = links_.find(region);
  return at == links_.end() ? PeerCounters{} : at->second.counters;
}

void TlsTransport::Impl::Dial(Link& link) {
  PeerConnection::Events events;
  events.admit = [&link](const std::string& region) {
    return region == link.region
               ? ""
               : "dialled " + link.region + ", found " + (region.empty() ? "no region" : region);
  };
  events.up = [this, &link] { Up(link); };
  events.message = [](const std::string&) {};  // peers speak on connections they dialled
  events.written = [this, &link] {
    link.counters.sent_bytes += std::exchange(link.writing_bytes, 0);
    Pump(link);
  };
  events.ended = [this, &link](PeerConnection::End end, const std::string& why) {
    Down(link, end, why);
  };
  link.connection = DialPeer(context_, *tls_, link.where.host, link.where.port, options_.connection,
                             std::move(events));
  if (!link.connection) Down(link, PeerConnection::End::kLost, "out of memory");
}

void TlsTransport::Impl::Up(Link& link) {
  Log(LogLevel::kInfo, "peer-connected", {{"peer", link.region}});
  link.counters.connected = true;
  ++link.counters.connects;
  link.retry_ms = 0;
  link.trouble.clear();
  Pump(link);
}

void TlsTransport::Impl::Down(Link& link, PeerConnection::End end, const std::string& why) {
  link.connection.reset();
  link.counters.connected = false;
  link.writing_bytes = 0;
  if (end == PeerConnection::End::kRefused) ++link.counters.refused;
  if (end == PeerConnection::End::kOversize) ++link.counters.oversize;
  if (why != link.trouble) {
    Log(LogLevel::kWarn, "peer-unreachable", {{"peer", link.region}, {"reason", why}});
    link.trouble = why;
  }
  link.retry_ms = std::clamp(link.retry_ms * 2, options_.retry_ms_min, options_.retry_ms_max);
  const auto half = static_cast<std::uint64_t>(link.retry_ms) / 2;
  link.retry.expires_after(std::chrono::milliseconds(half + random_.Below(half + 1)));
  link.retry.async_wait([weak = weak_from_this(), &link](const error_code& error) {
    const auto self = weak.lock();
    if (self && !error && !link.connection) self->Dial(link);
  });
}

void TlsTransport::Impl::Pump(Link& link) {
  if (!link.counters.connected || link.queue.empty() || !link.connection->idle()) return;
  std::string batch;
  while (!link.queue.empty() && batch.size() < kBatchBytes) {
    AppendFrame(batch, link.queue.front());
    link.queued_bytes -= link.queue.front().size();
    link.queue.pop_front();
  }
  link.writing_bytes = batch.size();
  link.connection->Write(std::move(batch));
}

void TlsTransport::Impl::Accept() {
  acceptor_.async_accept([weak = weak_from_this()](const error_code& error, tcp::socket socket) {
    const auto self = weak.lock();
    if (!self) return;
    if (!error) self->Take(std::move(socket));
    if (!error || error == asio::error::connection_aborted) return self->Accept();
    // Out of descriptors, most likely: later, instead of a busy loop.
    self->accept_retry_.expires_after(std::chrono::milliseconds(kAcceptRetryMs));
    self->accept_retry_.async_wait([weak](const error_code&) {
      if (const auto alive = weak.lock()) alive->Accept();
    });
  });
}

void TlsTransport::Impl::Take(tcp::socket socket) {
  const auto strangers = std::count_if(incoming_.begin(), incoming_.end(),
                                       [](const auto& one) { return one.second.region.empty(); });
  if (static_cast<std::size_t>(strangers) >= kHandshakesMax) return;
  error_code error;
  const bool ip_v6 = socket.local_endpoint(error).address().is_v6();
  const int fd = error ? -1 : socket.release(error);
  if (error) return;
  const std::uint64_t id = ++last_id_;
  PeerConnection::Events events;
  events.admit = [this, id](const std::string& region) { return Admit(id, region); };
  events.up = [this, id] { Welcome(id); };
  events.message = [this, id](std::string message) { Deliver(id, std::move(message)); };
  events.written = [] {};
  events.ended = [this, id](PeerConnection::End end, const std::string& why) {
    Leave(id, end, why);
  };
  auto connection = AcceptPeer(context_, *tls_, fd, ip_v6, options_.connection, std::move(events));
  if (connection) incoming_[id].connection = std::move(connection);
}

std::string TlsTransport::Impl::Admit(std::uint64_t id, const std::string& region) {
  if (!links_.count(region)) return (region.empty() ? "no region" : region) + " is no peer";
  incoming_.at(id).region = region;
  return "";
}

// A peer speaks on one connection: whoever dials again has given up the one before, even when its
// end has not been heard here. Only once it is up: a peer that was led here by mistake looks at our
// certificate and leaves.
void TlsTransport::Impl::Welcome(std::uint64_t id) {
  const std::string& region = incoming_.at(id).region;
  for (auto at = incoming_.begin(); at != incoming_.end();) {
    const bool older = at->first < id && at->second.region == region;
    if (older) at->second.connection->Close();
    at = older ? incoming_.erase(at) : std::next(at);
  }
  // Who dials us is there: no need to wait out the backoff.
  Link& link = links_.at(region);
  if (link.connection) return;
  link.retry.cancel();
  Dial(link);
}

void TlsTransport::Impl::Deliver(std::uint64_t id, std::string message) {
  // A copy: the receiver may do anything, also end this connection.
  const std::string region = incoming_.at(id).region;
  links_.at(region).counters.received_bytes += message.size();
  if (receive_ && !cut_.count(region)) receive_(region, std::move(message));
}

void TlsTransport::Impl::Leave(std::uint64_t id, PeerConnection::End end, const std::string& why) {
  const std::string region = incoming_.at(id).region;
  incoming_.erase(id);
  if (end == PeerConnection::End::kOversize) ++links_.at(region).counters.oversize;
  if (end == PeerConnection::End::kLost) return;
  if (region.empty()) ++strangers_;
  // Anyone can knock: the log grows by one line a second at most.
  const auto now = std::chrono::steady_clock::now();
  if (now < next_refusal_logged_) return;
  next_refusal_logged_ = now + std::chrono::seconds(1);
  Log(LogLevel::kWarn, "peer-refused", {{"peer", region}, {"reason", why}});
}

TlsTransport::TlsTransport(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

TlsTransport::~TlsTransport() = default;

std::variant<std::unique_ptr<TlsTransport>, std::string> TlsTransport::Open(
    asio::io_context& context, TlsTransportOptions options) {
  const auto listen = ParseAddress(options.listen);
  if (!listen) return "not ADDRESS:PORT: " + options.listen;
  bool loopback = IsLoopback(listen->host);
  for (const PeerAddress& peer : options.peers) {
    const auto address = ParseAddress(peer.address);
    if (!address) return "not ADDRESS:PORT: " + peer.address;
    loopback = loopback && IsLoopback(address->host);
  }
  if (options.fault_injection && !loopback)
    return "fault_injection is for development clusters whose addresses are all loopback";
  error_code error;
  const auto address = asio::ip::make_address(listen->host, error);
  if (error) return "not an IP address: " + listen->host;
  auto tls = PeerTls::Load(options.files, options.region);
  if (auto* why = std::get_if<std::string>(&tls)) return std::move(*why);
  const std::string where = options.listen;
  auto impl = std::make_shared<Impl>(context, std::move(options),
                                     std::move(std::get<std::unique_ptr<PeerTls>>(tls)));
  error = impl->Listen({address, listen->port});
  if (error) return "cannot listen on " + where + ": " + error.message();
  return std::unique_ptr<TlsTransport>(new TlsTransport(std::move(impl)));
}

void TlsTransport::Start() {
  impl_->Start();
}
void TlsTransport::Send(const std::string& to_region, std::string message) {
  impl_->Send(to_region, std::move(message));
}
std::size_t TlsTransport::Unsent(const std::string& to_region) const {
  return impl_->Unsent(to_region);
}
void TlsTransport::SetReceiver(Receive receive) {
  impl_->receive_ = std::move(receive);
}
std::optional<std::string> TlsTransport::Reload() {
  return impl_->tls().Reload();
}
bool TlsTransport::SetCut(std::set<std::string> regions) {
  return impl_->SetCut(std::move(regions));
}
TlsTransport::PeerCounters TlsTransport::CountersOf(const std::string& region) const {
  return impl_->CountersOf(region);
}
std::uint64_t TlsTransport::strangers() const {
  return impl_->strangers();
}
std::uint16_t TlsTransport::port() const {
  return impl_->port();
}

}  // namespace once
