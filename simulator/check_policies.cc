#include <algorithm>
#include <set>
#include <vector>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

using Changes = std::vector<const Operation*>;

// Those of the begin's tenant in its region that were asked for before it.
Changes ChangesBefore(const History& history, const Operation& begin) {
  Changes changes;
  for (const Operation& operation : history.operations)
    if (operation.kind == Operation::Kind::kPolicy && operation.region == begin.region &&
        operation.tenant == begin.tenant && operation.invoked_ms <= begin.invoked_ms)
      changes.push_back(&operation);
  return changes;
}

// It was acknowledged before the begin, out of the same directory.
bool IsMade(const Operation& change, const Operation& begin) {
  return change.answer == Operation::Answer::kDone && change.life == begin.life &&
         change.returned_ms < begin.invoked_ms;
}

// Every policy that may be in force for the begin. What nobody heard of may have happened or not,
// and a directory that was replaced may know any earlier one.
std::set<Operation::Mismatch> MayBeInForce(const Changes& changes, const Operation& begin) {
  std::set<Operation::Mismatch> possible;
  bool any_made = false;
  for (const Operation* change : changes) {
    const bool made = IsMade(*change, begin);
    any_made |= made;
    const bool replaced =
        made && std::any_of(changes.begin(), changes.end(), [&](const Operation* next) {
          return IsMade(*next, begin) && next->invoked_ms > change->returned_ms;
        });
    if (!replaced) possible.insert(change->mismatch);
  }
  if (!any_made) possible.insert(Operation::Mismatch::kReject);
  return possible;
}

}  // namespace

Violations CheckPolicies(const History& history) {
  Violations violations;
  for (const Operation& begin : history.operations)
    if (begin.kind == Operation::Kind::kBegin && begin.answer != Operation::Answer::kNone &&
        !MayBeInForce(ChangesBefore(history, begin), begin).count(begin.mismatch))
      violations.push_back(
          {"policies", Describe(begin) + " met a policy that was not in force", begin.invoked_ms});
  return violations;
}

}  // namespace once
