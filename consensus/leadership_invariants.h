// What only a leader may do, what of it only one whose term has committed, and that it takes a
// majority each time: checked by looking at members after every step of a simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "consensus/raft.h"

namespace once {

/// Counts for itself, without the arithmetic of quorum.h:
///   - election quorum: who leads was voted for, in its term, by more than half of the voters;
///   - commit quorum: what a leader has decided is on the disks of more than half of the voters;
///   - read quorum: a read is confirmed when more than half of the voters have answered its round;
///   - leader quorum: a leader has heard more than half of the voters within two election timeouts;
///   - first commit: rounds of reads begin, and members change, when the leader's term has
///     committed;
///   - one change: members change when the last change is decided;
///   - caught up: who is made a voter has the log, but for a few entries, and knows it is a member;
///   - voters lead: who stands, leads, or is handed leadership is a voter;
///   - leader duties: only who leads keeps track of others.
/// It remembers all votes.
class LeadershipInvariants {
 public:
  /// What `member` breaks, as a sentence; empty if nothing. To be called after every step, and
  /// after every call by which an operator changes members.
  std::string Observe(const Raft& member);
  /// `member` crashed.
  void Restarted(const std::string& member) { seen_.erase(member); }

 private:
  // A member as it was last seen.
  struct Seen {
    RaftRole role = RaftRole::kFollower;
    std::uint64_t term = 0;
    std::uint64_t commit = 0;
    std::uint64_t membership = 0;  // index
    std::uint64_t round = 0;       // of reads
    std::uint64_t confirmed = 0;   // round of reads
  };
  using Counts = std::function<bool(const std::string& voter)>;

  static std::string ObserveStanding(const Raft& member);
  static std::string ObserveReads(const Raft& member, const Seen& seen);
  static std::string ObserveMembers(const Raft& member, const Seen& seen);
  std::string ObserveLeader(const Raft& member, const Seen& seen) const;
  /// Of the voters, or where they have just changed, of those before.
  static bool MostVoters(const Raft& member, const Seen& seen, const Counts& counts);

  std::map<std::string, Seen> seen_;
  std::map<std::uint64_t, std::map<std::string, std::string>> votes_;  // by term and voter
};

}  // namespace once
