// A history sorted by run, and what can be known about runs from it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replica/ledger/records.pb.h"
#include "simulator/history.h"

namespace once {

struct StoryOfRun {
  std::string home;                     // a region; "*": the strict group
  std::string tenant;                   // whose it is; empty: nobody heard
  std::int64_t admitted_ms = -1;        // not before this; -1: not known
  std::int64_t known_ms = -1;           // somebody was told by then that it was admitted
  bool lost = false;                    // and that may have gone with a directory
  std::vector<const Operation*> calls;  // about it, in the order of the history
};

/// By run id. Points into the history.
std::map<std::string, StoryOfRun> StoriesOfRuns(const History& history);

/// The run's home may have forgotten by then what it knew: its directory was replaced.
bool MayHaveForgotten(const History& history, const std::string& home, std::int64_t by_ms);

/// A command about a run that changes it, or asks to.
inline bool IsRunCommand(const Operation& operation) {
  return operation.kind == Operation::Kind::kCancel ||
         operation.kind == Operation::Kind::kApprove ||
         operation.kind == Operation::Kind::kInterrupt;
}
/// It was carried out, now or before, and this is what came out of it.
inline bool IsCarriedOut(const Operation& operation) {
  return operation.answer == Operation::Answer::kDone ||
         operation.answer == Operation::Answer::kReplay;
}

/// Its record says that a caller cancelled it, in words that a caller did say to it.
bool IsCancelledByCaller(const History& history, const Run& run);

/// The status of the run as the answer shows it: "running", "completed", "cancelled said-7" with
/// the reason where a read shows it. Empty: it shows none.
std::string StatusShown(const Operation& operation);

}  // namespace once
