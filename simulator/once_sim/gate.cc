#include "simulator/once_sim/gate.h"

#include <cstdio>

#include "conflict/mutation.h"
#include "simulator/once_sim/swarm.h"

namespace once {

#ifdef ONCE_MUTATIONS
namespace {

// Where each one is: grep for its name.
constexpr const char* kMutations[] = {"pairwise-merge",
                                      "highest-run-id",
                                      "counter-without-dedup",
                                      "losses-not-persisted",
                                      "cancel-twice",
                                      "supersede-forgotten",
                                      "early-expiry",
                                      "retryable-replayed",
                                      "mismatch-ignored",
                                      "lease-ignored-after-restart",
                                      "stale-fence-accepted",
                                      "settled-abroad",
                                      "abandoned-completed",
                                      "forgotten-sync",
                                      "acknowledged-before-durable",
                                      "told-before-durable",
                                      "lost-push",
                                      "frame-over-gap",
                                      "never-sent-again",
                                      "undo-forgotten",
                                      "incarnation-reused",
                                      "gauge-forgets",
                                      "clock-unchecked"};

bool IsFound(const char* mutation, const GateArguments& arguments) {
  ActiveMutation() = mutation;
  SwarmArguments swarm;
  swarm.seeds = arguments.seeds;
  swarm.jobs = arguments.jobs;
  const auto found = FindFailure(swarm);
  ActiveMutation().clear();
  if (found)
    std::printf("%-28s found after %4llu seeds: %s\n", mutation,
                static_cast<unsigned long long>(found->after), found->why.c_str());
  else
    std::printf("%-28s NOT FOUND in %llu seeds\n", mutation,
                static_cast<unsigned long long>(arguments.seeds));
  std::fflush(stdout);
  return found.has_value();
}

}  // namespace

bool HasMutations() {
  return true;
}

int RunGate(const GateArguments& arguments) {
  int found = 0;
  int tried = 0;
  for (const char* mutation : kMutations) {
    if (!arguments.only.empty() && arguments.only != mutation) continue;
    ++tried;
    if (IsFound(mutation, arguments)) ++found;
  }
  std::printf("%d of %d found\n", found, tried);
  if (tried == 0) return 2;
  return found == tried ? 0 : 1;
}
#else
bool HasMutations() {
  return false;
}

int RunGate(const GateArguments&) {
  return 2;
}
#endif

}  // namespace once
