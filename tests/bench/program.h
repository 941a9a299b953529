// What the main function of every program here does.
#pragma once

#include <cstdio>
#include <exception>

namespace once::load {

/// Runs it and gives its exit code; 1, and a line on stderr, for what it throws.
inline int RunMain(const char* name, int (*run)(int, char**), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s: %s\n", name, failure.what());
    return 1;
  }
}

}  // namespace once::load
