// A tenant whose mode changes while a world runs.
#pragma once

namespace once {

/// It is best-effort by the rules that a world begins with, and ends with.
inline constexpr const char* kMovingTenant = "initech";

}  // namespace once
