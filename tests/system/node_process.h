// A real node: the program onced with its own configuration, keys and data.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/io/scratch_directory.h"
#include "tests/system/program.h"

namespace once {

/// May be changed between two starts.
struct NodeSetup {
  std::string data_dir = "";  // empty: in the node's scratch directory
  std::string region = "us";
  std::string listen = "127.0.0.1:0";         // port 0: any that is free
  std::string node_settings = "";             // more lines of [node]
  std::string settings = "";                  // more sections, as TOML
  std::vector<std::string> arguments = {};    // behind --config
  std::vector<std::string> environment = {};  // NAME=value
  std::vector<std::string> wrapper = {};      // a program, found in PATH, that runs the node
};

/// Listens on a port of its own. The log is kept over restarts. The destructor kills the process.
class NodeProcess {
 public:
  explicit NodeProcess(NodeSetup setup = {});

  NodeSetup setup;

  /// Adds a credential to the node's file and gives the key. A running node must reload.
  std::string AddKey(const std::string& tenant, const std::string& actor = "tester",
                     const std::vector<std::string>& scopes = {"runs", "claims"});
  /// Every key of the other node is good here too.
  void AcceptKeysOf(const NodeProcess& other);
  /// Revokes every credential of `tenant` with `actor`.
  void RevokeKeys(const std::string& tenant, const std::string& actor);

  /// Starts, and waits until the node says that it is ready.
  testing::AssertionResult Start();
  /// Starts and waits for the end, for nodes that must refuse to start.
  int StartAndExit();
  void Signal(int signal) const { program_->Signal(signal); }
  void Kill() { program_->Kill(); }
  pid_t pid() const { return program_->pid(); }
  std::optional<int> WaitExit() { return program_->WaitExit(); }
  /// SIGTERM; the exit code.
  std::optional<int> Stop();

  /// Of its last start; safe from any thread.
  std::uint16_t port() const { return port_; }
  std::string data_dir() const;
  std::string keys_file() const { return scratch_ / "keys.json"; }
  std::string config_file() const { return scratch_ / "once.toml"; }
  const ScratchDirectory& scratch() const { return scratch_; }
  /// All that this node ever wrote to its standard error and output.
  std::string Log() const { return ReadFile(scratch_ / "log"); }
  /// Whether the log has `text` in what was written since the last start.
  bool Logged(const std::string& text) const;

 private:
  void Launch();
  void FindPort();

  ScratchDirectory scratch_;
  std::unique_ptr<Program> program_;
  std::size_t log_start_ = 0;
  std::atomic<std::uint16_t> port_ = 0;
};

/// The program `name` of this build.
std::string ProgramPath(const std::string& name);

}  // namespace once
