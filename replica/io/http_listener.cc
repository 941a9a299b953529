#include "replica/io/http_listener.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "replica/io/http_session.h"

namespace once {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// Whom a connection counts for. Who has one IPv6 address has its whole /64.
std::string AddressKey(asio::ip::address address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  if (address.is_v4()) {
    const auto bytes = address.to_v4().to_bytes();
    return {bytes.begin(), bytes.end()};
  }
  const auto bytes = address.to_v6().to_bytes();
  return {bytes.begin(), bytes.begin() + 8};
}

}  // namespace

class HttpListener::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& context, const ListenOptions& options, HttpService& service)
      : context_(context),
        acceptor_(context),
        sweep_(context),
        stop_(context),
        tls_(options.tls),
        connections_(std::make_shared<HttpConnections>(options.limits, service)) {}

  error_code Listen(const tcp::endpoint& endpoint) {
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    // Or Asio would wait for the next connection in place of one that is gone, also in TakeWaiting.
    if (!error) acceptor_.set_option(asio::socket_base::enable_connection_aborted(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.non_blocking(true, error);
    if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    if (!error) port_ = acceptor_.local_endpoint(error).port();
    return error;
  }

  void Run() {
    Sweep();
    Accept();
  }

  void Stop(std::function<void()> done) {
    TakeWaiting();
    error_code ignored;
    acceptor_.close(ignored);
    connections_->Finish();
    stop_.expires_after(std::chrono::milliseconds(connections_->limits.stop_deadline_ms));
    stop_.async_wait([connections = connections_](error_code error) {
      if (!error) connections->Abort();
    });
    const auto finished = [self = shared_from_this(), done = std::move(done)] {
      self->stop_.cancel();
      asio::post(self->context_, done);
    };
    // After what the event loop holds: it may have accepted a connection that nobody has seen yet.
    asio::post(context_,
               [connections = connections_, finished] { connections->WhenEmpty(finished); });
  }

  void Close() {
    error_code ignored;
    acceptor_.close(ignored);
    sweep_.cancel();
    closed_ = true;
    connections_->Abort();
  }

  std::uint16_t port() const { return port_; }
  HttpCounters counters() const { return connections_->counters; }

 private:
  void Accept() {
    accepting_ = true;
    acceptor_.async_accept([self = shared_from_this()](error_code error, tcp::socket socket) {
      self->accepting_ = false;
      if (!error && !self->closed_) self->Take(std::move(socket));
      if (!self->acceptor_.is_open()) return;
      // Out of descriptors, most likely: the next sweep tries again, instead of a busy loop.
      if (error && error != asio::error::connection_aborted) return;
      self->Accept();
    });
  }

  /// The kernel has made these connections, and would reset them when the acceptor is closed.
  void TakeWaiting() {
    error_code error;
    while (!error || error == asio::error::connection_aborted) {
      tcp::socket socket = acceptor_.accept(error);
      if (!error) Take(std::move(socket));
    }
  }

  void Take(tcp::socket socket) {
    error_code error;
    const tcp::endpoint peer = socket.remote_endpoint(error);
    if (error) return;
    std::string address = AddressKey(peer.address());
    const auto admission = connections_->Admit(address);
    if (admission == HttpConnections::Admission::kDrop) return;
    const int fd = socket.release(error);
    if (error) return;
    const auto session = MakeHttpSession(context_, fd, peer.address().is_v6(), connections_, tls_);
    if (!session) return;
    connections_->Add(session, std::move(address), admission);
    if (admission == HttpConnections::Admission::kServe)
      session->Start();
    else
      session->StartRefused();
  }

  void Sweep() {
    using std::chrono::duration_cast;
    connections_->Sweep(
        duration_cast<std::chrono::milliseconds>(
            std::chrono::steady_clock::now().time_since_epoch())
            .count(),
        duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
    if (!accepting_ && acceptor_.is_open()) Accept();
    sweep_.expires_after(std::chrono::milliseconds(HttpConnections::kSweepMs));
    sweep_.async_wait([self = shared_from_this()](error_code) {
      if (!self->closed_) self->Sweep();
    });
  }

  asio::io_context& context_;
  tcp::acceptor acceptor_;
  asio::steady_timer sweep_;
  asio::steady_timer stop_;
  TlsContext* const tls_;
  const std::shared_ptr<HttpConnections> connections_;
  std::uint16_t port_ = 0;
  bool accepting_ = false;
  bool closed_ = false;
};

HttpListener::HttpListener(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpListener::~HttpListener() {
  impl_->Close();
}

std::variant<std::unique_ptr<HttpListener>, std::string> HttpListener::Open(
    asio::io_context& context, ListenOptions options, HttpService& service) {
  error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) return "not an IP address: " + options.address;
  auto impl = std::make_shared<Impl>(context, options, service);
  error = impl->Listen({address, options.port});
  if (error)
    return "cannot listen on " + options.address + ":" + std::to_string(options.port) + ": " +
           error.message();
  impl->Run();
  return std::unique_ptr<HttpListener>(new HttpListener(std::move(impl)));
}

std::uint16_t HttpListener::port() const {
  return impl_->port();
}
HttpCounters HttpListener::counters() const {
  return impl_->counters();
}

void HttpListener::Stop(std::function<void()> done) {
  impl_->Stop(std::move(done));
}

}  // namespace once
