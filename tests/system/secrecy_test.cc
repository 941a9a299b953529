// What callers entrust to a node is in none of its outputs.
#include <csignal>
#include <filesystem>

#include "tests/system/node_process.h"
#include "tests/system/promises.h"
#include "tests/system/sync_fault.h"

namespace once {
namespace {

namespace fs = std::filesystem;

// Strings that occur nowhere else, by what they were used for.
const std::vector<std::string> kCanaries = {
    "canary-header-key",   "canary-query-key",      "canary-odd-key",   "canary-body",
    "canary-inputs",       "canary-other-body",     "canary-workflow",  "canary-answer",
    "canary-wrong-bearer", "canary-fail-inputs",    "canary-malformed", "canary-path",
    "canary-reason",       "canary-webhook-secret", "canary-bad-head",  "canary-fingerprint"};

void ExpectAbsent(const std::string& text, const std::string& where,
                  const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets)
    EXPECT_EQ(text.find(secret), std::string::npos) << secret << " is in " << where;
}

// Every canary, over answers of every class.
void SendCanaries(NodeProcess& node, const std::string& key, const std::string& admin) {
  Caller caller(node.port(), key);
  const auto run = [&](const std::string& idempotency_key, const std::string& body) {
    const HttpResult result = caller.Post("/v1/runs", body, idempotency_key);
    // An error is read by people and kept by proxies.
    if (result.status >= 400) ExpectAbsent(result.body, "an error's body", {"canary"});
    return result.status;
  };
  const std::string body = R"({"workflowId":"noop","inputs":{"note":"canary-inputs"}})";
  EXPECT_EQ(run("canary-header-key", body), 201);
  EXPECT_EQ(run("canary-header-key", body), 201);
  EXPECT_EQ(run("canary-header-key", R"({"workflowId":"append","x":"canary-other-body"})"), 409);
  EXPECT_EQ(run("bad \x01 canary-odd-key", body), 400);
  EXPECT_EQ(run("canary-odd-key, canary-odd-key", body), 400);
  EXPECT_EQ(run("", R"({"workflowId":"canary-workflow"})"), 400);
  EXPECT_EQ(run("", R"({"workflowId": canary-malformed)"), 400);
  EXPECT_EQ(run("canary-header-key-2",
                R"({"workflowId":"fail","inputs":{"status":503,"note":"canary-fail-inputs"}})"),
            503);
  EXPECT_EQ(caller.Post("/v1/runs?idempotency_key=canary-query-key", body).status, 201);
  EXPECT_EQ(caller.Post("/v1/runs?idempotency_key=canary-query-key&idempotency_key=x", body).status,
            400);
  EXPECT_EQ(caller.Get("/v1/runs/canary-path").status, 404);
  EXPECT_EQ(caller.Get("/canary-path?canary-query-key").status, 404);
  EXPECT_EQ(Caller(node.port(), "canary-wrong-bearer").Get("/v1/runs/x").status, 401);

  const BegunClaim claim = ClaimOf(caller.Begin("canary-header-key"));
  EXPECT_EQ(caller.Settle({claim.id, claim.run_id, claim.fence + 1}, "canary-answer").status, 409);
  EXPECT_EQ(caller.Settle(claim, "canary-answer").status, 200);
  EXPECT_EQ(AnswerOf(caller.Begin("canary-header-key")), "canary-answer");
  EXPECT_EQ(caller
                .Post("/v1/claims", R"({"endpoint":"charge","fingerprint":"canary-fingerprint"})",
                      "canary-header-key")
                .status,
            409);
  const HttpResult waiting = caller.CreateRun("", "delay", R"({"delayMs":3600000})");
  EXPECT_EQ(
      caller
          .Post("/v1/runs/" + Member(waiting, "runId") + "/cancel", R"({"reason":"canary-reason"})")
          .status,
      200);
  EXPECT_EQ(caller.Post("/v1/webhooks", R"({"url":"https://hooks.example/canary-webhook-secret"})")
                .status,
            201);

  HttpClient broken(node.port());
  broken.SendBytes("POST /canary-bad-head HTTP/1.1\r\ncanary-bad-head\r\n\r\n");
  EXPECT_EQ(broken.Receive().status, 400);
  HttpClient large(node.port());
  large.SendBytes(
      "POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\ncanary-body");
  EXPECT_EQ(large.Receive().status, 413);

  Caller operator_(node.port(), admin);
  EXPECT_EQ(
      operator_.http()
          .Request("PUT", "/v1/admin/policies", operator_.Headers(), R"({"mismatch":"observe"})")
          .status,
      200);
  EXPECT_EQ(run("canary-header-key", R"({"workflowId":"append","x":"canary-other-body"})"), 201);
}

class Secrecy : public testing::TestWithParam<bool> {};

TEST_P(Secrecy, OW_N_09_S_63_CanariesAreInNoLogMetricOrErrorOutput) {
  NodeProcess node({.settings = std::string("[log]\nlevel = \"trace\"\njson = ") +
                                (GetParam() ? "true" : "false") + "\n"});
  const std::string key = node.AddKey("acme");
  const std::string admin = node.AddKey("operator", "admin", {"admin"});
  const std::string fault_file = node.scratch() / "the-disk-fails";
  node.setup.environment = SyncFault("error:" + fault_file);
  ASSERT_TRUE(node.Start());
  SendCanaries(node, key, admin);
  // Starting, reloading, stopping and failing have outputs of their own.
  EXPECT_TRUE(node.Logged("mismatch-observed")) << "or the log holds nothing to look at";
  node.Signal(SIGHUP);
  EXPECT_TRUE(WaitUntil([&] { return node.Logged("reloaded"); }));
  EXPECT_EQ(node.Stop(), 0);
  ASSERT_TRUE(node.Start());
  Caller caller(node.port(), key);
  EXPECT_EQ(AnswerOf(caller.Begin("canary-header-key")), "canary-answer");
  WriteFile(fault_file, "");
  EXPECT_EQ(caller.Begin("canary-header-key-3").status, 503);

  std::vector<std::string> secrets = kCanaries;
  secrets.insert(secrets.end(), {key, admin});
  const HttpResult metrics = Caller(node.port(), admin).Get("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_NE(metrics.body.find("once_claims_total"), std::string::npos);
  ExpectAbsent(metrics.body, "the metrics", secrets);
  node.Signal(SIGTERM);
  EXPECT_TRUE(node.WaitExit());
  EXPECT_EQ(node.Logged(GetParam() ? "{\"time\"" : "level=info"), true);
  ExpectAbsent(node.Log(), "the log", secrets);
  for (const auto& entry : fs::recursive_directory_iterator(node.data_dir()))
    if (entry.is_regular_file())
      ExpectAbsent(ReadFile(entry.path()), entry.path(), {key, admin, "canary-wrong-bearer"});
  ExpectAbsent(ReadFile(node.keys_file()), "the credentials file", {key, admin});
}

INSTANTIATE_TEST_SUITE_P(LogFormats, Secrecy, testing::Bool(),
                         [](const auto& format) { return format.param ? "Json" : "Text"; });

}  // namespace
}  // namespace once
