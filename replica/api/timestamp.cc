#include "replica/api/timestamp.h"

#include <chrono>

namespace once {

std::string Timestamp(std::int64_t unix_ms) {
  using namespace std::chrono;
  const sys_time<milliseconds> at{milliseconds{unix_ms}};
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss time{at - day};
  std::string text = "0000-00-00T00:00:00.000Z";
  const auto put = [&text](std::size_t at, int digits, unsigned value) {
    for (int i = digits - 1; i >= 0; --i, value /= 10)
      text[at + static_cast<std::size_t>(i)] = static_cast<char>('0' + value % 10);
  };
  put(0, 4, static_cast<unsigned>(int(date.year())));
  put(5, 2, unsigned(date.month()));
  put(8, 2, unsigned(date.day()));
  put(11, 2, static_cast<unsigned>(time.hours().count()));
  put(14, 2, static_cast<unsigned>(time.minutes().count()));
  put(17, 2, static_cast<unsigned>(time.seconds().count()));
  put(20, 3, static_cast<unsigned>(time.subseconds().count()));
  return text;
}

}  // namespace once
