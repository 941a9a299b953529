#include "simulator/once_sim/child.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace once {

std::string DeathOf(int status) {
  if (WIFEXITED(status)) return "";
  const int signal = WTERMSIG(status);
  return "crash: the process died of signal " + std::to_string(signal) + " (" + strsignal(signal) +
         ")";
}

int RunInChild(const std::function<int()>& work,
               const std::function<int(const std::string& death)>& died) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return work();
  if (child == 0) {
    const int code = work();
    std::fflush(nullptr);
    _exit(code);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string death = DeathOf(status);
  return death.empty() ? WEXITSTATUS(status) : died(death);
}

}  // namespace once
