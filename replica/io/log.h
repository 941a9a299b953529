// The node's log: one structured line per event on stderr. Callers' keys, bodies and credentials
// are never given to it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace once {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };

/// `level` is trace, debug, info, warn or error; `json` writes objects instead of key=value.
void StartLog(const std::string& level, bool json);

using LogField = std::pair<std::string_view, std::string_view>;
void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});

/// A value as it stands behind the = of a key=value line: quoted when it needs to be.
std::string LogValue(std::string_view value);

}  // namespace once
