// A running node: one process's world around a Replica.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "replica/config.h"

namespace once {

struct NodeOptions {
  Config config;
  std::string config_path;  // reread on SIGHUP and POST /v1/admin/reload; empty: nothing to reread
  bool adopt_data = false;  // the data directory is a copy on purpose: give it a new identity
};

/// Reads the credentials, certificates and keys that the configuration names, and starts nothing.
/// Empty, or what is wrong with them.
std::string CheckFiles(const Config& config);

/// Opens everything, serves until SIGTERM or SIGINT, stops cleanly. Calls `ready` with the bound
/// port once requests are answered. Returns the process's exit code; on failure the reason has been
/// logged.
int RunNode(NodeOptions options, const std::function<void(std::uint16_t port)>& ready);

}  // namespace once
