// Which regions know that their [[strict]] rules are not those in force, and that no leader stays
// whose rules a majority does not share.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulator/checks.h"
#include "simulator/cluster.h"
#include "simulator/history.h"

namespace once {

/// It goes by what was given to regions, not by what they say: a region knows that its rules differ
/// from when it follows a leader with others, or starts with others than last time, until it hears
/// a leader with the same or leads itself.
class RulesWatch {
 public:
  /// Both outlive it.
  RulesWatch(Cluster& cluster, History& history) : cluster_(cluster), history_(history) {}

  /// The region's process started.
  void Restarted(const std::string& region, std::int64_t now_ms);
  /// The region did something.
  void Observe(const std::string& region, std::int64_t now_ms);
  /// To be called every quarter of a second.
  Violations Look(std::int64_t now_ms);

 private:
  struct Watched {
    std::uint64_t rules = 0;             // of this start
    std::vector<std::uint64_t> earlier;  // of the last start as a member, and those since
    bool up = false;                     // this one has begun, as a member
    std::uint32_t life = 0;              // of its directory
    bool differs = false;
    std::size_t difference = 0;  // in the history
  };
  void Note(const std::string& region, Watched& watched, bool differs, std::int64_t now_ms);
  /// Most voters follow it, and have rules in common that are not its own.
  bool IsOutvoted(const std::string& leader, const Raft& raft) const;

  Cluster& cluster_;
  History& history_;
  std::map<std::string, Watched> watched_;           // by region
  std::map<std::uint64_t, std::uint64_t> in_force_;  // by term
  std::map<std::string, std::int64_t> outvoted_ms_;  // since when
};

}  // namespace once
