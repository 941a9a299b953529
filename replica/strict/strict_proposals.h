// The leader's part: what nodes ask for becomes entries of the log.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "replica/clock.h"
#include "replica/env/scheduler.h"
#include "replica/strict/engine.h"
#include "replica/strict/member_clocks.h"
#include "replica/strict/strict.pb.h"

namespace once {

/// Everything that arrives while the last entry is being decided is one entry, with one stamp: an
/// entry costs every member a sync and four messages, whatever is in it. Where deciding takes long,
/// because members are far away, one follows another after 2 ms. While the clock is unsafe, or
/// differs from others', nothing is proposed. What comes then, or is refused by the engine, is
/// dropped: who asked asks again. What comes before it is heard how the clock stands waits for half
/// a second. What nobody has waited for since longer than the clock bound is dropped too.
class StrictProposals {
 public:
  /// All outlive it.
  StrictProposals(Scheduler& scheduler, NodeClock& clock, Engine& engine,
                  std::function<std::uint64_t()> entropy, LedgerTerms terms);
  ~StrictProposals();

  /// One that this leader has proposed already is passed over.
  void Take(const StrictAsker& asker, const StrictRequest& request);
  /// The leader's own: expiry, steps of runs.
  void TakeOwn(const Command& command);
  /// How the node's clock stands among those of the voters.
  void Heed(ClockStanding clock);
  /// An entry was applied.
  void Decided();
  /// Another leads: what was proposed here may be lost, and may be asked for again.
  void Forget();

  std::uint64_t entries() const { return entries_; }    // proposed since the start
  std::uint64_t commands() const { return commands_; }  // in them

 private:
  struct Gathered {
    std::uint64_t request;  // 0: the leader's own
    std::string command;    // a StrictCommand, serialized: it goes into the entry as it is
    std::int64_t until_ms;  // 0: at any time
    bool outside;           // another region's caller waits for it
  };
  /// `asker`: null if it is the leader's own.
  void Add(const StrictAsker* asker, std::uint64_t request, const Command& command,
           std::int64_t until_ms);
  std::uint32_t PlaceOf(const StrictAsker& asker);
  void DropGathered();
  void ProposeSoon();
  void Gather(int rounds);
  void Propose();
  void Hold();
  bool ProposeSome();

  Scheduler& scheduler_;
  NodeClock& clock_;
  Engine& engine_;
  std::function<std::uint64_t()> entropy_;
  const LedgerTerms terms_;
  std::deque<Gathered> gathered_;
  std::vector<StrictAsker> askers_;             // whose requests are gathered, and the last ones
  std::unordered_set<std::uint64_t> proposed_;  // numbers of requests, the latest of them
  std::deque<std::uint64_t> proposed_order_;
  ClockStanding clock_standing_ = ClockStanding::kUnheard;
  bool gathering_ = false;       // the next entry comes in a few turns of the event loop
  bool pacing_ = false;          // it comes after kPaceMs at the latest
  bool holding_ = false;         // what is gathered, until it is heard how the clock stands
  std::uint64_t undecided_ = 0;  // entries
  std::uint64_t entries_ = 0;
  std::uint64_t commands_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace once
