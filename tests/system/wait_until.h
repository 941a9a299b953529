// Waiting in tests of real processes: for a condition, never for a span.
#pragma once

#include <poll.h>

#include <chrono>

namespace once {

/// Generous, because the machine may be busy; a passing test does not use it up.
constexpr std::chrono::seconds kPatience{30};

/// True as soon as `condition()` is; false when it was not within `patience`.
template <typename Condition>
bool WaitUntil(Condition condition, std::chrono::milliseconds patience = kPatience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 2);  // between two looks
  }
  return true;
}

}  // namespace once
