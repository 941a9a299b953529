// What a service does with Once, over HTTP.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>

#include "tests/system/http_client.h"

namespace once {

struct BegunClaim {
  std::string id;
  std::string run_id;
  std::uint64_t fence = 0;
};

/// A caller with one bearer key on one connection. One per thread.
class Caller {
 public:
  Caller(std::uint16_t port, std::string key,
         HttpClient::Transport transport = HttpClient::Transport::kPlain)
      : http_(port, transport), key_(std::move(key)) {}

  HttpClient& http() { return http_; }
  /// Headers that say who is calling and, unless empty, with which idempotency key.
  HeaderList Headers(const std::string& idempotency_key = "") const;

  HttpResult Get(const std::string& target);
  HttpResult Post(const std::string& target, const std::string& body,
                  const std::string& idempotency_key = "");

  HttpResult Begin(const std::string& idempotency_key, int lease_seconds = 30,
                   const std::string& endpoint = "charge");
  HttpResult Settle(const BegunClaim& claim, const std::string& answer, int status = 200);
  HttpResult CreateRun(const std::string& idempotency_key, const std::string& workflow = "noop",
                       const std::string& inputs = "{}");
  /// The value of a metric without labels, or the sum over all of its label sets.
  double Metric(const std::string& name);

 private:
  HttpClient http_;
  const std::string key_;
};

/// The claim in a 201 or 200 of Begin.
BegunClaim ClaimOf(const HttpResult& result);
/// The body's `outcome.body`; empty when it has none.
std::string AnswerOf(const HttpResult& result);
/// A member of the body that is a string; empty when there is none.
std::string Member(const HttpResult& result, const std::string& name);

}  // namespace once
