// Linearizability by trying (Wing and Gong, with Lowe's memory of what was tried): slow, and too
// simple to be wrong. For small histories of one key.
#pragma once

#include <string>
#include <vector>

#include "simulator/history.h"

namespace once {

/// Whether some order of the operations explains all answers. At most 16 operations.
bool CanBeLinearized(const std::vector<Operation>& operations);

/// One line per operation, in the order of invocation, for people.
std::string Shown(std::vector<Operation> operations);

}  // namespace once
