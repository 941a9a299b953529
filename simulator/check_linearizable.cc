#include "simulator/checks.h"
#include "simulator/linearizability.h"
#include "simulator/story_of_key.h"

namespace once {

Violations CheckLinearizable(const History& history) {
  Violations violations;
  for (const auto& [key, operations] : StrictOperationsOf(history))
    if (const auto found = FindContradiction(operations))
      violations.push_back({"linearizable", found->what, found->operation->returned_ms});
  return violations;
}

}  // namespace once
