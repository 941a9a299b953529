// Seeded bugs. A test-only build (ONCE_MUTATIONS) can turn one on at a time, to prove that the
// simulator's checks would find it; in every other build this is nothing at all.
#pragma once

#include <string>
#include <string_view>

namespace once {

#ifdef ONCE_MUTATIONS
/// The one that is on; empty for none.
inline std::string& ActiveMutation() {
  static std::string name;
  return name;
}
/// The active one was asked for: the code came to where the bug is.
inline bool& MutationReached() {
  static bool reached = false;
  return reached;
}
/// To be asked last in a condition: when the answer decides what happens.
inline bool MutationOn(std::string_view name) {
  if (name != ActiveMutation()) return false;
  MutationReached() = true;
  return true;
}
#else
constexpr bool MutationOn(std::string_view) {
  return false;
}
#endif

}  // namespace once
