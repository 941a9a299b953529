// Real nodes whose tenant acme is strict, and what an operator sees of their group.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/system/cluster_process.h"

namespace once {

/// The group as one node sees it.
struct GroupView {
  std::string member;
  std::string role;    // empty: the node could not be asked
  std::string leader;  // a member
  std::uint64_t term = 0;
  std::uint64_t index = 0;
  std::uint64_t applied = 0;
  std::vector<std::string> voters;
};

class StrictCluster {
 public:
  explicit StrictCluster(std::unique_ptr<RegionNetwork> network = MakeLoopbackNetwork(),
                         bool fault_injection = true);

  ClusterProcess& nodes() { return nodes_; }
  Regions regions() const { return nodes_.regions(); }
  Regions OthersThan(const std::string& region) const;

  /// Starts all nodes, founds the group of them, and waits until it has a leader.
  testing::AssertionResult Start();

  GroupView View(const std::string& region);
  /// Who says that it leads, in the highest term; empty: none of them.
  std::string LeaderAmong(const Regions& regions);
  std::string AwaitLeaderAmong(const Regions& regions);
  /// All of them follow the same leader, and have applied all that the first of them then had.
  bool AwaitAgreement(const Regions& regions);

  /// POST /v1/cluster of that region; 202 when it was begun.
  HttpResult Change(const std::string& region, const std::string& change);
  /// The same on whoever leads, again until it is accepted.
  bool ChangeByLeader(const std::string& kind, const std::string& member);

 private:
  ClusterProcess nodes_;
};

}  // namespace once
