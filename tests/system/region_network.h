// Where the regions of a test's cluster are on the network.
#pragma once

#include <memory>
#include <string>

namespace once {

class RegionNetwork {
 public:
  virtual ~RegionNetwork() = default;

  /// The IP address at which the other regions find `region`.
  virtual std::string HostOf(const std::string& region) const = 0;
  /// While it is held, this thread opens sockets and starts processes where `region` is.
  virtual std::shared_ptr<void> Enter(const std::string& region) const = 0;
};

/// Loopback addresses that no other test has, so that ports need not be searched for.
std::unique_ptr<RegionNetwork> MakeLoopbackNetwork();

}  // namespace once
