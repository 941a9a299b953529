#include "replica/env/check.h"

#include <cstdio>
#include <cstdlib>

namespace once {

void Check(bool holds, const char* what, std::source_location where) {
  if (holds) return;
  std::fprintf(stderr, "check failed: %s (%s:%u)\n", what, where.file_name(), where.line());
  std::abort();
}

}  // namespace once
