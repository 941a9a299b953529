// What Raft promises about all members together (section 3.2, figure 3.2), checked by looking at
// them after every step of a simulation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "consensus/leadership_invariants.h"
#include "consensus/raft.h"

namespace once {

/// Shown one member after each of its steps, it compares it with what it was (terms and commit
/// never fall, a leader only appends) and with all that any member ever showed:
///   election safety        a term has at most one leader
///   log matching           an index and term stand for one entry with one predecessor
///   leader completeness    a leader's log holds whatever was committed before its term or in it
///   state machine safety   an index is committed with one term only
///   configuration overlap  a membership differs from the one before it by at most one voter
///   snapshot membership    the snapshots up to an index say one membership
/// and what leadership_invariants.h adds.
/// It remembers everything, so its memory grows with the number of entries ever made.
class RaftInvariants {
 public:
  /// What `member` breaks, as a sentence; empty if nothing. To be called after every step.
  std::string Observe(const Raft& member);
  /// `member` crashed: of what it showed, only what was on disk must come back.
  void Restarted(const std::string& member) {
    seen_.erase(member);
    leadership_.Restarted(member);
  }
  /// The highest index that any member ever knew to be committed.
  std::uint64_t committed() const { return committed_.empty() ? 0 : committed_.rbegin()->first; }

 private:
  // A member as it was last seen.
  struct Seen {
    RaftRole role = RaftRole::kFollower;
    std::uint64_t term = 0;
    std::uint64_t commit = 0;
    std::uint64_t snapshot = 0;  // index
    std::uint64_t complete = 0;  // as a leader, its log was compared with `committed_` up to here
    std::map<std::uint64_t, RaftEntryPtr> log;
  };
  struct Known {
    RaftEntryPtr entry;
    std::uint64_t prev_term = 0;
  };
  struct Committed {
    std::uint64_t entry_term = 0;
    std::uint64_t in_term = 0;  // of the first member seen to have committed it
  };

  std::string ObserveSince(const Raft& member, const Seen& seen) const;
  std::string ObserveElection(const Raft& member);
  std::string ObserveLog(const Raft& member, Seen& seen);
  std::string ObserveEntry(const Raft& member, std::uint64_t index);
  std::string ObserveSnapshot(const Raft& member, Seen& seen);
  std::string ObserveCommitted(const Raft& member, Seen& seen);
  std::string ObserveCompleteness(const Raft& member, Seen& seen) const;

  std::map<std::string, Seen> seen_;
  std::map<std::uint64_t, std::string> leaders_;                      // by term
  std::map<std::pair<std::uint64_t, std::uint64_t>, Known> entries_;  // by index and term
  std::map<std::uint64_t, Committed> committed_;                      // by index
  std::map<std::uint64_t, std::string> snapshots_;                    // memberships, by index
  LeadershipInvariants leadership_;
};

}  // namespace once
