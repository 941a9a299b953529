// How a command of oncectl ends that could not do what it was asked for.
#pragma once

#include <iostream>
#include <string>

namespace once {

/// Says why on stderr. The exit code.
inline int Fail(const std::string& why) {
  std::cerr << "oncectl: " << why << "\n";
  return 1;
}

}  // namespace once
