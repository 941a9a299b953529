#include "simulator/probes.h"

#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "conflict/probe.h"

namespace once {
namespace {

// What is expected where: in best-effort worlds, in strict worlds.
constexpr Probe kProbes[] = {
    // The life of a claim.
    {"a claim was superseded while its completion was on the way", true, false},

    // Members of the strict group, and who leads it.
    {"a membership change was asked of a leader before its term had committed", false, true},
    {"members changed while their leader was cut off", false, true},
    {"a leader was asked to remove itself", false, true},
    {"a leader that was removed stepped down", false, true},
    {"a learner was made a voter", false, true},
    {"a member was removed while it was sent a snapshot", false, true},
    {"leadership was to be handed to a learner", false, true},
    {"a leader stepped down before reads had got a round", false, true},
    {"a leader stepped down with a round of reads on its way", false, true},
    {"a divergent tail was cut off", false, true},
    {"a change of members was cut off with a divergent tail", false, true},
    {"a snapshot was given up for a newer one", false, true},

    // Requests on their way to it.
    {"a request of an earlier start came through the log", false, true},
    {"a request was taken up after its caller had got its 503", false, true},
    {"a request came so late that nobody waits for it", false, true},

    // Rules that differ.
    {"a node refused rules that would move a claim", false, true},
    {"a node was started with other rules than last time", false, true},
    {"all nodes have other rules than at the beginning", false, true},
    {"a leader's rules were not those of most voters", false, true},
    {"the rules of an earlier start of a node were heard late", false, true},
    {"a leader was asked by a node with other rules", false, true},

    // Clocks that differ.
    {"a leader gave way because its clock differs from most", false, true},
    {"a node that knew that its clock differs had no answer", false, true},
    {"a node whose clock was behind, and was not told, replayed by itself", false, true},
};

ProbeCounts& Counts() {
  static ProbeCounts counts(std::size(kProbes));
  return counts;
}

void Count(std::string_view state) {
  static const auto places = [] {
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < std::size(kProbes); ++i) places.emplace(kProbes[i].state, i);
    return places;
  }();
  const auto at = places.find(state);
  if (at == places.end()) std::abort();  // a test compares the list with the code
  ++Counts()[at->second];
}

}  // namespace

std::span<const Probe> Probes() {
  return kProbes;
}

void CountProbes() {
  probe_listener = Count;
}

ProbeCounts TakeProbeCounts() {
  return std::exchange(Counts(), ProbeCounts(std::size(kProbes)));
}

}  // namespace once
