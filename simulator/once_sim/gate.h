// The mutation gate: checks that find nothing prove nothing, so every seeded bug must be found.
#pragma once

#include <cstdint>
#include <string>

namespace once {

struct GateArguments {
  std::uint64_t seeds = 2000;
  std::uint64_t first = 1;
  unsigned jobs = 2;
  std::string only;
  bool strict = false;  // only those of strict mode
};

/// Whether this is the build that has them.
bool HasMutations();

/// Exit code: 0 every one was found, 1 one was not, 2 there are none to find.
int RunGate(const GateArguments& arguments);

}  // namespace once
