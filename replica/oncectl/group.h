// oncectl status, members, found, add, promote, remove, transfer: the strict group from the command
// line.
#pragma once

namespace CLI {
class App;
}

namespace once {

/// Adds the subcommands; `exit_code` gets the outcome of the one that runs. The nodes are those of
/// --url, or the development cluster of this folder.
void AddGroup(CLI::App& app, int& exit_code);

}  // namespace once
