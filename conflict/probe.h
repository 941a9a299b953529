// Probes: rare states by name. The simulator listens and says how often its worlds were in each, so
// that "nothing was found" can be told from "it never happened". Everywhere else nobody listens,
// and a probe is one comparison with null.
#pragma once

#include <string_view>

namespace once {

/// Hears the name of every probe that is passed; null: nobody listens. The simulator sets it, in a
/// process of one thread.
inline void (*probe_listener)(std::string_view state) = nullptr;

/// The code is in that state now. `state` is a sentence without its full stop, and stands in the
/// list of simulator/probes.cc.
inline void Reached(std::string_view state) {
  if (probe_listener) probe_listener(state);
}

}  // namespace once
