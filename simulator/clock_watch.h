// When a region whose clock is off has been told so by whoever leads.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "replica/strict/strict.pb.h"
#include "simulator/cluster.h"
#include "simulator/history.h"

namespace once {

/// Shown the messages that the region gets, and what it does then. It has been told when a message
/// of its leader was sent by a clock that is ahead of its own by more than twice the bound, or says
/// that its own was so far ahead when it was heard in this start. From then on it knows, until it
/// is started again. Others than that region need not be shown.
class ClockWatch {
 public:
  /// Both outlive it.
  ClockWatch(Cluster& cluster, History& history) : cluster_(cluster), history_(history) {}

  void Restarted(const std::string& region, std::int64_t now_ms);
  /// A message is about to be heard.
  void Delivered(const std::string& from, const std::string& to, const std::string& message);
  /// The region has done something.
  void Observe(const std::string& region, std::int64_t now_ms);

 private:
  struct Watched {
    std::int64_t started_wall_ms = 0;
    std::map<std::string, bool> told;  // by whom
    bool knows = false;
    std::size_t difference = 0;  // in the history
  };
  bool Tells(const ClockWord& word, const std::string& to) const;

  Cluster& cluster_;
  History& history_;
  std::map<std::string, Watched> watched_;
};

/// What a region replayed by itself while its clock was behind and nobody had told it is not
/// promised to be right (docs/CONSISTENCY.md, Strict routes, Time): as if nobody had heard it.
void ExcuseUntold(History& history);

}  // namespace once
