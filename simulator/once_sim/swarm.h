// Many seeds over several processes, so that one seed that crashes takes nobody with it.
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
};

/// The first seed that did not hold.
struct FoundFailure {
  std::uint64_t seed = 0;
  std::uint64_t after = 0;  // seeds run until then
  std::string why;
};

/// Runs the seeds without a word until one fails.
std::optional<FoundFailure> FindFailure(const SwarmArguments& arguments);

/// Exit code: 0 all held, 1 a violation (or a crash), 2 could not run. Prints progress and, for
/// every seed that failed, the command that repeats it.
int RunSwarm(const SwarmArguments& arguments);

}  // namespace once
