// When a region whose clock is off has been told so by whoever leads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "replica/strict/strict.pb.h"
#include "simulator/cluster.h"
#include "simulator/history.h"

namespace once {

/// Shown the messages that the region gets, and what it does then. It has been told when a message
/// of its leader was sent by a clock that is ahead of its own by more than twice the bound, or says
/// that its own was so far ahead when it was heard in this start. From then on it knows, until it
/// is started again. Messages to regions that did not start with their clock off need not be shown.
/// One whose wall clock jumps by more than twice the bound while it runs knows at once, as long as
/// that lasts.
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
    std::int64_t started_offset_ms = 0;  // of its wall
    std::set<std::string> heard;         // in this start, whoever leads
    std::set<std::string> told;          // by whom
    std::optional<std::size_t> knows;    // places in the history
    std::optional<std::size_t> jumped;
    std::optional<std::size_t> untold;
  };
  bool Tells(const ClockWord& word, const std::string& to) const;
  std::int64_t OffsetMillis(const std::string& region);
  std::size_t NoteDifference(const std::string& region, std::int64_t now_ms);
  void ObserveJump(const std::string& region, Watched& watched, std::int64_t now_ms);

  Cluster& cluster_;
  History& history_;
  std::map<std::string, Watched> watched_;
};

/// What a region that started with its clock behind replayed by itself before it heard a leader is
/// not promised to be right (docs/CONSISTENCY.md, Strict routes, Time): as if nobody had heard it.
void ExcuseUntold(History& history);

}  // namespace once
