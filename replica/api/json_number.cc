#include "replica/api/json_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "replica/env/check.h"

namespace once {
namespace {

constexpr std::int64_t kPlainDigitsMax = 21;  // ECMAScript writes an exponent beyond this
constexpr std::int64_t kDoubleDigitsMax = std::numeric_limits<double>::max_exponent10 + 1;

// 0.DIGITS x 10^point, without zeros at either end of the digits; no digits at all is zero.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t point = 0;

  bool Integral() const { return point >= static_cast<std::int64_t>(digits.size()); }
};

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// An exponent far beyond what the length of any document could balance is as good as this one.
std::int64_t ReadExponent(std::string_view text) {
  constexpr std::int64_t far = 1'000'000'000'000;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::int64_t exponent = 0;
  for (const char c : text) exponent = std::min(far, exponent * 10 + (c - '0'));
  return negative ? -exponent : exponent;
}

Decimal ReadDecimal(std::string_view text) {
  Decimal decimal;
  decimal.negative = text.starts_with('-');
  if (decimal.negative) text.remove_prefix(1);
  const std::size_t mark = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, mark);
  const std::string_view whole = mantissa.substr(0, mantissa.find('.'));
  decimal.digits = whole;
  if (whole.size() < mantissa.size()) decimal.digits += mantissa.substr(whole.size() + 1);
  decimal.point = static_cast<std::int64_t>(whole.size());
  if (mark != std::string_view::npos) decimal.point += ReadExponent(text.substr(mark + 1));

  const std::size_t leading =
      std::min(decimal.digits.find_first_not_of('0'), decimal.digits.size());
  decimal.digits.erase(0, leading);
  decimal.point -= static_cast<std::int64_t>(leading);
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  return decimal;
}

// ECMAScript Number::toString, for any number of digits.
void AppendDecimal(const Decimal& decimal, std::string& out) {
  const std::string& digits = decimal.digits;
  const std::int64_t point = decimal.point;
  if (digits.empty()) {
    out += '0';
    return;
  }
  if (decimal.negative) out += '-';
  if (decimal.Integral() && point <= kPlainDigitsMax) {
    out.append(digits).append(static_cast<std::size_t>(point) - digits.size(), '0');
  } else if (point > 0 && point <= kPlainDigitsMax) {
    out.append(digits, 0, point).append(1, '.').append(digits, point);
  } else if (point > -6 && point <= 0) {
    out.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
  } else {
    out += digits[0];
    if (digits.size() > 1) out.append(1, '.').append(digits, 1);
    out.append(point > 0 ? "e+" : "e-").append(std::to_string(std::llabs(point - 1)));
  }
}

// The nearest double; infinite when there is no finite one. Only for a JSON number.
double NearestDouble(std::string_view text, const Decimal& decimal) {
  double nearest = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), nearest);
  Check(read.ec != std::errc::invalid_argument, "a JSON number reads as a double");
  // Out of range is told for both ends and leaves the value alone.
  if (read.ec == std::errc::result_out_of_range)
    return decimal.point > 0 ? std::numeric_limits<double>::infinity() : 0;
  return nearest;
}

bool FitsDouble(std::string_view text, const Decimal& decimal) {
  if (decimal.point < kDoubleDigitsMax || decimal.digits.empty()) return true;
  return decimal.point == kDoubleDigitsMax && std::isfinite(NearestDouble(text, decimal));
}

// The fewest digits that read back as `value`, which is finite.
Decimal ShortestDecimal(double value) {
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  return ReadDecimal({buffer, static_cast<std::size_t>(end - buffer)});
}

// Already canonical, as nearly every number is.
bool IsShortInteger(std::string_view text) {
  if (text == "0") return true;
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  return digits.size() <= kPlainDigitsMax && !digits.starts_with('0') &&
         std::all_of(digits.begin(), digits.end(), IsDigit);
}

}  // namespace

bool AppendCanonicalNumber(std::string_view text, std::string& out) {
  if (IsShortInteger(text)) {
    out += text;
    return true;
  }
  const Decimal decimal = ReadDecimal(text);
  if (!FitsDouble(text, decimal)) return false;
  AppendDecimal(decimal.Integral() || decimal.digits.empty()
                    ? decimal
                    : ShortestDecimal(NearestDouble(text, decimal)),
                out);
  return true;
}

bool ReadNumber(std::string_view text, JsonNumber& number) {
  std::string canonical;
  if (!AppendCanonicalNumber(text, canonical)) return false;
  const char* const begin = canonical.data();
  const char* const end = begin + canonical.size();
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(begin, end, whole);
      read.ec == std::errc{} && read.ptr == end) {
    number = whole;
    return true;
  }
  std::uint64_t natural = 0;
  if (const auto read = std::from_chars(begin, end, natural);
      read.ec == std::errc{} && read.ptr == end) {
    number = natural;
    return true;
  }
  number = NearestDouble(canonical, ReadDecimal(canonical));
  return true;
}

}  // namespace once
