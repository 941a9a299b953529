// The probes (conflict/probe.h) that there are, and how often the worlds of this process were in
// each of those states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace once {

struct Probe {
  const char* state;  // as the code says it
  bool best_effort;   // best-effort worlds of ./ops/test must reach it
  bool strict;        // worlds with a strict group must
};

/// All probes. One that the code does not know, or that is missing here, fails a test.
std::span<const Probe> Probes();

/// How often each probe was passed, in the order of Probes().
using ProbeCounts = std::vector<std::uint32_t>;

/// From now on the probes of this process are counted.
void CountProbes();
/// What was counted since the last call. Begins anew.
ProbeCounts TakeProbeCounts();

}  // namespace once
