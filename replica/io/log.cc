#include "replica/io/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "replica/api/json_members.h"

namespace once {
namespace {

bool json_lines = false;

spdlog::level::level_enum Level(LogLevel level) {
  return static_cast<spdlog::level::level_enum>(level);
}

}  // namespace

static_assert(static_cast<int>(LogLevel::kError) == SPDLOG_LEVEL_ERROR);

void StartLog(const std::string& level, bool json) {
  json_lines = json;
  auto logger =
      std::make_shared<spdlog::logger>("once", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::trace);
  logger->set_pattern(json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                           : "time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v",
                      spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(logger);
}

std::string LogValue(std::string_view value) {
  const bool plain =
      !value.empty() && value.find_first_of(" =\"\\\n\r\t") == std::string_view::npos;
  if (plain) return std::string(value);
  std::string out;
  AppendJsonString(out, value);
  return out;
}

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!spdlog::should_log(Level(level))) return;
  std::string line;
  if (json_lines) {
    line = "\"event\":";
    AppendJsonString(line, event);
    for (const auto& [name, value] : fields) {
      line += ',';
      AppendJsonString(line, name);
      line += ':';
      AppendJsonString(line, value);
    }
  } else {
    line = "event=" + LogValue(event);
    for (const auto& [name, value] : fields)
      line += " " + std::string(name) + "=" + LogValue(value);
  }
  spdlog::log(Level(level), "{}", line);
}

}  // namespace once
