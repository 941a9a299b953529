#include "replica/io/open_files.h"

#include <sys/resource.h>

#include <algorithm>

namespace once {

std::size_t RaiseOpenFiles(std::size_t connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return connections;
  const rlim_t wanted = std::min<rlim_t>(limit.rlim_max, connections + kOwnFilesMax);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur <= kOwnFilesMax) return 0;
  return std::min<std::size_t>(connections, limit.rlim_cur - kOwnFilesMax);
}

}  // namespace once
