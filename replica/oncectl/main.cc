// oncectl: the operator's command line.
#include <CLI/CLI.hpp>
#include <iostream>

#include "replica/oncectl/group.h"
#include "replica/oncectl/keys.h"
#include "replica/oncectl/partition.h"

namespace {

constexpr int kMisused = 2;  // 1 is for what was asked for and could not be done

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("oncectl: operate nodes of Once.");
  app.set_version_flag("--version", std::string("oncectl ") + ONCE_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  once::AddKeys(app, exit_code);
  once::AddPartition(app, exit_code);
  once::AddGroup(app, exit_code);
  const auto named = [&](CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named).empty()) {
    std::cerr << "oncectl: there is no command " << argv[1] << "; see oncectl --help\n";
    return kMisused;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kMisused;
  }
  return exit_code;
}
