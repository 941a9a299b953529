// Times on the wire: ISO 8601 in UTC with milliseconds.
#pragma once

#include <cstdint>
#include <string>

namespace once {

/// 1970-01-01T00:00:00.000Z for 0; computed without the process's time zone.
std::string Timestamp(std::int64_t unix_ms);

}  // namespace once
