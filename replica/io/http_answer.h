// An answer as the bytes of HTTP/1.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "replica/api/http.h"

namespace once {

/// What the request and the connection decide about an answer's form.
struct AnswerForm {
  bool keep_alive = true;
  bool http_1_0 = false;   // the request's version; keep-alive must then be said
  bool head_only = false;  // the request was HEAD: the length of the body without the body
};

/// Appends status line, headers and body. `Content-Length`, `Transfer-Encoding` and `Connection`
/// are this file's to write: the reply's own are left out. Line ends inside a header become spaces,
/// so that a value that came from a caller cannot add a header. `date` is the value of `Date`.
void AppendAnswer(const HttpReply& reply, AnswerForm form, std::string_view date, std::string& out);

/// The head of a stream: chunked, or in HTTP/1.0 everything until the connection closes.
void AppendStreamHead(const HttpReply& reply, AnswerForm form, std::string_view date,
                      std::string& out);
/// One chunk; `bytes` must not be empty, because an empty chunk ends the stream.
void AppendChunk(std::string_view bytes, std::string& out);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

/// `{"error": code, "message": message}` as JSON. Both must be plain ASCII without quotes.
HttpReply ErrorReply(int status, std::string_view code, std::string_view message);

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
std::string HttpDate(std::int64_t unix_seconds);

}  // namespace once
