// Regions in network namespaces of their own, joined by a bridge and cut by packet filters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/system/region_network.h"

namespace once {

/// The namespaces have no names: they are held by this object's descriptors and by the processes in
/// them, so nothing is left behind, whatever ends the test. Needs root, iproute2 and nftables.
class NamespaceNetwork final : public RegionNetwork {
 public:
  /// Throws std::runtime_error with the reason when this machine does not allow it.
  explicit NamespaceNetwork(const std::vector<std::string>& regions);
  ~NamespaceNetwork() override;
  NamespaceNetwork(const NamespaceNetwork&) = delete;
  NamespaceNetwork& operator=(const NamespaceNetwork&) = delete;

  std::string HostOf(const std::string& region) const override;
  std::shared_ptr<void> Enter(const std::string& region) const override;

  /// `region` takes no packet from `peer` any more; the sender is not told.
  void DropFrom(const std::string& region, const std::string& peer);
  void DropNothing();
  /// What is sent to `region` arrives at that rate only ("1mbit"), by whoever it is.
  void LimitTo(const std::string& region, const std::string& rate);
  void LimitNothing(const std::string& region);

 private:
  void Attach(const std::string& region);
  void Close();

  int bridge_ = -1;
  std::map<std::string, int> regions_;
  std::map<std::string, std::string> hosts_;
};

}  // namespace once
