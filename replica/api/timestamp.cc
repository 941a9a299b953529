#include "replica/api/timestamp.h"

#include <chrono>
#include <cstdio>

namespace once {

std::string Timestamp(std::int64_t unix_ms) {
  using namespace std::chrono;
  const sys_time<milliseconds> at{milliseconds{unix_ms}};
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss time{at - day};
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", int(date.year()),
                unsigned(date.month()), unsigned(date.day()), int(time.hours().count()),
                int(time.minutes().count()), int(time.seconds().count()),
                int(time.subseconds().count()));
  return text;
}

}  // namespace once
