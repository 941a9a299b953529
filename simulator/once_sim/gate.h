// The mutation gate: checks that find nothing prove nothing, so every seeded bug must be found.
//
//   early-expiry                 found by expiry after 3 seeds: ...
//   some-bug                     NOT FOUND, reached in 714 of 2000 seeds     a checker is missing
//   other-bug                    NOT REACHED in 2000 seeds                   it does not happen
#pragma once

#include <cstdint>
#include <string>

namespace once {

struct GateArguments {
  std::uint64_t seeds = 2000;  // of best-effort worlds, and half as many of strict ones
  std::uint64_t first = 1;
  unsigned jobs = 2;
  std::string only;
  bool strict = false;   // only those of strict mode
  bool without = false;  // each without the checker that was made for it, or that finds it first
};

/// Whether this is the build that has them.
bool HasMutations();
/// Turns one on in this process. False: there is none of that name.
bool TurnOn(const std::string& mutation);

/// Exit code: 0 every one was found, 1 one was not, 2 there are none to find. With `without`: 0
/// when none that a checker was made for is found by another.
int RunGate(const GateArguments& arguments);

}  // namespace once
