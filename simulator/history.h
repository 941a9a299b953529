// What happened in a run: the operations of callers, the faults, and what followed. Checkers judge
// it, the report shows it, history.jsonl keeps it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace once {

/// One call of one caller and the answer it got. Times are milliseconds since the start of the run.
struct Operation {
  enum class Kind {
    kBegin,
    kSettle,
    kLookUp,
    kRenew,   // of a lease, by its owner
    kPolicy,  // an administrator says how a tenant's differing bodies are met
    // About a run, or a webhook, and not about a key.
    kCreate,  // without a key; with one it is a begin
    kCancel,
    kApprove,    // or reject, at its node
    kInterrupt,  // the same by its token
    kDelete,
    kGetRun,
    kGetEvents,
  };
  enum class Answer {
    kNone,  // the caller never heard: the process died, or it gave up
    kExecute,
    kReplay,
    kInFlight,
    kMismatch,
    kDone,
    kStaleFence,
    kNotFound,
    kFull,
    kUnavailable,
  };
  enum class Mismatch { kReject, kObserve, kOff };
  std::uint64_t id = 0;
  Kind kind = Kind::kBegin;
  std::string region;
  std::string tenant;
  std::string key;         // empty: of a policy
  std::uint64_t body = 0;  // what the request says; equal bodies have equal fingerprints
  std::int64_t invoked_ms = 0;
  std::int64_t returned_ms = -1;  // -1 with kNone
  Answer answer = Answer::kNone;
  std::string run_id;
  std::uint64_t fence = 0;
  std::string winner;  // a settle by the last owner of a claim that had given way: to this run
  std::uint32_t status = 0;  // of a settled or replayed outcome
  std::string answer_body;
  std::uint64_t retention_ms = 0;         // asked for by a begin; 0: never expires, or not known
  std::uint64_t lease_ms = 0;             // asked for by a begin or a renewal
  std::int64_t wait_ms = 0;               // how long a begin waits while somebody is on it
  Mismatch mismatch = Mismatch::kReject;  // in force at a begin, or asked for by a policy
  std::uint32_t life = 0;                 // how often the region's directory had been lost by then
  bool strict = false;                    // the slot is replicated by the strict group
  bool refused = false;                   // kUnavailable, and told that nothing was done
  /// Acknowledged, and gone: with a directory before a peer had it, or evicted.
  bool lost = false;
  bool room = false;  // there seemed to be some in the store, all the time
};

/// A stretch of time in which something was wrong on purpose.
struct Fault {
  enum class Kind {
    kCut,
    kClog,
    kCrash,
    kPause,
    kSlowDisk,
    kSyncFailure,
    kDiskFull,
    kClockJump,
    kLossyLinks,
    kEmptied,
    kRestored,
    kTransfer,
    kDismissed,
    kCloned,
    kSteppedStarts,
    kStopped
  };
  Kind kind = Kind::kCut;
  std::int64_t from_ms = 0;
  std::int64_t to_ms = -1;  // -1: not over yet
  std::string region;       // the one concerned; for kCut and kClog the sending side
  std::string other;        // kCut and kClog: the receiving side
  std::int64_t amount = 0;  // clock jump or step, delay or age of a backup in ms, loss in percent
};

/// The region came back with another directory.
inline bool IsReplacement(const Fault& fault) {
  switch (fault.kind) {
    case Fault::Kind::kEmptied:
    case Fault::Kind::kRestored:
    case Fault::Kind::kCloned:
    case Fault::Kind::kSteppedStarts:
      return true;
    default:
      return false;
  }
}

/// While it lasts the region's process is down, or ends.
inline bool EndsProcess(const Fault& fault) {
  return fault.kind == Fault::Kind::kCrash || fault.kind == Fault::Kind::kStopped ||
         IsReplacement(fault);
}

/// A run that lost, as its home region recorded it.
struct LostRun {
  std::int64_t detected_ms = 0;
  std::string region;
  std::string tenant;
  std::string key;
  std::string winner;
  std::string loser;
  std::string region_pair;
  bool payload_divergent = false;
  bool loser_had_completed = false;
};

/// Time from a frame's making to a peer's acknowledgement.
struct LagSample {
  std::int64_t at_ms = 0;
  std::string from;
  std::string to;
  std::int64_t lag_ms = 0;
};

/// How long a key differed between regions: since it was first seen to, or since the last fault
/// before they agreed ended, whichever is later.
struct Convergence {
  std::string key;
  std::int64_t took_ms = 0;
};

/// A region began to lead the strict group.
struct Leadership {
  std::int64_t at_ms = 0;
  std::string region;
  std::uint64_t term = 0;
};

/// A region began to receive a snapshot of the strict group's state, piece by piece.
struct SnapshotTrip {
  std::string region;
  std::uint64_t index = 0;     // of the log, where the state is of
  std::int64_t begun_ms = 0;   // the first piece was there
  std::int64_t there_ms = -1;  // it had all of it, or as much by other means; -1: not in this life
};

/// A region's node was started, after the beginning.
struct Start {
  std::string region;
  std::uint32_t life = 0;  // how often its directory had been lost
  std::int64_t at_ms = 0;
};

/// A region's rules were not the leader's, or its clock was off, and it knew: for so long.
struct Difference {
  std::string region;
  bool of_clock = false;  // else of rules
  std::int64_t from_ms = 0;
  std::int64_t to_ms = -1;  // -1: to the end
};

/// A start with the wall clock behind by more than the bound had heard no leader of the group yet.
struct Untold {
  std::string region;
  std::int64_t from_ms = 0;
  std::int64_t to_ms = -1;  // -1: to the end
};

/// A region was told to stop, as an operator does.
struct Stopped {
  std::string region;
  std::int64_t started_ms = 0;
  std::int64_t told_ms = 0;
  std::int64_t ended_ms = -1;  // by itself; -1: it died before
  bool killed = false;         // as it had not ended in time
  bool led_on = false;         // to its end, though others could have taken over
};

struct Violation {
  std::string checker;
  std::string what;
  std::int64_t at_ms = 0;
};

struct History {
  std::uint64_t seed = 0;
  std::string scenario;
  bool strict = false;  // there is a strict group
  std::vector<std::string> regions;
  std::vector<std::pair<std::string, std::string>> options;  // as drawn, for people
  std::int64_t safety_ms = 0;  // when the safety phase ended and the healing began
  std::int64_t end_ms = 0;
  std::int64_t lag_bound_ms = 0;  // advertised
  std::vector<Operation> operations;
  std::vector<Fault> faults;
  std::vector<Start> starts;
  std::vector<LostRun> lost;
  std::vector<Leadership> leaders;  // of the strict group, terms rising
  std::vector<SnapshotTrip> snapshots;
  std::vector<Difference> differences;
  std::vector<Untold> untold;
  std::vector<Stopped> stops;
  std::uint64_t changes_refused = 0;  // of members, because another one was not decided yet
  std::vector<LagSample> lags;
  std::vector<Convergence> convergences;
  std::vector<Violation> violations;
  std::uint64_t messages = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t trace_hash = 0;
  std::size_t violations_left_out = 0;  // found after those that are kept
};

}  // namespace once
