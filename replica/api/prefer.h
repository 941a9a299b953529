// The Prefer header of RFC 7240, as far as Once knows it.
#pragma once

#include <cstdint>
#include <optional>

#include "replica/api/http.h"

namespace once {

/// The seconds of the first `wait` among the request's preferences, on however many lines, at most
/// a day. Nothing: there is none, or it is not a number, and such a preference is ignored.
std::optional<std::int64_t> PreferredWait(const HttpRequest& request);

}  // namespace once
