// What the command lines of all programs have in common: how a mistake is answered.
#pragma once

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <string>

namespace once {

/// The exit code of a command line that means nothing; nothing was tried.
inline constexpr int kMisused = 2;

/// Parses it, and runs the callbacks. The exit code if that is all: --help, or a mistake, which is
/// then said in one line, with the command whose help to ask for.
inline std::optional<int> ParseCommandLine(CLI::App& app, int argc, char** argv) {
  std::string command = app.get_name();
  const auto misused = [&command](const std::string& why) {
    std::cerr << command << ": " << why << "; see " << command << " --help\n";
    return kMisused;
  };
  const CLI::App* at = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const auto named = [&](const CLI::App* sub) { return sub->check_name(argv[i]); };
    if (at->get_subcommands([](const CLI::App*) { return true; }).empty()) break;
    const auto found = at->get_subcommands(named);
    // The parser would only say that one is required.
    if (found.empty()) return misused("there is no command " + std::string(argv[i]));
    at = found.front();
    command += " " + at->get_name();
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return misused(error.what());
  }
  return std::nullopt;
}

}  // namespace once
