// oncectl keys: make, list and revoke credentials in a node's credentials file.
#pragma once

namespace CLI {
class App;
}

namespace once {

/// Adds `keys create|list|revoke|dev`; `exit_code` gets the outcome of the one that runs.
void AddKeys(CLI::App& app, int& exit_code);

}  // namespace once
