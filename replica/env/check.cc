#include "replica/env/check.h"

#include <cstdio>
#include <cstdlib>

namespace once {

void Check(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  std::fprintf(stderr, "check failed: %s (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace once
