// A few regions in one process: transports on one io_context, relays between them, certificates.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replica/io/tls_transport.h"
#include "tests/io/certificates.h"
#include "tests/io/relay.h"
#include "tests/io/scratch_directory.h"

namespace once {

class Regions {
 public:
  Regions() { authority.Write(directory / "ca.crt"); }

  /// Opens a region with small timeouts; issues its certificate unless there is one. Empty, or why
  /// it did not open.
  std::string Open(const std::string& region, const std::vector<std::string>& peers,
                   const std::function<void(TlsTransportOptions&)>& adjust = {}) {
    if (!std::filesystem::exists(directory / (region + ".crt")))
      authority.IssueRegion(region, directory / region);
    TlsTransportOptions options;
    options.region = region;
    options.listen = "127.0.0.1:0";
    for (const std::string& peer : peers)
      options.peers.push_back({peer, "127.0.0.1:" + std::to_string(Link(region, peer).port())});
    options.files = {directory / (region + ".crt"), directory / (region + ".key"),
                     directory / "ca.crt"};
    options.connection.handshake_ms = 2000;
    options.connection.heartbeat_ms = 50;
    options.connection.silence_ms = 2000;
    options.retry_ms_min = 5;
    options.retry_ms_max = 20;
    if (adjust) adjust(options);
    auto opened = TlsTransport::Open(context, options);
    if (auto* error = std::get_if<std::string>(&opened)) return *error;
    auto& transport = nodes_[region] = std::move(std::get<0>(opened));
    transport->SetReceiver([this, region](const std::string& from, std::string message) {
      heard[{from, region}].push_back(std::move(message));
    });
    for (auto& [ends, relay] : links_)
      if (ends.second == region) relay->SetTarget(transport->port());
    transport->Start();
    return "";
  }
  void Close(const std::string& region) { nodes_.erase(region); }

  TlsTransport& operator[](const std::string& region) { return *nodes_.at(region); }
  /// The network from one region to another.
  Relay& Link(const std::string& from, const std::string& to) {
    auto& relay = links_[{from, to}];
    if (!relay) {
      relay = std::make_unique<Relay>(context);
      if (nodes_.count(to)) relay->SetTarget(nodes_.at(to)->port());
    }
    return *relay;
  }
  bool Connected(const std::string& from, const std::string& to) {
    return (*this)[from].CountersOf(to).connected;
  }
  std::vector<std::string>& Heard(const std::string& from, const std::string& at) {
    return heard[{from, at}];
  }
  /// Runs everything until `holds`; false when it does not come to that.
  bool Until(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      context.restart();
      context.run_one_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  ScratchDirectory directory;
  Authority authority;
  boost::asio::io_context context{1};
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> heard;  // (from, at)

 private:
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Relay>> links_;
  std::map<std::string, std::unique_ptr<TlsTransport>> nodes_;
};

}  // namespace once
