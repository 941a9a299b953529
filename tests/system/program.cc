#include "tests/system/program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "replica/env/check.h"
#include "tests/io/scratch_directory.h"

namespace once {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::vector<std::string>& added) {
  // A later entry would lose to an earlier one of the same name in some programs, so ours go first.
  std::vector<std::string> all = added;
  for (char** entry = environ; *entry; ++entry) all.emplace_back(*entry);
  return all;
}

void Redirect(const std::string& file, int fd) {
  const int target = ::open(file.empty() ? "/dev/null" : file.c_str(),
                            O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (target >= 0) ::dup2(target, fd);
}

}  // namespace

Program::Program(const Options& options) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = Environment(options.environment);
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(environment);
  pid_ = ::fork();
  Check(pid_ >= 0, "a process can be started");
  if (pid_ > 0) return;
  // Other threads may hold any lock: from here on only calls that are safe after fork.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A shell cannot trap what was ignored when it began, as for all that a script starts with &.
  ::signal(SIGINT, SIG_DFL);
  Redirect(options.out_file, STDOUT_FILENO);
  Redirect(options.err_file, STDERR_FILENO);
  if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) ::_exit(126);
  ::execvpe(argv[0], argv.data(), envp.data());
  ::_exit(127);
}

Program::~Program() {
  Kill();
}

void Program::Signal(int signal) const {
  if (!exit_code_) ::kill(pid_, signal);
}

std::optional<int> Program::Exited() {
  int status = 0;
  if (!exit_code_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return exit_code_;
}

std::optional<int> Program::WaitExit(std::chrono::milliseconds patience) {
  WaitUntil([this] { return Exited().has_value(); }, patience);
  return exit_code_;
}

void Program::Kill() {
  Signal(SIGKILL);
  WaitExit();
}

ProgramResult RunProgram(const std::vector<std::string>& arguments, const std::string& directory) {
  const ScratchDirectory scratch;
  Program program({arguments, {}, directory, scratch / "out", scratch / "err"});
  ProgramResult result;
  result.exit_code = program.WaitExit().value_or(-SIGKILL);
  result.out = ReadFile(scratch / "out");
  result.err = ReadFile(scratch / "err");
  return result;
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace once
