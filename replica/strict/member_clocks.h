// What the members of the strict group know of each other's clocks. The leader's stamps expire
// everybody's keys, so its clock must be one that a majority shares.
//
// Messages carry the sender's clock, and what it last heard of the receiver's beside its own clock
// at that moment. Travel makes a clock look behind, never ahead. So two things are proven, whatever
// the links do: a clock that looked ahead by more than the bound when it was heard, is; and one
// that looks ahead now is, so that this node's is behind. That a clock is not ahead is known only
// as well as the round trip was short.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "replica/clock.h"
#include "replica/strict/strict.pb.h"

namespace once {

enum class ClockStanding {
  kUnheard,  // too few have said something lately
  kAgrees,   // with a majority, counting itself
  kDiffers,  // from so many that no majority is left
};

/// Limits: a lead over the bound that is smaller than the round trip, 2 s at most, may pass. A
/// majority that is wrong together is right. Of two that differ neither has a majority.
class MemberClocks {
 public:
  /// `clock` outlives it. What was said of an earlier start on the directory does not count.
  MemberClocks(NodeClock& clock, std::int64_t bound_ms);

  /// For the next message to that region.
  ClockWord WordFor(const std::string& region);
  /// Nothing that came from there was said later. While a clock there was ahead by more than the
  /// bound, nobody knows, and anything counts.
  bool IsLatest(const std::string& region, const ClockWord& word);
  /// What came with a message from there. A sender that knows of no such thing is believed to
  /// agree.
  void Hear(const std::string& region, const ClockWord& word);

  /// How this node's clock stands among those of `regions`, its own and others.
  ClockStanding Among(const std::set<std::string>& regions);
  /// How it stands to that region's alone, by the last word of it.
  ClockStanding With(const std::string& region) const;

 private:
  struct Heard {
    std::int64_t latest_ms = 0;   // the highest of their clock
    std::int64_t theirs_ms = 0;   // their clock
    std::int64_t ours_ms = 0;     // then
    std::int64_t verdict_ms = 0;  // our clock that they speak of; 0: none yet
    bool differs = false;
  };
  void Judge(Heard& heard, std::int64_t verdict_ms, bool differs);

  NodeClock& clock_;
  const std::int64_t bound_ms_;
  const std::int64_t boot_ms_;
  std::map<std::string, Heard> heard_;  // by region
};

}  // namespace once
