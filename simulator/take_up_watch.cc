#include "simulator/take_up_watch.h"

#include <charconv>
#include <cstdlib>

#include "conflict/probe.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

// Of somebody else: 0.
std::uint64_t OperationOf(const std::string& actor) {
  std::uint64_t id = 0;
  if (actor.size() > 1 && actor[0] == '#')
    std::from_chars(actor.data() + 1, actor.data() + actor.size(), id);
  return id;
}

}  // namespace

std::string ActorOf(const Operation& operation) {
  return "#" + std::to_string(operation.id);
}

std::int64_t LatestTakeUpMillis(const History& history, const Operation& operation) {
  for (const Fault& fault : history.faults)
    if (fault.kind == Fault::Kind::kClockJump && fault.region == operation.region &&
        std::abs(fault.amount) > 2 * kSkewBoundMs && fault.from_ms <= operation.invoked_ms &&
        (fault.to_ms < 0 || fault.to_ms >= operation.invoked_ms))
      return INT64_MAX;
  return AskedMillis(history, operation) + kAnswerMs + 2 * kSkewBoundMs;
}

bool TakeUpWatch::IsLate(const Operation& operation, const Claim& claim) const {
  if (!operation.strict) return false;
  const std::int64_t at_ms = claim.taken_up_ms() - start_wall_ms_;
  if (at_ms > AskedMillis(history_, operation) + kAnswerMs)
    Reached("a request was taken up after its caller had got its 503");
  return at_ms > LatestTakeUpMillis(history_, operation);
}

Violations TakeUpWatch::Look(const Claim& claim, std::int64_t now_ms) {
  const std::uint64_t id = OperationOf(claim.actor());
  if (id == 0 || id > history_.operations.size()) return {};
  const Operation& operation = history_.operations[id - 1];
  const auto [at, first] = take_ups_.try_emplace(id, TakeUp{claim.run_id(), claim.fence()});
  if (!first) {
    if (at->second.run_id == claim.run_id() && at->second.fence == claim.fence()) return {};
    return {{"take-up",
             Describe(operation) + " took up run " + claim.run_id() + " under fence " +
                 std::to_string(claim.fence()) + " besides run " + at->second.run_id + " under " +
                 std::to_string(at->second.fence),
             now_ms}};
  }
  if (!IsLate(operation, claim)) return {};
  return {{"take-up",
           Describe(operation) + ", invoked at " + std::to_string(operation.invoked_ms) +
               ", took up run " + claim.run_id() + " at " +
               std::to_string(claim.taken_up_ms() - start_wall_ms_),
           now_ms}};
}

Violations TakeUpWatch::Refused() const {
  Violations violations;
  for (const auto& [id, taken] : take_ups_) {
    const Operation& operation = history_.operations[id - 1];
    if (IsRefused(operation))
      violations.push_back({"take-up",
                            Describe(operation) + " took up run " + taken.run_id + " under fence " +
                                std::to_string(taken.fence) + " and was told that nothing was done",
                            operation.returned_ms});
  }
  return violations;
}

}  // namespace once
