// Check: broken logic crashes, in release too. A function, not a text macro, so that its argument
// means what it says.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace once {

/// Prints the place and `what` to stderr and aborts when `holds` is false. The builtins stand for
/// std::source_location, which clang 14 lacks. Inline, so that a library below the replica can use
/// it without linking the replica.
inline void Check(bool holds, const char* what, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "check failed: %s (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace once
