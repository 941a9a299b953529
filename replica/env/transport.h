// The seam of the network between regions.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace once {

/// Two implementations: TlsTransport (mutual TLS) and SimulatedNetwork. Messages may be lost,
/// delayed, duplicated or reordered; one that arrives is whole, and its sender is who it says: the
/// transport knows the peer's region by its certificate, not by the message.
class Transport {
 public:
  using Receive = std::function<void(const std::string& from_region, std::string message)>;

  virtual ~Transport() = default;

  /// Never blocks and never reports: what matters is acknowledged by the peer itself.
  virtual void Send(const std::string& to_region, std::string message) = 0;
  /// Bytes that Send took and the network has not: the sender's measure for holding back.
  virtual std::size_t Unsent(const std::string& to_region) const = 0;
  /// Called on the replica's thread for each message.
  virtual void SetReceiver(Receive receive) = 0;
};

}  // namespace once
