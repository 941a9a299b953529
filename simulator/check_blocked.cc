#include <algorithm>
#include <limits>
#include <set>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

// Clocks that differ by the bound, the bound by which the lease of another region is waited for,
// and that by which a request is taken up later than its caller gets its 503.
constexpr std::int64_t kBlockedSlackMs = 3 * kSkewBoundMs;
constexpr std::int64_t kForEverMs = std::numeric_limits<std::int64_t>::max();

// It took the key, or may have.
bool MayHold(const Operation& operation) {
  using Answer = Operation::Answer;
  if (operation.kind != Operation::Kind::kBegin && operation.kind != Operation::Kind::kRenew)
    return false;
  return operation.answer == Answer::kExecute || operation.answer == Answer::kDone ||
         operation.answer == Answer::kNone || operation.answer == Answer::kUnavailable;
}

class Leases {
 public:
  explicit Leases(const History& history) : history_(history) {
    for (const Start& start : history.starts)
      if (start.life > 0) replaced_.insert(start.region);
  }

  /// Until when somebody may work on the key because of that call, as far as anybody knew by then.
  std::int64_t EndOf(const Operation& holder, std::int64_t by_ms) const {
    // A lease comes back in full with its claim, whenever that is.
    if (!holder.strict && replaced_.count(holder.region)) return kForEverMs;
    // A clock may run slower than time by one part in twenty.
    const std::int64_t lease_ms = static_cast<std::int64_t>(holder.lease_ms) * 20 / 19;
    std::int64_t end_ms = TakenBy(holder) + lease_ms;
    if (!holder.strict)
      for (const Start& start : history_.starts)  // leases run anew
        if (start.region == holder.region && start.at_ms <= by_ms)
          end_ms = std::max(end_ms, start.at_ms + lease_ms);
    return end_ms + kBlockedSlackMs;
  }

 private:
  std::int64_t TakenBy(const Operation& holder) const {
    const bool unheard = holder.answer == Operation::Answer::kNone ||
                         holder.answer == Operation::Answer::kUnavailable;
    if (!unheard) return holder.returned_ms;
    return AskedMillis(history_, holder) + (holder.strict ? kAnswerMs : 0);
  }

  const History& history_;
  std::set<std::string> replaced_;
};

}  // namespace

Violations CheckBlocked(const History& history) {
  Violations violations;
  const Leases leases(history);
  for (const auto& [key, story] : StoriesOf(history))
    for (const Operation* refused : story.operations) {
      if (refused->kind != Operation::Kind::kBegin ||
          refused->answer != Operation::Answer::kInFlight)
        continue;
      const std::int64_t at_ms = refused->invoked_ms;
      const bool held = std::any_of(
          story.operations.begin(), story.operations.end(), [&](const Operation* other) {
            return MayHold(*other) && other->invoked_ms <= refused->returned_ms &&
                   leases.EndOf(*other, at_ms) >= at_ms;
          });
      if (!held)
        violations.push_back({"blocked",
                              Describe(*refused) + " was told that somebody is on it when no lease "
                                                   "can have been held any more",
                              refused->returned_ms});
    }
  return violations;
}

}  // namespace once
