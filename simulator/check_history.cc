#include "simulator/checks.h"

namespace once {

Violations CheckHistory(const History& history) {
  Violations all;
  for (const auto check :
       {CheckOneWinner, CheckExpiry, CheckAnswers, CheckFence, CheckClock, CheckZombie,
        CheckConflicts, CheckHomeFences, CheckLinearizable, CheckFences, CheckAcknowledged,
        CheckWaiting, CheckPolicies, CheckOneMode, CheckOtherRules, CheckOtherClock})
    for (Violation& violation : check(history)) all.push_back(std::move(violation));
  return all;
}

}  // namespace once
