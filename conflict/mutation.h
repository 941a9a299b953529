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
inline bool MutationOn(std::string_view name) {
  return name == ActiveMutation();
}
#else
constexpr bool MutationOn(std::string_view) {
  return false;
}
#endif

}  // namespace once
