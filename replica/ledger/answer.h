// What the ledger says to a command.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "conflict/claim.pb.h"
#include "replica/ledger/records.pb.h"

namespace once {

/// Time and chance, decided outside and the same on every replica that applies the command.
struct Stamp {
  std::int64_t now_ms = 0;
  std::array<std::uint64_t, 3> entropy{};
  /// What happened here until then, every other member has too: only that may be forgotten.
  std::int64_t covered_ms = std::numeric_limits<std::int64_t>::max();
};

struct Answer {
  enum class Kind {
    kExecute,     // the caller owns the claim: do it, then settle under `claim.fence()`
    kDone,        // the ledger did it: `outcome` is fresh
    kReplay,      // `outcome` is the stored answer of `claim`
    kInFlight,    // somebody is on it: ask again after retry_after_ms
    kMismatch,    // the key belongs to another request: `claim` names it
    kStaleFence,  // another owner took over, or the claim is settled: `claim` is its present state;
                  // if it gave way to another region's success, `winner` names that
    kNotFound,
    kFull,         // the size bound of the store: nothing was stored; with `more` the next try may
                   // find room
    kUnavailable,  // nothing can be promised now; whether it happened is unknown unless `refused`
    kCrowded,      // the slot holds kSlotClaimsMax claims: nothing was stored; one of them may have
                   // gone after retry_after_ms
  };
  Kind kind = Kind::kUnavailable;
  Claim claim;  // without its outcome
  Outcome outcome;
  std::string hash;  // slot of the claim
  std::int64_t retry_after_ms = 0;
  bool refused = false;                     // kUnavailable: it did not happen and will not
  bool reclaimed = false;                   // taken over from an owner whose lease ran out
  bool mismatched = false;                  // the fingerprint differed (counted in every policy)
  std::string run_id;                       // run whose state changed: the executor looks at it
  std::vector<std::string> cancelled_runs;  // own runs that lost
  std::vector<std::string> returned_runs;   // own runs that came back and are not at their end
  std::vector<Conflict> conflicts;          // newly listed, of every kind and region
  std::vector<std::string> collided;        // regions that used a run id twice, once per time
  std::string winner;
  std::vector<std::string> woken;  // slots whose waiting callers should look again
  std::uint64_t expired = 0;       // claims
  std::uint64_t evicted = 0;       // slots
  bool more = false;               // of what is due to expire, some is left
};

/// kUnavailable, and worth another try in a second.
inline Answer Unavailable(bool refused) {
  Answer answer;
  answer.kind = Answer::Kind::kUnavailable;
  answer.retry_after_ms = 1000;
  answer.refused = refused;
  return answer;
}

}  // namespace once
