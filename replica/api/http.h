// An HTTP exchange as values. The listener in io/ fills them from the wire; everything in api/
// works on them, so the whole surface can be driven without a socket.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace once {

/// Views into the listener's buffer: valid until Serve returns, so copy what outlives the call.
struct HttpRequest {
  std::string_view method;  // upper case
  std::string_view target;  // as sent: path and query, still percent-encoded
  std::vector<std::pair<std::string_view, std::string_view>> headers;  // in order, values trimmed
  std::string_view body;

  /// The first header of that name (any case), or an empty view.
  std::string_view Header(std::string_view name) const;
  /// How many headers carry that name.
  int Count(std::string_view name) const;
};

/// One open server-sent-event response. Send and Close may be called until either returns false.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// Queues bytes, all of them or none; false when the client is gone or reads too slowly (the
  /// stream then ends).
  virtual bool Send(std::string_view bytes) = 0;
  virtual void Close() = 0;
};

struct HttpReply {
  int status = 500;
  std::vector<std::pair<std::string, std::string>> headers;  // without Content-Length
  std::string body;
  /// Set for a stream: called with the sink after the head was sent; `body` must be empty.
  std::function<void(std::shared_ptr<EventSink>)> stream;
};

using Respond = std::function<void(HttpReply)>;

/// The part of the node that the listener talks to.
class HttpService {
 public:
  virtual ~HttpService() = default;
  /// Calls `respond` exactly once, now or later, on the replica's thread. A client that went away
  /// meanwhile is the listener's business: the work goes on.
  virtual void Serve(const HttpRequest& request, Respond respond) = 0;
};

}  // namespace once
