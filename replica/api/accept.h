// The Accept header of RFC 9110, for the choices that Once has: plain JSON, or one other form of
// it.
#pragma once

#include "replica/api/http.h"

namespace once {

/// True when `type` is named, with a weight above 0 that is not below that of application/json. A
/// wildcard alone never asks for anything but JSON. What is malformed is ignored.
bool PrefersToJson(const HttpRequest& request, std::string_view type);

inline constexpr std::string_view kEventStream = "text/event-stream";
inline constexpr std::string_view kProblem = "application/problem+json";

}  // namespace once
