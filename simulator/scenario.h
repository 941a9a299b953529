// Scenarios: small TOML files that override what a seed draws.
//
//   about = "one line for people"
//   quiet = true                       no random faults; those below only
//   safety_ms = 60000
//   [workload] [links] [faults] [gossip] [cluster]   options by the names of their fields
//   [[fault]] kind, from_ms, to_ms, region, other, amount; kind "partition" cuts `region` off all
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "simulator/run_options.h"

namespace once {

struct Scenario {
  std::string name;
  std::string about;
};

/// The options of the seed under the scenario, or why it cannot be read. `place` is a file, or the
/// name of one in the folder of scenarios.
std::variant<RunOptions, std::string> LoadScenario(const std::string& place, std::uint64_t seed);

/// Those in the folder, in order of name.
std::vector<Scenario> ListScenarios();

}  // namespace once
