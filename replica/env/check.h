// CHECK: broken logic crashes, in release too. A function, not a text macro, so that its argument
// means what it says.
#pragma once

#include <source_location>

namespace once {

/// Prints the place and `what` to stderr and aborts when `holds` is false.
void Check(bool holds, const char* what,
           std::source_location where = std::source_location::current());

}  // namespace once
