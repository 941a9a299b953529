// Reads history.jsonl: the first line says what was run, every other one is an operation, a fault
// or a lost run. Unknown members are passed over.
#pragma once

#include <istream>
#include <string>
#include <variant>

#include "simulator/history.h"

namespace once {

/// The history, or the line and what is wrong with it.
std::variant<History, std::string> ReadHistory(std::istream& lines);

}  // namespace once
