// A child process with its output in files.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tests/system/wait_until.h"

namespace once {

/// What a program did: its exit code, or minus the signal that ended it, and what it wrote.
struct ProgramResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// A running program. The destructor kills it; it also dies with the thread that started it.
class Program {
 public:
  struct Options {
    std::vector<std::string> arguments;    // the first is the program, found on PATH
    std::vector<std::string> environment;  // NAME=value, on top of this process's own
    std::string directory;                 // to run in; empty: this process's own
    std::string out_file;                  // appended to
    std::string err_file;                  // appended to
  };

  explicit Program(const Options& options);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  /// Exit code, or minus the signal; nothing while it runs.
  std::optional<int> Exited();
  std::optional<int> WaitExit(std::chrono::milliseconds patience = kPatience);
  /// kill -9, and waits for the end.
  void Kill();

 private:
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

/// Runs a program to its end, at most kPatience; killed after that.
ProgramResult RunProgram(const std::vector<std::string>& arguments,
                         const std::string& directory = "");

/// Empty when there is no such file.
std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& text);

}  // namespace once
