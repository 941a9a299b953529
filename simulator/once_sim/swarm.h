// Many seeds over several processes: one seed whose process dies takes nobody with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace once {

struct SwarmArguments {
  std::uint64_t seeds = 1000;
  std::uint64_t first = 1;
  unsigned jobs = 2;
  std::string scenario;
  bool strict = false;
  bool keep_going = false;
  bool all_probes = false;  // fails when a probe of this mode was never reached
  std::string without;      // what this checker finds does not count; empty: all count
};

/// What became of a search for the first seed that does not hold.
struct Search {
  struct Failure {
    std::uint64_t seed = 0;
    std::string why;
  };
  std::optional<Failure> failure;
  std::uint64_t seeds = 0;    // that were run
  std::uint64_t reached = 0;  // of these, the ones that came to the seeded bug
};

/// Runs the seeds without a word until one fails.
Search SearchForFailure(const SwarmArguments& arguments);

/// Exit code: 0 all held, 1 a violation, a process that died or an unreached probe, 2 could not
/// run. Prints progress, for every seed that failed the command that repeats it, and how often each
/// probe was reached.
int RunSwarm(const SwarmArguments& arguments);

}  // namespace once
