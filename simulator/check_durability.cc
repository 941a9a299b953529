#include <algorithm>
#include <map>
#include <set>

#include "simulator/checks.h"
#include "simulator/oracle.h"
#include "simulator/story_of_key.h"
#include "simulator/story_of_run.h"

namespace once {
namespace {

// Empty, or what is missing.
std::string Lost(const Operation& operation, const Claim* claim) {
  if (!claim) return "is gone";
  if (claim->fence() < operation.fence) return "fell back to an earlier owner";
  if (operation.answer == Operation::Answer::kExecute ||
      operation.answer == Operation::Answer::kInFlight)
    return "";
  const bool kept = claim->outcome().body() == operation.answer_body &&
                    claim->outcome().status() == operation.status;
  if (IsFinalStatus(operation.status)) return kept ? "" : "has lost its answer";
  const bool stepped = claim->state() != PENDING || claim->fence() > operation.fence;
  return stepped ? "" : "forgot that it was settled";
}

// In which life of its home's directory each run came to its first end, by its owner or at once.
std::map<std::string, std::uint32_t> FirstEnds(const History& history) {
  std::map<std::string, std::uint32_t> lives;
  for (const Operation& operation : history.operations) {
    const bool ends = IsAcceptedSettle(operation) || IsGrant(operation);
    if (!ends || !IsFinalStatus(operation.status) || operation.lost) continue;
    const auto at = lives.try_emplace(operation.run_id, operation.life).first;
    at->second = std::min(at->second, operation.life);
  }
  return lives;
}

// An end that was lost with its directory may still have been on its way to a peer, and come back
// over what another owner was given since.
bool StandsByAnotherEnd(const History& history, const Operation& operation, const Claim* claim) {
  return claim && std::any_of(history.operations.begin(), history.operations.end(),
                              [&](const Operation& end) {
                                return IsAcceptedSettle(end) && IsFinalStatus(end.status) &&
                                       end.run_id == operation.run_id && end.lost &&
                                       end.life != operation.life &&
                                       claim->outcome().body() == end.answer_body;
                              });
}

// Another request that the policy let through released it, so long ago that it may be forgotten.
bool MayHaveGivenWay(const History& history, const Operation& given, std::int64_t by_ms) {
  return std::ranges::any_of(history.operations, [&](const Operation& begin) {
    const bool later = begin.returned_ms < 0 || begin.returned_ms >= given.invoked_ms;
    return MayMakeRoom(begin, given) && begin.region == given.region &&
           begin.tenant == given.tenant && begin.key == given.key && later &&
           begin.invoked_ms <= by_ms;
  });
}

// What the strict group acknowledged is no single directory's: CheckKept.
bool IsAcknowledged(const Operation& operation) {
  return !operation.strict && (IsGrant(operation) || IsAcceptedSettle(operation));
}

// A look-up shows nothing that a crash could take back.
bool IsShown(const Operation& operation) {
  return !operation.strict && operation.kind == Operation::Kind::kLookUp && operation.life == 0 &&
         !operation.run_id.empty();
}

// What a look-up anywhere showed is the home's: it was given there, to the request that made the
// claim, out of the directory that the home had then, and it ends by when it was given. Where no
// caller heard of that, it was one of those that heard nothing.
class Given {
 public:
  explicit Given(const History& history) : history_(history) {
    for (const Operation& operation : history.operations)
      if (IsGrant(operation)) grants_.try_emplace({operation.run_id, operation.fence}, &operation);
  }

  Operation Behind(const Operation& told) const {
    if (!IsShown(told)) return told;
    Operation given = told;
    const auto grant = grants_.find({told.run_id, told.fence});
    const Operation* const by = grant != grants_.end() ? grant->second : Unheard(told);
    if (!by) return given;
    given.region = by->region;
    given.body = by->body;
    given.life = by->life;
    given.invoked_ms = std::min(told.invoked_ms, by->invoked_ms);
    return given;
  }

 private:
  const Operation* Unheard(const Operation& told) const {
    const std::string home = HomeOfRun(told.run_id, history_.regions);
    const auto may_be = [&](const Operation& begin) {
      return begin.kind == Operation::Kind::kBegin && begin.answer == Operation::Answer::kNone &&
             begin.region == home && begin.tenant == told.tenant && begin.key == told.key;
    };
    const auto first = std::ranges::find_if(history_.operations, may_be);
    return first != history_.operations.end() ? &*first : nullptr;
  }

  const History& history_;
  std::map<std::pair<std::string, std::uint64_t>, const Operation*> grants_;  // by run and fence
};

// A release that was refused, as of a claim that nobody came back for, changes nothing.
bool MayHaveReleased(const Operation& settle) {
  return settle.kind == Operation::Kind::kSettle && settle.status == 0 && !IsRefused(settle) &&
         settle.answer != Operation::Answer::kStaleFence &&
         settle.answer != Operation::Answer::kNotFound;
}

// One that nobody saw is one whose caller was answered when it had gone already.
bool MayHaveGone(const Operation& operation, const Eviction& eviction) {
  if (operation.invoked_ms > eviction.at_ms) return false;
  if (eviction.key.empty()) return operation.returned_ms >= eviction.at_ms;
  return operation.tenant == eviction.tenant && operation.key == eviction.key;
}

// When what was given is over, not taking leases into account.
class Ends {
 public:
  explicit Ends(const History& history) {
    for (const Operation& operation : history.operations) {
      NoteSuccess(operation);
      const bool settles = operation.kind == Operation::Kind::kSettle;
      if (!settles && !(IsGrant(operation) && IsFinalStatus(operation.status))) continue;
      settled_ms_.try_emplace({operation.run_id, operation.fence}, operation.invoked_ms);
      if (!MayHaveReleased(operation)) continue;
      Release& release =
          releases_.try_emplace(operation.run_id, operation.invoked_ms).first->second;
      release.heard |= IsAcceptedSettle(operation);
    }
  }

  std::int64_t Of(const Operation& given) const {
    const auto release = releases_.find(given.run_id);
    if (release != releases_.end() && release->second.heard) return release->second.at_ms;
    const std::int64_t end_ms = WithoutRelease(given);
    return release != releases_.end() ? std::min(end_ms, release->second.at_ms) : end_ms;
  }

 private:
  struct Release {
    explicit Release(std::int64_t invoked_ms) : at_ms(invoked_ms) {}
    std::int64_t at_ms;  // of the first that may have been one
    bool heard = false;  // one of them was
  };

  void NoteSuccess(const Operation& operation) {
    if (!IsAcceptedSettle(operation) && !IsGrant(operation)) return;
    if (IsFinalStatus(operation.status)) ended_.insert({operation.run_id, operation.fence});
    if (IsSuccess(operation.status) && operation.retention_ms > 0)
      successes_[{operation.tenant, operation.key}].push_back(&operation);
  }

  // One that was not settled may have given way to another run's success, and is over with that.
  std::int64_t GaveWay(const Operation& given) const {
    std::int64_t end_ms = kNoEndMs;
    const auto successes = successes_.find({given.tenant, given.key});
    if (ended_.contains({given.run_id, given.fence}) || successes == successes_.end())
      return end_ms;
    for (const Operation* success : successes->second) {
      const std::int64_t over_ms =
          success->invoked_ms + static_cast<std::int64_t>(success->retention_ms);
      // A success that was over before the claim was given is of an earlier generation.
      if (success->run_id != given.run_id && over_ms + kSkewBoundMs >= given.invoked_ms)
        end_ms = std::min(end_ms, over_ms);
    }
    return end_ms;
  }

  std::int64_t WithoutRelease(const Operation& given) const {
    return std::min(ByItself(given), GaveWay(given));
  }

  std::int64_t ByItself(const Operation& given) const {
    if (given.retention_ms == 0) return kNoEndMs;
    // One that was told so again had ended before.
    const auto settled = settled_ms_.find({given.run_id, given.fence});
    const std::int64_t from_ms = settled != settled_ms_.end()
                                     ? std::min(settled->second, given.invoked_ms)
                                     : given.invoked_ms;
    return from_ms + static_cast<std::int64_t>(given.retention_ms);
  }

  std::map<std::pair<std::string, std::string>, std::vector<const Operation*>>
      successes_;                                                             // by key
  std::set<std::pair<std::string, std::uint64_t>> ended_;                     // runs and fences
  std::map<std::string, Release> releases_;                                   // by run
  std::map<std::pair<std::string, std::uint64_t>, std::int64_t> settled_ms_;  // by run and fence
};

}  // namespace

void NoteLost(const Holdings& left, History& history) {
  for (Operation& operation : history.operations)
    if (IsAcknowledged(operation) || IsShown(operation))
      operation.lost = std::none_of(left.begin(), left.end(), [&operation](const auto& held) {
        return Lost(operation, ClaimOf(held.second, operation)).empty();
      });
}

void NoteEvicted(const std::vector<Eviction>& evictions, const Slots& left, History& history) {
  if (evictions.empty()) return;
  for (Operation& operation : history.operations) {
    if (operation.lost || ClaimOf(left, operation)) continue;
    const bool kept = IsAcknowledged(operation) || IsReplay(operation) || IsShown(operation) ||
                      IsRunCommand(operation);
    if (!kept) continue;
    operation.lost = std::ranges::any_of(
        evictions, [&](const Eviction& eviction) { return MayHaveGone(operation, eviction); });
  }
}

Violations CheckDurability(const History& history, const Holdings& holdings, std::int64_t now_ms,
                           std::int64_t grace_ms) {
  Violations violations;
  const Given givens(history);
  const Ends ends(history);
  const std::map<std::string, std::uint32_t> first_ends = FirstEnds(history);
  for (const Operation& operation : history.operations) {
    const auto held = holdings.find(operation.region);
    if (!IsAcknowledged(operation) && !IsShown(operation)) continue;
    if (operation.lost || held == holdings.end()) continue;
    const Claim* claim = ClaimOf(held->second, operation);
    const std::string lost = Lost(operation, claim);
    if (lost.empty() || StandsByAnotherEnd(history, operation, claim)) continue;
    const Operation given = givens.Behind(operation);
    // Owners from before and after a directory was replaced do not know of each other: the first
    // end stands, whichever of them made it.
    const auto first_end = first_ends.find(given.run_id);
    if (first_end != first_ends.end() && first_end->second != given.life) continue;
    const bool forgotten =
        !claim && (ends.Of(given) <= now_ms - grace_ms ||
                   MayHaveGivenWay(history, given, now_ms - grace_ms - kSkewBoundMs));
    if (!forgotten)
      violations.push_back({"durability", Describe(operation) + " " + lost, operation.returned_ms});
  }
  return violations;
}

}  // namespace once
