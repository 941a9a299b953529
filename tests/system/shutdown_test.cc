// SIGTERM and SIGINT in the middle of work.
#include <csignal>
#include <set>

#include "tests/system/node_process.h"
#include "tests/system/promises.h"

namespace once {
namespace {

constexpr std::size_t kRequests = 20;
constexpr const char* kMetricsPublic = "metrics_public = true";

std::string KeyOf(std::size_t request) {
  return "order-" + std::to_string(request);
}

// kRequests admissions, each on its own connection; their answers are not received yet.
std::vector<std::unique_ptr<Caller>> Send(NodeProcess& node, const std::string& key,
                                          const std::string& inputs, const HeaderList& more = {}) {
  std::vector<std::unique_ptr<Caller>> callers;
  for (std::size_t i = 0; i < kRequests; ++i) {
    callers.push_back(std::make_unique<Caller>(node.port(), key));
    HeaderList headers = callers.back()->Headers(KeyOf(i));
    headers.insert(headers.end(), more.begin(), more.end());
    callers.back()->http().Send("POST", "/v1/runs", headers,
                                R"({"workflowId":"noop","inputs":)" + inputs + "}");
  }
  return callers;
}

// The same, and all of them are known to be under way.
std::vector<std::unique_ptr<Caller>> SendAdmissions(NodeProcess& node, const std::string& key,
                                                    const std::string& inputs) {
  auto callers = Send(node, key, inputs);
  Caller probe(node.port(), key);
  EXPECT_TRUE(WaitUntil([&] { return probe.Metric("once_slots") == kRequests; }));
  return callers;
}

class ShutdownBy : public testing::TestWithParam<int> {};

TEST_P(ShutdownBy, AdmissionsUnderWayAreFinishedAndKept) {
  const std::string inputs = R"({"admissionMs":1500})";
  NodeProcess node(
      {.node_settings = kMetricsPublic, .settings = "[limits]\nstop_deadline_ms = 60000\n"});
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  const auto callers = SendAdmissions(node, key, inputs);
  node.Signal(GetParam());
  std::vector<std::string> promised;
  for (const auto& caller : callers) {
    const HttpResult answer = caller->http().Receive();
    EXPECT_EQ(answer.status, 201) << answer.body;
    promised.push_back(answer.body);
  }
  EXPECT_EQ(node.WaitExit(), 0);

  ASSERT_TRUE(node.Start());
  const auto retries = Send(node, key, inputs);
  for (std::size_t i = 0; i < kRequests; ++i) {
    const HttpResult again = retries[i]->http().Receive();
    EXPECT_TRUE(again.replayed()) << again.status << again.body;
    EXPECT_EQ(again.body, promised[i]);
  }
}

TEST_P(ShutdownBy, AdmissionsThatTakeTooLongCanBeReclaimed) {
  const std::string inputs = R"({"admissionMs":1500})";
  NodeProcess node({.node_settings = kMetricsPublic,
                    .settings = "[claims]\nlease_ms = 2000\n[limits]\nstop_grace_ms = 0\n"
                                "stop_deadline_ms = 0\n"});
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  const auto callers = SendAdmissions(node, key, inputs);
  node.Signal(GetParam());
  EXPECT_EQ(node.WaitExit(), 0);

  ASSERT_TRUE(node.Start());
  const auto retries = Send(node, key, inputs, {{"Prefer", "wait=20"}});
  std::set<std::string> runs;
  for (const auto& retry : retries) {
    const HttpResult again = retry->http().Receive();
    EXPECT_EQ(again.status, 201) << again.body;
    runs.insert(Member(again, "runId"));
  }
  EXPECT_EQ(runs.size(), kRequests);
}

INSTANTIATE_TEST_SUITE_P(Signals, ShutdownBy, testing::Values(SIGTERM, SIGINT),
                         [](const auto& signal) {
                           return signal.param == SIGINT ? "Int" : "Term";
                         });

TEST(Shutdown, WorkThatWouldTakeAMinuteDoesNotHoldItUp) {
  NodeProcess node({.node_settings = kMetricsPublic});
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  const auto callers = SendAdmissions(node, key, R"({"admissionMs":60000})");
  EXPECT_EQ(node.Stop(), 0);
}

TEST(Shutdown, EventStreamsAndIdleConnectionsDoNotHoldItUp) {
  NodeProcess node({.node_settings = kMetricsPublic});
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  Caller caller(node.port(), key);
  const HttpResult run = caller.CreateRun("run", "approval");
  Caller reader(node.port(), key);
  HeaderList headers = reader.Headers();
  headers.emplace_back("Accept", "text/event-stream");
  reader.http().Send("GET", "/v1/runs/" + Member(run, "runId") + "/events", headers);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(node.Stop(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(9))
      << "nobody was being answered, so there was nothing to wait for";
}

TEST(Shutdown, ARequestOnAKeptConnectionIsAnsweredWhileItStops) {
  NodeProcess node({.settings = "[limits]\nstop_grace_ms = 9000\n"});
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  Caller kept(node.port(), key);
  EXPECT_EQ(kept.CreateRun("before").status, 201);
  node.Signal(SIGTERM);
  ASSERT_TRUE(WaitUntil([&] { return node.Logged("event=stopping"); }));
  const HttpResult answer = kept.CreateRun("late");
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_FALSE(answer.Header("retry-after").empty());
  EXPECT_EQ(answer.Header("connection"), "close");
  EXPECT_EQ(node.WaitExit(), 0);
}

TEST(Shutdown, ANewConnectionIsNotTakenAnyMore) {
  NodeProcess node({.node_settings = kMetricsPublic});
  const std::string key = node.AddKey("acme");
  ASSERT_TRUE(node.Start());
  const auto callers = SendAdmissions(node, key, R"({"admissionMs":2000})");
  node.Signal(SIGTERM);
  EXPECT_TRUE(WaitUntil([&] { return !HttpClient(node.port()).connected(); }));
  EXPECT_EQ(node.WaitExit(), 0);
}

}  // namespace
}  // namespace once
