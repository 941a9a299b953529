// oncectl: the operator's command line.
#include <CLI/CLI.hpp>
#include <iostream>

#include "replica/oncectl/group.h"
#include "replica/oncectl/keys.h"
#include "replica/oncectl/partition.h"

int main(int argc, char** argv) {
  CLI::App app("oncectl: operate nodes of Once.");
  app.set_version_flag("--version", std::string("oncectl ") + ONCE_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  once::AddKeys(app, exit_code);
  once::AddPartition(app, exit_code);
  once::AddGroup(app, exit_code);
  CLI11_PARSE(app, argc, argv);
  return exit_code;
}
