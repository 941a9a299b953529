// One TLS connection between two regions, dialled or accepted, from its first byte to its end.
//
// On the wire: messages, each behind its length (4 bytes, big-endian). Length 0 is a heartbeat:
// both ends send one as soon as they have admitted the other, and whenever they have had nothing to
// say for a while. So an end that hears nothing knows that the other is gone, however it went:
// crashed, stopped, or behind a network that swallows packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "replica/io/peer_tls.h"

namespace boost::asio {
class io_context;
}

namespace once {

struct PeerConnectionOptions {
  std::size_t message_bytes_max = 8u << 20;
  std::int64_t handshake_ms = 5000;  // from the first step to the other end's first heartbeat
  std::int64_t heartbeat_ms = 1000;
  std::int64_t silence_ms = 5000;  // not one byte for so long: the connection is dead
};

class PeerConnection {
 public:
  enum class End {
    kLost,      // the network or the other end
    kRefused,   // TLS did not come about, or a certificate was not good enough, here or there
    kOversize,  // a message longer than the bound
  };
  /// All run on the io_context's thread, none inside a call to this class.
  struct Events {
    /// The other end proved to be `region` (empty: no region at all). Empty to go on, or why not.
    std::function<std::string(const std::string& region)> admit;
    /// The other end has admitted us: what is written from now on can arrive.
    std::function<void()> up;
    std::function<void(std::string message)> message;
    /// The kernel has all that was written.
    std::function<void()> written;
    /// Once, last, unless Close was called.
    std::function<void(End end, const std::string& why)> ended;
  };

  virtual ~PeerConnection() = default;

  /// Sends framed messages (see AppendFrame) after those already given.
  virtual void Write(std::string frames) = 0;
  virtual bool idle() const = 0;
  /// Ends it at once; no event comes any more.
  virtual void Close() = 0;
};

void AppendFrame(std::string& out, const std::string& message);

/// Connects to `host` (a name or an IP literal). Null when memory is short.
std::shared_ptr<PeerConnection> DialPeer(boost::asio::io_context& context, PeerTls& tls,
                                         const std::string& host, std::uint16_t port,
                                         const PeerConnectionOptions& options,
                                         PeerConnection::Events events);
/// Takes over the accepted socket `fd`. Null (and the socket closed) when it is already broken.
std::shared_ptr<PeerConnection> AcceptPeer(boost::asio::io_context& context, PeerTls& tls, int fd,
                                           bool ip_v6, const PeerConnectionOptions& options,
                                           PeerConnection::Events events);

}  // namespace once
