// The network between regions: mutual TLS, one connection per direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "replica/config.h"
#include "replica/env/transport.h"
#include "replica/io/peer_connection.h"
#include "replica/io/peer_tls.h"

namespace boost::asio {
class io_context;
}

namespace once {

struct TlsTransportOptions {
  std::string region;
  std::string listen;  // ADDRESS:PORT, the address an IP literal; port 0: the kernel chooses
  std::vector<PeerAddress> peers;
  PeerTlsFiles files;
  PeerConnectionOptions connection;
  std::size_t queue_bytes_max = 1u << 20;  // waiting for one peer
  std::int64_t retry_ms_min = 100;         // after a lost connection; doubles up to the maximum,
  std::int64_t retry_ms_max = 5000;        // and each wait is half to all of it, at random
  bool fault_injection = false;            // allows SetCut; loopback addresses only
};

/// Each node listens and dials every peer; it speaks on the connection it dialled and hears on
/// those it accepted. All on the one thread that runs the io_context, which must outlive it.
///
/// Who is at the other end is what its certificate says (see peer_tls.h): signed by the authority,
/// and the region that was dialled, or for accepted connections one of the peers. Nothing is read
/// or written before that is settled, and there is no other way in: no older TLS, no plaintext.
///
/// What a message goes through:
///   - It waits for its peer's connection in a queue of at most queue_bytes_max (one message always
///     fits). What finds the queue full is dropped: gossip says it again. So one slow or dead peer
///     costs that much memory, and the others nothing.
///   - What was being written when a connection broke is lost. The rest waits for the next one.
///   - Longer than message_bytes_max: dropped here, and a peer that sends it is cut off.
/// A peer that is silent for silence_ms, whatever the reason, is dialled anew.
class TlsTransport final : public Transport {
 public:
  /// Reads the certificates and binds, or says why not.
  static std::variant<std::unique_ptr<TlsTransport>, std::string> Open(
      boost::asio::io_context& context, TlsTransportOptions options);
  /// Closes every connection at once.
  ~TlsTransport() override;
  TlsTransport(const TlsTransport&) = delete;
  TlsTransport& operator=(const TlsTransport&) = delete;

  /// Accepts and dials. Call it once.
  void Start();

  void Send(const std::string& to_region, std::string message) override;
  std::size_t Unsent(const std::string& to_region) const override;
  void SetReceiver(Receive receive) override;

  /// Reads the certificate files again, for connections from now on. On an error (returned) nothing
  /// changes.
  std::optional<std::string> Reload();

  /// Until the next call nothing is sent to or taken from these regions; connections stay. False,
  /// and nothing changes, without fault_injection.
  bool SetCut(std::set<std::string> regions);

  struct PeerCounters {
    bool connected = false;      // we can speak to it
    std::uint64_t connects = 0;  // so many times; the first is not a reconnect
    std::uint64_t refused = 0;   // dialled, and a certificate was not good enough, here or there
    std::uint64_t oversize = 0;  // messages beyond the bound, in either direction
    std::uint64_t dropped = 0;   // messages for which there was no room
    std::uint64_t sent_bytes = 0;
    std::uint64_t received_bytes = 0;
  };
  /// Zeros for a region that is not a peer.
  PeerCounters CountersOf(const std::string& region) const;
  /// Accepted connections that proved to be no peer.
  std::uint64_t strangers() const;
  std::uint16_t port() const;

 private:
  class Impl;
  explicit TlsTransport(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace once
