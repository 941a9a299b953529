// oncectl partition and heal: cut a development cluster and mend it, to watch what happens.
#pragma once

namespace CLI {
class App;
}

namespace once {

/// Adds `partition` and `heal`; `exit_code` gets the outcome of the one that runs.
void AddPartition(CLI::App& app, int& exit_code);

}  // namespace once
