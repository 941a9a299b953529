#include "replica/api/errors.h"

#include <boost/json.hpp>

#include "replica/api/accept.h"

namespace once {

namespace json = boost::json;

HttpReply JsonReply(int status, const json::object& body) {
  HttpReply reply;
  reply.status = status;
  reply.headers.emplace_back("Content-Type", "application/json");
  reply.body = json::serialize(body);
  return reply;
}

HttpReply ErrorReply(int status, std::string_view error, std::string_view message, bool as_problem,
                     json::object details) {
  HttpReply reply;
  if (as_problem) {
    json::object problem = {{"type", "urn:once:error:" + std::string(error)},
                            {"title", error},
                            {"status", status},
                            {"detail", message}};
    for (const auto& [name, value] : details) problem[name] = value;
    reply = JsonReply(status, problem);
    reply.headers[0].second = kProblem;
  } else {
    json::object body = {{"error", error}, {"message", message}};
    if (!details.empty()) body["details"] = std::move(details);
    reply = JsonReply(status, body);
  }
  if (status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

void RetryAfter(HttpReply& reply, std::int64_t seconds) {
  reply.headers.emplace_back("Retry-After", std::to_string(seconds));
}

HttpReply UnavailableReply(std::string_view message, bool as_problem) {
  HttpReply reply = ErrorReply(503, "unavailable", message, as_problem, {{"retryAfter", 1}});
  RetryAfter(reply, 1);
  return reply;
}

HttpReply CannotRead(bool as_problem) {
  return UnavailableReply("This cannot be read now; ask again.", as_problem);
}

bool WantsProblem(const HttpRequest& request) {
  return PrefersToJson(request, kProblem);
}

}  // namespace once
