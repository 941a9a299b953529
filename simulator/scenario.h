// Scenarios: small TOML files that override what a seed draws.
//
//   about = "one line for people"
//   strict = true                      a world with a strict group, as with --strict
//   quiet = true                       no random faults; those below only
//   safety_ms = 60000
//   [workload] [links] [faults] [gossip] [cluster]   options by the names of their fields
//   [[fault]] kind, from_ms, to_ms, region, other, amount; kind "partition" cuts `region` off all.
//   In a strict world the region may be "leader" or "follower": whoever is that at the time.
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
std::variant<RunOptions, std::string> LoadScenario(const std::string& place, std::uint64_t seed,
                                                   bool strict = false);

/// Those in the folder, in order of name.
std::vector<Scenario> ListScenarios();

}  // namespace once
