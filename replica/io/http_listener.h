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
///     gets 408; an idle connection, or one that does not take its answer, is closed without a
///     word.
///   - Over connections_max, or connections_per_address_max (an IPv6 address counts by its /64), a
///     connection gets 503 with `Retry-After: 1`; many of them at once, or with TLS, are just
///     closed.
///
/// What the service can rely on:
///   - A Respond may be called after its client, or the listener, is gone: nothing happens.
///   - A stream's callback runs once its head is on the way, and not at all for HEAD or when the
///     client is gone. A stream ends its connection. Send returns false from the moment the client
///     closes (its sending side suffices), or more than stream_queue_bytes_max wait for it.
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

  /// Accepts no more, closes idle connections, ends streams, and lets requests that have begun be
  /// answered (with `Connection: close`) for up to `deadline_ms`; the rest is then closed. `done`
  /// runs once, later, when no connection is left. Call it once.
  void Stop(std::function<void()> done, std::int64_t deadline_ms = 10'000);

 private:
  class Impl;
  explicit HttpListener(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace once
