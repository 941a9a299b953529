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
    {"a region executed a key when the lease of another region's claim was over", true, false},
    // What regions tell each other.
    {"a message found the queue to a peer full", true, false},
    {"a peer lacked what the journal had dropped", true, false},
    {"a peer was held back because something was unsent", true, false},
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
