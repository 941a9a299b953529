#include <algorithm>
#include <set>

#include "simulator/checks.h"
#include "simulator/story_of_key.h"

namespace once {
namespace {

void CheckSlot(const std::vector<const Operation*>& operations, Violations& violations) {
  std::vector<const Operation*> by_invocation = operations;
  std::stable_sort(by_invocation.begin(), by_invocation.end(),
                   [](const Operation* one, const Operation* other) {
                     return one->invoked_ms < other->invoked_ms;
                   });
  std::vector<const Operation*> by_return;
  std::copy_if(operations.begin(), operations.end(), std::back_inserter(by_return),
               [](const Operation* operation) { return ShowsFence(*operation); });
  std::stable_sort(by_return.begin(), by_return.end(),
                   [](const Operation* one, const Operation* other) {
                     return one->returned_ms < other->returned_ms;
                   });
  auto returned = by_return.begin();
  const Operation* highest = nullptr;  // of what had been answered when the call was made
  std::set<std::uint64_t> given;
  const auto say = [&](const Operation& operation, const std::string& what) {
    violations.push_back({"fences",
                          Describe(operation) + " " + what + " " + std::to_string(operation.fence),
                          operation.returned_ms});
    if (highest && highest->fence >= operation.fence)
      violations.back().what +=
          " after #" + std::to_string(highest->id) + " had shown " + std::to_string(highest->fence);
  };
  for (const Operation* operation : by_invocation) {
    for (; returned != by_return.end() && (*returned)->returned_ms < operation->invoked_ms;
         ++returned)
      if (!highest || highest->fence < (*returned)->fence) highest = *returned;
    const std::uint64_t known = highest ? highest->fence : 0;
    if (IsGrant(*operation) &&
        (!given.insert(operation->fence).second || operation->fence <= known))
      say(*operation, "was given fence");
    if (NamesItsRun(*operation) && operation->answer == Operation::Answer::kDone &&
        operation->fence < known)
      say(*operation, "was settled or renewed under fence");
  }
}

}  // namespace

Violations CheckFences(const History& history) {
  Violations violations;
  for (const auto& [key, operations] : StrictOperationsOf(history))
    CheckSlot(operations, violations);
  return violations;
}

}  // namespace once
