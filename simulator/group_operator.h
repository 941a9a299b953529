// Who looks after the strict group: replaces members whose directories are lost, and takes members
// out and in again when a fault wants that.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "replica/env/random.h"
#include "simulator/cluster.h"

namespace once {

/// Every region's present directory is to be a voter, nobody else a member. It asks whoever says to
/// lead, perhaps a leader that is deposed and does not know it, for every step that is missing, and
/// does not wait for one before it asks for the next: what must wait, the group refuses.
class GroupOperator {
 public:
  /// `cluster` outlives it, and it every task of the cluster's scheduler. Of `voters_min` voters
  /// none is dismissed.
  GroupOperator(Cluster& cluster, std::uint64_t seed, int voters_min)
      : cluster_(cluster), random_(seed), voters_min_(voters_min) {}

  void Start();
  /// What it does twice a second.
  void Look();
  /// The same, of a region that leads.
  void LookAt(const std::string& leader);

  /// The region's member goes, until Readmit.
  void Dismiss(const std::string& region) { dismissed_.insert(region); }
  void Readmit(const std::string& region) { dismissed_.erase(region); }
  const std::set<std::string>& dismissed() const { return dismissed_; }
  /// A leader is asked to hand over to the region's member.
  void Transfer(const std::string& region);

  bool Leads(const std::string& region);
  /// The region that leads, as far as it knows; one of them at random; empty: none.
  std::string Leader();
  /// Empty, or how the group differs from what it should be, by `leader`'s word.
  std::string Missing(const std::string& leader);
  /// How often a leader was asked for a change while another one was not decided yet, and refused.
  std::uint64_t refused() const { return refused_; }

 private:
  /// A name in the membership that is no present directory.
  bool IsLost(const std::string& member);
  /// The same, or a dismissed one.
  bool IsUnwanted(const std::string& member);

  /// From somebody, in some direction.
  bool IsCutOff(const std::string& region);
  void Ask(const std::string& leader, const MemberChange& change);

  Cluster& cluster_;
  Random random_;
  const int voters_min_;
  std::set<std::string> dismissed_;
  std::uint64_t refused_ = 0;
};

}  // namespace once
