// The error shapes of the whole surface: {error, message, details?}, or RFC 9457 on request.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "replica/api/http.h"

namespace once {

/// A reply with a JSON body.
HttpReply JsonReply(int status, const boost::json::object& body);

/// {error, message, details?}; as application/problem+json when the caller prefers that. Status
/// 401 carries WWW-Authenticate.
HttpReply ErrorReply(int status, std::string_view error, std::string_view message,
                     bool as_problem = false, boost::json::object details = {});

void RetryAfter(HttpReply& reply, std::int64_t seconds);

/// 503, to be tried again in a second.
HttpReply UnavailableReply(std::string_view message, bool as_problem);
/// That, to a request that only reads.
HttpReply CannotRead(bool as_problem);

/// True when the caller's Accept asks for application/problem+json.
bool WantsProblem(const HttpRequest& request);

}  // namespace once
