// Small random histories of one key in strict mode.
#pragma once

#include <vector>

#include "replica/env/random.h"
#include "simulator/history.h"

namespace once {

/// What callers of a slot that does everything right can have seen, some of them without an answer.
std::vector<Operation> RandomCalls(Random& random, std::size_t count);

/// Changes a detail or two: it may be wrong then.
void Corrupt(Random& random, std::vector<Operation>& operations);

}  // namespace once
