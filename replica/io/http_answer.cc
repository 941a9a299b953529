#include "replica/io/http_answer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

namespace once {
namespace {

std::string_view Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 425:
      return "Too Early";
    case 428:
      return "Precondition Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 507:
      return "Insufficient Storage";
    default:
      return "Other";
  }
}

void AppendNumber(std::uint64_t number, int base, std::string& out) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  out.append(digits.data(), end);
}

bool Equals(std::string_view name, std::string_view lower) {
  return name.size() == lower.size() &&
         std::equal(name.begin(), name.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b;
         });
}

bool IsFraming(std::string_view name) {
  return Equals(name, "content-length") || Equals(name, "transfer-encoding") ||
         Equals(name, "connection");
}

void AppendLineSafe(std::string_view text, std::string& out) {
  const std::size_t from = out.size();
  out += text;
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(from), out.end(),
      [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
}

void AppendFields(const HttpReply& reply, AnswerForm form, std::string_view date,
                  std::string& out) {
  out += "HTTP/1.1 ";
  AppendNumber(static_cast<std::uint64_t>(reply.status), 10, out);
  out += ' ';
  out += Reason(reply.status);
  out += "\r\nServer: once\r\nDate: ";
  out += date;
  out += "\r\n";
  for (const auto& [name, value] : reply.headers) {
    if (IsFraming(name)) continue;
    AppendLineSafe(name, out);
    out += ": ";
    AppendLineSafe(value, out);
    out += "\r\n";
  }
  if (!form.keep_alive)
    out += "Connection: close\r\n";
  else if (form.http_1_0)
    out += "Connection: keep-alive\r\n";
}

}  // namespace

void AppendAnswer(const HttpReply& reply, AnswerForm form, std::string_view date,
                  std::string& out) {
  AppendFields(reply, form, date, out);
  const bool bodiless = reply.status / 100 == 1 || reply.status == 204 || reply.status == 304;
  if (!bodiless) {
    out += "Content-Length: ";
    AppendNumber(reply.body.size(), 10, out);
    out += "\r\n";
  }
  out += "\r\n";
  if (!bodiless && !form.head_only) out += reply.body;
}

void AppendStreamHead(const HttpReply& reply, AnswerForm form, std::string_view date,
                      std::string& out) {
  AppendFields(reply, form, date, out);
  if (!form.http_1_0) out += "Transfer-Encoding: chunked\r\n";
  out += "\r\n";
}

void AppendChunk(std::string_view bytes, std::string& out) {
  AppendNumber(bytes.size(), 16, out);
  out += "\r\n";
  out += bytes;
  out += "\r\n";
}

HttpReply ErrorReply(int status, std::string_view code, std::string_view message) {
  HttpReply reply;
  reply.status = status;
  reply.headers.emplace_back("Content-Type", "application/json");
  reply.body.append(R"({"error":")").append(code).append(R"(","message":")");
  reply.body.append(message).append(R"("})");
  return reply;
}

std::string HttpDate(std::int64_t unix_seconds) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = unix_seconds;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  // By hand: strftime writes the names in the process's language.
  const auto digits = [](int number, std::size_t width) {
    std::string text = std::to_string(number);
    return std::string(width - std::min(width, text.size()), '0') + text;
  };
  return std::string(kDays[utc.tm_wday]) + ", " + digits(utc.tm_mday, 2) + " " +
         kMonths[utc.tm_mon] + " " + digits(utc.tm_year + 1900, 4) + " " + digits(utc.tm_hour, 2) +
         ":" + digits(utc.tm_min, 2) + ":" + digits(utc.tm_sec, 2) + " GMT";
}

}  // namespace once
