// Reads on their way through a leader: before they are answered, a majority must have confirmed, in
// a round begun after the read came, that this is still the leader (section 6.4).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "consensus/raft_work.h"

namespace once {

class ReadQueue {
 public:
  void Add(std::string context) { waiting_.push_back(std::move(context)); }
  bool HasWaiting() const { return !waiting_.empty(); }
  /// Those waiting share a new round; they will read at `commit`, which must hold everything
  /// acknowledged so far.
  void StartRound(std::uint64_t commit);
  /// The latest round begun; rises over the leader's whole life.
  std::uint64_t round() const { return round_; }
  /// The latest one in which reads were confirmed.
  std::uint64_t confirmed() const { return confirmed_; }
  /// A majority has answered in `round`: the reads of it and of earlier rounds.
  std::vector<RaftRead> Confirm(std::uint64_t round);
  /// Leadership is lost: all reads, unconfirmed.
  std::vector<RaftRead> Abandon();

 private:
  struct Asked {
    std::uint64_t round = 0;
    RaftRead read;
  };

  std::uint64_t round_ = 0;
  std::uint64_t confirmed_ = 0;
  std::vector<std::string> waiting_;
  std::deque<Asked> asked_;  // by round
};

}  // namespace once
