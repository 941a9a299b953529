#include "replica/io/peer_connection.h"

#include <netinet/tcp.h>
#include <unistd.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <utility>

namespace once {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kHeadBytes = 4;
constexpr std::size_t kReadBytesMax = 64 * 1024;

class TlsPeerConnection final : public PeerConnection,
                                public std::enable_shared_from_this<TlsPeerConnection> {
 public:
  TlsPeerConnection(asio::io_context& context, tcp::socket socket, ssl_st* state,
                    const PeerConnectionOptions& options, Events events)
      : stream_(std::move(socket), state),
        resolver_(context),
        timer_(context),
        options_(options),
        events_(std::move(events)),
        heard_(Clock::now()) {}

  void Dial(const std::string& host, std::uint16_t port);
  void Accept() {
    AwaitHandshake();
    Handshake(asio::ssl::stream_base::server);
  }

  void Write(std::string frames) override {
    if (waiting_.empty())
      waiting_ = std::move(frames);
    else
      waiting_ += frames;
    Flush();
  }
  bool idle() const override { return sending_.empty() && waiting_.empty(); }
  void Close() override;

 private:
  template <typename Endpoints>
  void Connect(const Endpoints& endpoints);
  void Handshake(asio::ssl::stream_base::handshake_type side);
  void Admit();
  void AwaitHandshake();
  void AwaitBeat();
  void ReadHead();
  void ReadMessage(std::size_t bytes);
  void Flush();
  void Finish(End end, const std::string& why);
  void Fail(const error_code& error) {
    Finish(error.category() == asio::error::get_ssl_category() ? End::kRefused : End::kLost,
           error.message());
  }
  // A completion condition that reads everything and notes each arrival: a long message on a slow
  // link is not silence.
  auto NotingArrival() {
    return [this](const error_code& error, std::size_t) {
      heard_ = Clock::now();
      return error ? 0 : kReadBytesMax;
    };
  }

  asio::ssl::stream<tcp::socket> stream_;
  tcp::resolver resolver_;
  asio::steady_timer timer_;
  const PeerConnectionOptions options_;
  const Events events_;
  Clock::time_point heard_;
  std::array<unsigned char, kHeadBytes> head_{};
  std::string message_;
  std::string sending_, waiting_;
  bool up_ = false;
  bool closed_ = false;
};

void TlsPeerConnection::Dial(const std::string& host, std::uint16_t port) {
  AwaitHandshake();
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) return Connect(std::array{tcp::endpoint(address, port)});
  resolver_.async_resolve(
      host, std::to_string(port),
      [self = shared_from_this()](const error_code& failed, const tcp::resolver::results_type& to) {
        if (self->closed_) return;
        if (failed) return self->Fail(failed);
        self->Connect(to);
      });
}

template <typename Endpoints>
void TlsPeerConnection::Connect(const Endpoints& endpoints) {
  asio::async_connect(stream_.next_layer(), endpoints,
                      [self = shared_from_this()](const error_code& error, const tcp::endpoint&) {
                        if (self->closed_) return;
                        if (error) return self->Fail(error);
                        self->Handshake(asio::ssl::stream_base::client);
                      });
}

void TlsPeerConnection::Handshake(asio::ssl::stream_base::handshake_type side) {
  tcp::socket& socket = stream_.next_layer();
  error_code error;
  socket.set_option(tcp::no_delay(true), error);
  // The kernel gives up on bytes that nobody acknowledges, also when we are the only one to talk.
  const int unacknowledged_ms = static_cast<int>(options_.silence_ms);
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms,
               sizeof unacknowledged_ms);
  stream_.async_handshake(side, [self = shared_from_this()](const error_code& failed) {
    if (self->closed_) return;
    if (failed) return self->Fail(failed);
    self->Admit();
  });
}

void TlsPeerConnection::Admit() {
  const std::string refusal = events_.admit(PeerRegion(stream_.native_handle()));
  if (closed_) return;
  if (!refusal.empty()) return Finish(End::kRefused, refusal);
  AppendFrame(waiting_, "");
  Flush();
  ReadHead();
}

void TlsPeerConnection::AwaitHandshake() {
  timer_.expires_after(milliseconds(options_.handshake_ms));
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || self->closed_ || self->up_) return;
    self->Finish(End::kLost, "no handshake in time");
  });
}

void TlsPeerConnection::AwaitBeat() {
  timer_.expires_after(milliseconds(options_.heartbeat_ms));
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || self->closed_) return;
    const auto now = Clock::now();
    // When it was this node that slept, what the other end said meanwhile is still to be read.
    if (now - self->timer_.expiry() > milliseconds(self->options_.heartbeat_ms)) self->heard_ = now;
    if (now - self->heard_ > milliseconds(self->options_.silence_ms))
      return self->Finish(End::kLost, "silent");
    if (self->idle()) {
      AppendFrame(self->waiting_, "");
      self->Flush();
    }
    self->AwaitBeat();
  });
}

void TlsPeerConnection::ReadHead() {
  asio::async_read(stream_, asio::buffer(head_), NotingArrival(),
                   [self = shared_from_this()](const error_code& error, std::size_t) {
                     if (self->closed_) return;
                     if (error) return self->Fail(error);
                     if (!self->up_) {
                       self->up_ = true;
                       self->AwaitBeat();
                       self->events_.up();
                       if (self->closed_) return;
                     }
                     std::size_t bytes = 0;
                     for (const unsigned char byte : self->head_) bytes = bytes << 8 | byte;
                     if (bytes == 0) return self->ReadHead();
                     if (bytes > self->options_.message_bytes_max)
                       return self->Finish(End::kOversize, "a message beyond the bound");
                     self->ReadMessage(bytes);
                   });
}

void TlsPeerConnection::ReadMessage(std::size_t bytes) {
  message_.resize(bytes);
  asio::async_read(stream_, asio::buffer(message_), NotingArrival(),
                   [self = shared_from_this()](const error_code& error, std::size_t) {
                     if (self->closed_) return;
                     if (error) return self->Fail(error);
                     self->events_.message(std::exchange(self->message_, {}));
                     if (!self->closed_) self->ReadHead();
                   });
}

void TlsPeerConnection::Flush() {
  if (closed_ || !sending_.empty() || waiting_.empty()) return;
  sending_.swap(waiting_);
  asio::async_write(stream_, asio::buffer(sending_),
                    [self = shared_from_this()](const error_code& error, std::size_t) {
                      if (self->closed_) return;
                      if (error) return self->Fail(error);
                      self->sending_.clear();
                      self->Flush();
                      if (self->idle()) self->events_.written();
                    });
}

void TlsPeerConnection::Close() {
  closed_ = true;
  timer_.cancel();
  resolver_.cancel();
  error_code ignored;
  stream_.next_layer().close(ignored);
}

void TlsPeerConnection::Finish(End end, const std::string& why) {
  if (closed_) return;
  Close();
  events_.ended(end, why);
}

}  // namespace

void AppendFrame(std::string& out, const std::string& message) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(message.size() >> shift & 0xff));
  out += message;
}

std::shared_ptr<PeerConnection> DialPeer(asio::io_context& context, PeerTls& tls,
                                         const std::string& host, std::uint16_t port,
                                         const PeerConnectionOptions& options,
                                         PeerConnection::Events events) {
  ssl_st* const state = tls.NewConnection();
  if (state == nullptr) return nullptr;
  auto connection = std::make_shared<TlsPeerConnection>(context, tcp::socket(context), state,
                                                        options, std::move(events));
  connection->Dial(host, port);
  return connection;
}

std::shared_ptr<PeerConnection> AcceptPeer(asio::io_context& context, PeerTls& tls, int fd,
                                           bool ip_v6, const PeerConnectionOptions& options,
                                           PeerConnection::Events events) {
  tcp::socket socket(context);
  error_code error;
  socket.assign(ip_v6 ? tcp::v6() : tcp::v4(), fd, error);
  if (error) {
    ::close(fd);
    return nullptr;
  }
  ssl_st* const state = tls.NewConnection();
  if (state == nullptr) return nullptr;
  auto connection = std::make_shared<TlsPeerConnection>(context, std::move(socket), state, options,
                                                        std::move(events));
  connection->Accept();
  return connection;
}

}  // namespace once
