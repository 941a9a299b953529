#include "tests/system/caller.h"

#include <boost/json.hpp>
#include <sstream>

namespace once {

namespace json = boost::json;

namespace {

json::object Body(const HttpResult& result) {
  boost::system::error_code error;
  json::value value = json::parse(result.body, error);
  return error || !value.is_object() ? json::object() : value.as_object();
}

}  // namespace

HeaderList Caller::Headers(const std::string& idempotency_key) const {
  HeaderList headers = {{"Authorization", "Bearer " + key_}};
  if (!idempotency_key.empty()) headers.emplace_back("Idempotency-Key", idempotency_key);
  return headers;
}

HttpResult Caller::Get(const std::string& target) {
  return http_.Request("GET", target, Headers());
}

HttpResult Caller::Post(const std::string& target, const std::string& body,
                        const std::string& idempotency_key) {
  return http_.Request("POST", target, Headers(idempotency_key), body);
}

HttpResult Caller::Begin(const std::string& idempotency_key, int lease_seconds,
                         const std::string& endpoint) {
  const json::object body = {
      {"endpoint", endpoint}, {"request", {{"amount", 7}}}, {"leaseSeconds", lease_seconds}};
  return Post("/v1/claims", json::serialize(body), idempotency_key);
}

HttpResult Caller::Settle(const BegunClaim& claim, const std::string& answer, int status) {
  HeaderList headers = Headers();
  headers.emplace_back("If-Match", "\"" + std::to_string(claim.fence) + "\"");
  const json::object body = {{"status", status}, {"body", answer}};
  return http_.Request("PUT", "/v1/claims/" + claim.id + "/outcome", headers,
                       json::serialize(body));
}

HttpResult Caller::CreateRun(const std::string& idempotency_key, const std::string& workflow,
                             const std::string& inputs) {
  return Post("/v1/runs", R"({"workflowId":")" + workflow + R"(","inputs":)" + inputs + "}",
              idempotency_key);
}

double Caller::Metric(const std::string& name) {
  std::istringstream lines(Get("/metrics").body);
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + " ") && !line.starts_with(name + "{")) continue;
    sum += std::stod(line.substr(line.rfind(' ') + 1));
  }
  return sum;
}

BegunClaim ClaimOf(const HttpResult& result) {
  const json::object body = Body(result);
  BegunClaim claim;
  if (const auto* id = body.if_contains("claimId")) claim.id = id->as_string();
  if (const auto* run = body.if_contains("runId")) claim.run_id = run->as_string();
  if (const auto* fence = body.if_contains("fence"))
    claim.fence = fence->to_number<std::uint64_t>();
  return claim;
}

std::string AnswerOf(const HttpResult& result) {
  const json::object body = Body(result);
  const auto* outcome = body.if_contains("outcome");
  const auto* text = outcome ? outcome->as_object().if_contains("body") : nullptr;
  return text ? std::string(text->as_string()) : "";
}

std::string Member(const HttpResult& result, const std::string& name) {
  const json::object body = Body(result);
  const auto* value = body.if_contains(name);
  return value && value->is_string() ? std::string(value->as_string()) : "";
}

}  // namespace once
