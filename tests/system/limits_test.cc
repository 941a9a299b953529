// Bounds, as a client meets them.
#include "tests/system/node_process.h"
#include "tests/system/promises.h"

namespace once {
namespace {

// A node with these lines under [limits].
class Limited {
 public:
  explicit Limited(const std::string& limits)
      : node({.node_settings = "metrics_public = true", .settings = "[limits]\n" + limits}),
        key(node.AddKey("acme")),
        other_key(node.AddKey("globex")) {
    EXPECT_TRUE(node.Start());
  }

  NodeProcess node;
  std::string key;
  std::string other_key;
};

TEST(Limits, S_60_BodyOverTheBoundIs413) {
  Limited limited("body_bytes_max = 2048");
  Caller caller(limited.node.port(), limited.key);
  const std::string pad(4096, ' ');
  EXPECT_EQ(caller.Post("/v1/runs", R"({"workflowId":"noop"})" + pad).status, 413);
  EXPECT_EQ(caller.Post("/v1/runs", R"({"workflowId":"noop"})").status, 201);
  HttpClient chunked(limited.node.port());
  chunked.SendBytes(
      "POST /v1/runs HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1000\r\n" + pad);
  EXPECT_EQ(chunked.Receive().status, 413);
}

TEST(Limits, S_60_HeadOverTheBoundIs431) {
  Limited limited("header_bytes_max = 2048");
  HttpClient client(limited.node.port());
  EXPECT_EQ(client.Request("GET", "/healthz", {{"X-Pad", std::string(4096, 'x')}}).status, 431);
  EXPECT_EQ(client.Request("GET", "/healthz", {{"X-Pad", std::string(512, 'x')}}).status, 200);
}

TEST(Limits, StoredAnswerOverTheBoundIs413AndTheClaimStays) {
  Limited limited("stored_answer_bytes_max = 1024");
  Caller caller(limited.node.port(), limited.key);
  const BegunClaim claim = ClaimOf(caller.Begin("order"));
  EXPECT_EQ(caller.Settle(claim, std::string(2048, 'x')).status, 413);
  EXPECT_EQ(caller.Settle(claim, "small").status, 200);
}

TEST(Limits, S_61_ConnectionsOverTheCapAreRefusedUntilOneEnds) {
  Limited limited("connections_max = 4");
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<HttpClient>(limited.node.port()));
    EXPECT_EQ(clients.back()->Request("GET", "/healthz").status, 200);
  }
  HttpClient fifth(limited.node.port());
  const HttpResult refused = fifth.Receive();
  EXPECT_EQ(refused.status, 503);
  EXPECT_FALSE(refused.Header("retry-after").empty());
  EXPECT_EQ(clients.front()->Request("GET", "/healthz").status, 200);
  clients.pop_back();
  EXPECT_TRUE(WaitUntil(
      [&] { return HttpClient(limited.node.port()).Request("GET", "/healthz").status == 200; }));
}

TEST(Limits, S_61_ConnectionsOfOneAddressHaveTheirOwnCap) {
  Limited limited("connections_per_address_max = 1");
  HttpClient first(limited.node.port());
  EXPECT_EQ(first.Request("GET", "/healthz").status, 200);
  HttpClient second(limited.node.port());
  EXPECT_EQ(second.Receive().status, 503);
  const std::string page = first.Request("GET", "/metrics").body;
  EXPECT_NE(page.find("\nonce_refused_connections_total 1\n"), std::string::npos) << page;
}

TEST(Limits, S_61_CallersLeaveTheNodeTheFilesThatItNeeds) {
  NodeProcess node({.wrapper = {"prlimit", "--nofile=528:528"}});
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  EXPECT_TRUE(node.Logged("fewer-connections"));
  Caller caller(node.port(), key);
  EXPECT_EQ(caller.Post("/v1/runs", R"({"workflowId":"noop"})").status, 201);
  std::vector<std::unique_ptr<HttpClient>> idle;
  for (int i = 0; i < 550; ++i) idle.push_back(std::make_unique<HttpClient>(node.port()));
  EXPECT_EQ(idle[20]->Receive().status, 503);
  EXPECT_EQ(caller.Post("/v1/runs", R"({"workflowId":"noop"})").status, 201);
}

TEST(Limits, AStartWithoutFilesForCallersIsRefused) {
  NodeProcess node({.wrapper = {"prlimit", "--nofile=500:500"}});
  EXPECT_EQ(node.StartAndExit(), 1);
  EXPECT_TRUE(node.Logged("limit on open files"));
}

TEST(Limits, S_61_SlowHeadAndSlowBodyGet408) {
  Limited limited("header_deadline_ms = 300\nbody_deadline_ms = 300");
  HttpClient head(limited.node.port());
  head.SendBytes("GET /healthz HTTP/1.1\r\nHost:");
  EXPECT_EQ(head.Receive().status, 408);
  EXPECT_TRUE(head.ClosedByServer());
  HttpClient body(limited.node.port());
  body.SendBytes("POST /v1/runs HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{");
  EXPECT_EQ(body.Receive().status, 408);
  EXPECT_TRUE(body.ClosedByServer());
}

TEST(Limits, S_61_IdleConnectionIsEnded) {
  Limited limited("idle_deadline_ms = 300");
  HttpClient idle(limited.node.port());
  EXPECT_EQ(idle.Request("GET", "/healthz").status, 200);
  EXPECT_TRUE(idle.ClosedByServer());
}

TEST(Limits, S_61_ClientThatTakesNoAnswersIsDropped) {
  Limited limited("write_deadline_ms = 500");
  Caller caller(limited.node.port(), limited.key);
  const BegunClaim claim = ClaimOf(caller.Begin("order"));
  ASSERT_EQ(caller.Settle(claim, std::string(512 * 1024, 'x')).status, 200);
  // Asks for far more than the sockets' buffers hold, and reads nothing.
  Caller greedy(limited.node.port(), limited.key);
  ASSERT_EQ(greedy.Get("/healthz").status, 200);
  ASSERT_EQ(caller.Metric("once_connections"), 2);
  for (int i = 0; i < 64; ++i)
    greedy.http().Send("GET", "/v1/claims/" + claim.id, greedy.Headers());
  EXPECT_TRUE(WaitUntil([&] { return caller.Metric("once_connections") == 1; }));
}

TEST(Limits, S_62_TenantOverItsRateIs429AndOthersAreUnharmed) {
  Limited limited("tenant_requests_per_second = 0.1\ntenant_burst = 3");
  Caller caller(limited.node.port(), limited.key);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(caller.CreateRun("order").status, 201);
  const HttpResult refused = caller.CreateRun("order");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(Member(refused, "error"), "rate_limited");
  EXPECT_FALSE(refused.Header("retry-after").empty());
  EXPECT_EQ(Caller(limited.node.port(), limited.other_key).CreateRun("order").status, 201);
  EXPECT_EQ(caller.Metric("once_rate_limited_total"), 1);
}

TEST(Limits, SlotBoundIs507AndSettledAnswersReplay) {
  NodeProcess node({.settings = "[storage]\nslots_max = 3\n"});
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  Caller caller(node.port(), key);
  for (const char* order : {"one", "two", "three"})
    EXPECT_EQ(caller.Settle(ClaimOf(caller.Begin(order)), order).status, 200);
  EXPECT_EQ(caller.Begin("four").status, 507);
  EXPECT_EQ(AnswerOf(caller.Begin("two")), "two");
}

}  // namespace
}  // namespace once
