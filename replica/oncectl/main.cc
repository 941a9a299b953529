// oncectl: the operator's command line. Exit 0: done, 1: could not be done, 2: a command line that
// means nothing.
#include "replica/command_line.h"
#include "replica/oncectl/group.h"
#include "replica/oncectl/keys.h"
#include "replica/oncectl/partition.h"

int main(int argc, char** argv) {
  CLI::App app("Operates nodes of Once.", "oncectl");
  app.set_version_flag("--version", std::string("oncectl ") + ONCE_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  once::AddKeys(app, exit_code);
  once::AddPartition(app, exit_code);
  once::AddGroup(app, exit_code);
  const auto ended = once::ParseCommandLine(app, argc, argv);
  return ended ? *ended : exit_code;
}
