// Makes the sessions of a listener from accepted sockets.
#pragma once

#include <memory>

#include "replica/io/http_connections.h"
#include "replica/io/tls.h"

namespace boost::asio {
class io_context;
}

namespace once {

/// A session over the connected socket `fd`, which it owns from here on; TLS when `tls` is given.
/// Null (and the socket closed) when the socket is already broken.
///
/// A session reads one request, has it served, sends the answer, and only then looks at the next,
/// which may already be in its buffer: a client cannot make it hold more than one request and 8
/// KiB. An answer that ends the connection is followed by a short drain, so that bytes still on
/// their way do not reset the connection before the client has read it.
std::shared_ptr<HttpSession> MakeHttpSession(boost::asio::io_context& context, int fd, bool ip_v6,
                                             std::shared_ptr<HttpConnections> connections,
                                             TlsContext* tls);

}  // namespace once
