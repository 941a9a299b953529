// The bytes of one connection become requests, one at a time. No socket here: the session says
// where bytes arrived, so everything about malformed input can be tried without one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "replica/api/http.h"
#include "replica/limits.h"

namespace once {

/// Why a request cannot be served, as the answer that says so. The connection ends with it.
struct HttpFault {
  int status;
  std::string_view code;     // the `error` member
  std::string_view message;  // the `message` member
};

/// Beast parses; what it lets through and two readers could understand differently is refused here.
/// 400 unless said otherwise:
///   - more than one Content-Length (also as a list, also if equal), Content-Length together with
///     Transfer-Encoding, Transfer-Encoding in HTTP/1.0; a coding other than `chunked` is 501
///   - obs-fold, line ends other than CRLF, control characters, a space before the colon
///   - chunk extensions, bad chunk sizes; trailers are read and dropped
///   - HTTP/1.1 without exactly one Host, an absolute target of another host, a method of more than
///     32 characters or with lower case, a target that is neither a path nor `*` (OPTIONS only)
///   - a head over header_bytes_max: 431; a body over body_bytes_max: 413; an Expect other than
///     100-continue: 417
/// One empty line before a request is skipped, as RFC 9112 asks.
///
/// Memory: 8 KiB while small requests pass; never more than head, body and 64 KiB.
class RequestReader {
 public:
  enum class Step {
    kNeedMore,  // read into Space(), Commit, and Read again
    kRequest,   // request() is complete; Next() when it was served
    kFault,     // fault() says why; nothing more can be read
  };
  enum class Stage { kIdle, kHead, kBody };

  /// `limits` is read at every request and must outlive the reader.
  explicit RequestReader(const Limits& limits);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// Room for the next bytes, never empty after kNeedMore; valid until the next call.
  std::span<char> Space();
  void Commit(std::size_t bytes);

  Step Read();
  /// What the bytes so far are part of; kIdle between requests.
  Stage stage() const;
  /// Bytes that the current request holds, with the room for its next ones.
  std::size_t held_bytes() const;
  /// True once per request that waits for `100 Continue` and whose head is acceptable.
  bool TakeContinue();

  /// The fields below belong to the current request (after kRequest, until Next). The views point
  /// into the reader's buffer.
  const HttpRequest& request() const;
  bool keep_alive() const;
  bool http_1_0() const;
  const HttpFault& fault() const;

  /// Drops the current request and keeps what was read beyond it.
  void Next();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace once
