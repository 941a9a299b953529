// Preloaded into a node by tests of its disk: what syncs do is decided by ONCE_SYNC_FAULT.
//   skip:FILE    once FILE exists, nothing is synced and success is reported
//   error:FILE   once FILE exists, every sync fails with EIO
//   hang:FILE    while FILE exists, no sync returns; the first that does not makes FILE.reached
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum fate { PASS, SKIP, FAIL };

static enum fate FateOfSync(void) {
  const char* fault = getenv("ONCE_SYNC_FAULT");
  const char* file = fault == NULL ? NULL : strchr(fault, ':');
  if (file == NULL || access(file + 1, F_OK) != 0) return PASS;
  if (strncmp(fault, "hang:", 5) == 0) {
    char reached[4096];
    snprintf(reached, sizeof reached, "%s.reached", file + 1);
    close(open(reached, O_WRONLY | O_CREAT, 0600));
    while (access(file + 1, F_OK) == 0) usleep(10000);
    return PASS;
  }
  return strncmp(fault, "skip:", 5) == 0 ? SKIP : FAIL;
}

static int Sync(const char* name, int fd) {
  switch (FateOfSync()) {
    case SKIP:
      return 0;
    case FAIL:
      errno = EIO;
      return -1;
    default:
      return ((int (*)(int))dlsym(RTLD_NEXT, name))(fd);
  }
}

int fsync(int fd) {
  return Sync("fsync", fd);
}

int fdatasync(int fd) {
  return Sync("fdatasync", fd);
}

// Only a hint to start writing: it never fails here, RocksDB aborts when it does.
int sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned int flags) {
  if (FateOfSync() != PASS) return 0;
  return ((int (*)(int, off64_t, off64_t, unsigned int))dlsym(RTLD_NEXT, "sync_file_range"))(
      fd, offset, bytes, flags);
}
