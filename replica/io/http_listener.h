// The HTTP/1.1 edge of a node: sockets in, requests to an HttpService, answers out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "replica/api/http.h"
#include "replica/io/http_connections.h"
#include "replica/io/tls.h"
#include "replica/limits.h"

namespace boost::asio {
class io_context;
}

namespace once {

struct ListenOptions {
  std::string address;        // an IP literal
  std::uint16_t port = 0;     // 0: the kernel chooses, see port()
  const Limits& limits;       // must outlive the listener; changes count from the next request on
  TlsContext* tls = nullptr;  // must outlive the listener; null: plain HTTP
};

/// Everything, construction and destruction included, happens on the one thread that runs the
/// io_context. The io_context must outlive the listener and every Respond and EventSink it gave
/// out.
///
/// What a client can rely on:
///   - One request at a time per connection; pipelined ones are answered in order. A client that
///     closes its sending side still gets its answer.
///   - What cannot be served (see RequestReader) gets an answer with a body of exactly
///     {"error","message"} and the connection is closed. A request that does not arrive in time
///     gets 408; an idle connection is closed without a word, one that does not take its answer is
///     cut off.
///   - Over connections_max, or connections_per_address_max (an IPv6 address counts by its /64), a
///     connection gets 503 with `Retry-After: 1`; more than refusals_max of them at once, or with
///     TLS, are just closed.
///
/// What the service can rely on:
///   - A Respond may be called after its client, or the listener, is gone: nothing happens.
///   - A stream's callback runs once its head is on the way, and not at all for HEAD or when the
///     client is gone. A stream ends its connection. A client may close its sending side and listen
///     on; one that closed both is noticed at once. Send returns false once that has ended the
///     stream. While more than stream_queue_bytes_max wait for the client it takes nothing: it
///     returns false, and the stream ends behind what is queued.
class HttpListener {
 public:
  /// Binds and starts to accept, or says why not.
  static std::variant<std::unique_ptr<HttpListener>, std::string> Open(
      boost::asio::io_context& context, ListenOptions options, HttpService& service);
  /// Closes every connection at once.
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  std::uint16_t port() const;
  HttpCounters counters() const;

  /// Accepts no more connections than the kernel has already made, ends streams, and answers (with
  /// `Connection: close`) requests that have begun or begin within stop_grace_ms. A connection on
  /// which none does is then half-closed: what the client sent before it could know is read and
  /// forgotten, so that it sees the end and no reset. What is left after stop_deadline_ms is
  /// closed. `done` runs once, later, when no connection is left. Call it once.
  ///
  /// So a client that sends a request before it sees the end gets its whole answer, or the end and
  /// not one byte, and then the request was not looked at. Not promised: to one who connects in the
  /// moment the listening socket is closed, to one who goes on sending stop_grace_ms after the end
  /// was sent, and to requests that are not answered by stop_deadline_ms.
  void Stop(std::function<void()> done);

 private:
  class Impl;
  explicit HttpListener(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace once
