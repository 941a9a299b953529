// One simulated run from a seed: a safety phase in which anything may fail and nothing may be
// wrong, then everything is healed and must converge and drain in bounded time, then the checks.
#pragma once

#include "simulator/history.h"
#include "simulator/run_options.h"

namespace once {

/// Runs it. The history holds every violation found, and the trace hash: equal for equal options on
/// every build of the same code.
History Simulate(const RunOptions& options);

}  // namespace once
