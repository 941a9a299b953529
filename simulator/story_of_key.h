// A history sorted by key, and what can be known about runs from it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulator/history.h"

namespace once {

inline constexpr std::int64_t kSkewBoundMs = 1000;
inline constexpr std::int64_t kAnswerMs = 2000;    // then a caller of a strict key gets its 503
inline constexpr std::int64_t kPatienceMs = 3000;  // then a caller of a key gives up

/// What callers learned about one run.
struct RunFacts {
  std::string home;        // region that let it execute; empty: nobody heard
  std::uint64_t body = 0;  // of the request that it belongs to, if home is known
  std::uint64_t first_fence = 0;
  std::int64_t finalised_ms = -1;   // not before this; -1: not final, or not known
  std::int64_t kept_until_ms = -1;  // must be answered until then; INT64_MAX for ever
  std::uint32_t status = 0;         // of its final answer; 0: not known
};

struct StoryOfKey {
  std::vector<const Operation*> operations;  // in the order of the history
  std::map<std::string, RunFacts> runs;
};

/// By (tenant, key). Points into the history.
std::map<std::pair<std::string, std::string>, StoryOfKey> StoriesOf(const History& history);
/// The operations of strict mode, by (tenant, key), in the order of the history. Points into it.
std::map<std::pair<std::string, std::string>, std::vector<const Operation*>> StrictOperationsOf(
    const History& history);

/// About a key, and not about a run or a webhook that is known.
inline bool IsAboutKey(const Operation& operation) {
  return operation.kind <= Operation::Kind::kRenew;
}
inline bool IsFinalStatus(std::uint32_t status) {
  return status >= 200 && status < 500;
}
inline bool IsSuccess(std::uint32_t status) {
  return status >= 200 && status < 400;
}
/// The caller may do it now: a claim to execute, or a run that the node did at once.
inline bool IsGrant(const Operation& operation) {
  return operation.kind == Operation::Kind::kBegin &&
         (operation.answer == Operation::Answer::kExecute ||
          operation.answer == Operation::Answer::kDone);
}
/// The caller was told that nothing was done.
inline bool IsRefused(const Operation& operation) {
  return operation.answer == Operation::Answer::kUnavailable && operation.refused;
}
/// The caller's lease goes on.
inline bool IsRenewal(const Operation& operation) {
  return operation.kind == Operation::Kind::kRenew && operation.answer == Operation::Answer::kDone;
}
/// The call names the claim that it is about, and is refused when that is not there.
inline bool NamesItsRun(const Operation& operation) {
  return operation.kind == Operation::Kind::kSettle || operation.kind == Operation::Kind::kRenew;
}
inline bool IsReplay(const Operation& operation) {
  return operation.kind == Operation::Kind::kBegin &&
         operation.answer == Operation::Answer::kReplay;
}
inline bool IsAcceptedSettle(const Operation& operation) {
  return operation.kind == Operation::Kind::kSettle &&
         (operation.answer == Operation::Answer::kDone ||
          operation.answer == Operation::Answer::kReplay);
}

/// The policy lets the begin through beside the known claim of another request, which is released
/// for that where it is open.
inline bool MayMakeRoom(const Operation& begin, const Operation& known) {
  return begin.kind == Operation::Kind::kBegin && begin.body != known.body &&
         begin.mismatch != Operation::Mismatch::kReject && !IsFinalStatus(known.status);
}

/// The answer says that its run had the slot under its fence.
inline bool ShowsFence(const Operation& operation) {
  if (operation.fence == 0) return false;
  switch (operation.answer) {
    case Operation::Answer::kDone:
    case Operation::Answer::kReplay:
      return true;
    case Operation::Answer::kExecute:
    case Operation::Answer::kInFlight:
    case Operation::Answer::kMismatch:
      return !NamesItsRun(operation);
    default:
      return false;
  }
}

/// Answered out of one directory, or by the strict group: what one of them said, the other knew.
inline bool IsSameMemory(const Operation& one, const Operation& other) {
  if (one.strict && other.strict) return true;
  return one.region == other.region && one.life == other.life;
}

/// When the region, which may stand still then, goes on; far off while that is not known.
std::int64_t AwakeMillis(const History& history, const std::string& region, std::int64_t at_ms);
/// When its region was last asked by the call: whoever waits asks again when the wait is over. A
/// node that stands still hears its callers, and counts their time, when it goes on.
std::int64_t AskedMillis(const History& history, const Operation& operation);

/// "eu acme/k1 #12 run X" for messages.
std::string Describe(const Operation& operation);

}  // namespace once
