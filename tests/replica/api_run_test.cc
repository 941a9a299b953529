// Runs, approvals, interrupts and webhooks as a caller sees them, and the shapes of errors.
#include "tests/replica/api_world.h"

namespace once {
namespace {

constexpr const char* kApprove = R"({"decision":"approved"})";
constexpr const char* kReject = R"({"decision":"rejected"})";
constexpr const char* kApproval = R"({"workflowId":"approval"})";

class ApiRun : public ApiWorld {
 protected:
  std::string Status(const std::string& run) { return Get("/v1/runs/" + run).Text("/status"); }
  std::string Token(const std::string& run) {
    return Get("/v1/runs/" + run).Text("/interruptToken");
  }
  Reply Cancel(const std::string& run, const std::string& body = "") {
    return Post("/v1/runs/" + run + "/cancel", "", body);
  }
};

TEST_F(ApiRun, ACreatedRunSaysWhereToLook) {
  const Reply created = Post("/v1/runs", "", R"({"workflowId":"noop","inputs":{"a":[1,"b"]}})");
  ASSERT_EQ(created.status, 201);
  const std::string run = created.Text("/runId");
  EXPECT_EQ(created.Text("/statusUrl"), "/v1/runs/" + run);
  EXPECT_EQ(created.Text("/eventsUrl"), "/v1/runs/" + run + "/events");
  EXPECT_EQ(created.Header("Location"), "/v1/runs/" + run);
  const Reply snapshot = Get("/v1/runs/" + run);
  EXPECT_EQ(snapshot.Text("/status"), "completed");
  EXPECT_EQ(snapshot.Text("/owner/tenant"), "acme");
  EXPECT_EQ(snapshot.Text("/region"), "eu");
  EXPECT_EQ(boost::json::serialize(snapshot.At("/variables")), R"({"a":[1,"b"]})");
  EXPECT_EQ(Get(created.Text("/eventsUrl")).At("/isComplete"), boost::json::value(true));
}

TEST_F(ApiRun, InputsAsDeepAsABodyMayBeAreShownAgain) {
  const std::string deep = std::string(60, '[') + std::string(60, ']');
  const std::string run = Run(R"({"workflowId":"noop","inputs":{"a":)" + deep + "}}");
  EXPECT_EQ(Get("/v1/runs/" + run).status, 200);
  const std::string waiting = Run(kApproval);
  const std::string payload = R"({"decision":"approved","payload":)" + deep + "}";
  EXPECT_EQ(Post("/v1/runs/" + waiting + "/approvals/approve", "", payload).status, 200);
  EXPECT_EQ(Get("/v1/runs/" + waiting + "/events").status, 200);
}

TEST_F(ApiRun, CancelInEveryState) {
  const std::string running = Run(R"({"workflowId":"delay","inputs":{"delayMs":60000}})");
  const Reply cancelled = Cancel(running, R"({"reason":"no longer wanted"})");
  EXPECT_EQ(cancelled.status, 200);
  EXPECT_EQ(cancelled.Text("/status"), "cancelled");
  EXPECT_EQ(Get("/v1/runs/" + running).Text("/reason"), "no longer wanted");
  Advance(120'000);
  EXPECT_EQ(Status(running), "cancelled");
  EXPECT_EQ(Cancel(running).status, 200) << "cancelled twice is cancelled";

  const std::string waiting = Run(kApproval);
  EXPECT_EQ(Cancel(waiting).status, 200);
  EXPECT_EQ(Post("/v1/runs/" + waiting + "/approvals/approve", "", kApprove).status, 409);

  const std::string completed = Run(kNoop);
  EXPECT_EQ(Cancel(completed).status, 409);
  EXPECT_EQ(Cancel(completed).Text("/error"), "run_already_terminal");

  const std::string failed = Run(kApproval);
  Post("/v1/runs/" + failed + "/approvals/approve", "", kReject);
  EXPECT_EQ(Cancel(failed).Text("/error"), "run_already_terminal");

  EXPECT_EQ(Cancel("unknown").Text("/error"), "run_not_found");
  EXPECT_EQ(Cancel(failed, R"({"reason":7})").status, 400);
}

TEST_F(ApiRun, ACancelIsOneEvent) {
  const std::string run = Run(R"({"workflowId":"delay","inputs":{"delayMs":60000}})");
  Cancel(run);
  Cancel(run);
  const auto events = Get("/v1/runs/" + run + "/events").At("/events").as_array();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].at("type"), "run.cancelled");
}

TEST_F(ApiRun, ApproveAndApproveAgain) {
  const std::string run = Run(kApproval);
  EXPECT_EQ(Status(run), "waiting-approval");
  EXPECT_EQ(Get("/v1/runs/" + run).Text("/currentNodeId"), "approve");
  EXPECT_EQ(Post("/v1/runs/" + run + "/approvals/approve", "", kApprove).status, 200);
  EXPECT_EQ(Status(run), "completed");
  EXPECT_EQ(Token(run), "");
  const Reply again = Post("/v1/runs/" + run + "/approvals/approve", "", kReject);
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.Text("/error"), "interrupt_already_resolved");
  EXPECT_EQ(Status(run), "completed");
}

TEST_F(ApiRun, RejectFailsTheRun) {
  const std::string run = Run(kApproval);
  EXPECT_EQ(Post("/v1/runs/" + run + "/approvals/approve", "", kReject).status, 200);
  EXPECT_EQ(Status(run), "failed");
  EXPECT_EQ(Get("/v1/runs/" + run).Text("/error/code"), "approval_rejected");
}

TEST_F(ApiRun, AnApprovalNeedsANodeAndADecision) {
  const std::string run = Run(kApproval);
  EXPECT_EQ(Post("/v1/runs/" + run + "/approvals/other", "", kApprove).Text("/error"),
            "node_not_found");
  for (const char* body : {"", "{}", R"({"decision":"maybe"})", R"({"decision":true})", "[]"})
    EXPECT_EQ(Post("/v1/runs/" + run + "/approvals/approve", "", body).status, 400) << body;
  EXPECT_EQ(Post("/v1/runs/" + Run(kNoop) + "/approvals/approve", "", kApprove).status, 404);
  EXPECT_EQ(Status(run), "waiting-approval");
}

TEST_F(ApiRun, AnInterruptIsAnsweredByItsTokenOnce) {
  const std::string run = Run(kApproval);
  const std::string token = Token(run);
  const auto events = Get("/v1/runs/" + run + "/events").At("/events").as_array();
  EXPECT_EQ(events.back().at("payload").at("token"), token.c_str());
  Restart();
  EXPECT_EQ(Post("/v1/interrupts/" + token, "", kApprove).status, 200);
  EXPECT_EQ(Status(run), "completed");
  const Reply again = Post("/v1/interrupts/" + token, "", kReject);
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.Text("/error"), "interrupt_already_resolved");
  const Reply unknown = Post("/v1/interrupts/int_none", "", kApprove);
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.Text("/error"), "interrupt_not_found");
}

TEST_F(ApiRun, ATokenIsForgottenWithItsRun) {
  Configure([](Config& config) { config.run_retention_ms = 10'000; });
  const std::string run = Run(kApproval);
  const std::string token = Token(run);
  Post("/v1/interrupts/" + token, "", kApprove);
  Advance(20'000);
  EXPECT_EQ(Get("/v1/runs/" + run).status, 404);
  EXPECT_EQ(Post("/v1/interrupts/" + token, "", kApprove).status, 404);
  EXPECT_EQ(Records('i'), 0u);
}

TEST_F(ApiRun, WebhooksComeAndGo) {
  const Reply created =
      Post("/v1/webhooks", "", R"({"url":"https://example.org/h","events":["run.completed"]})");
  EXPECT_EQ(created.status, 201);
  EXPECT_EQ(created.Text("/events/0"), "run.completed");
  const std::string place = "/v1/webhooks/" + created.Text("/webhookId");
  EXPECT_EQ(Delete(place, "").status, 204);
  const Reply again = Delete(place, "");
  EXPECT_EQ(again.status, 404);
  EXPECT_EQ(again.Text("/error"), "webhook_not_found");
  for (const char* body : {"{}", R"({"url":"ftp://example.org"})", R"({"url":"https://a b"})",
                           R"({"url":"https://a","events":"all"})"})
    EXPECT_EQ(Post("/v1/webhooks", "", body).status, 400) << body;
}

TEST_F(ApiRun, RunsGoOnOverACrash) {
  const std::string run = Run(R"({"workflowId":"delay","inputs":{"delayMs":5000}})");
  Advance(1000);
  CrashAndRestart();
  EXPECT_EQ(Status(run), "running");
  Advance(6000);
  EXPECT_EQ(Status(run), "completed");
  EXPECT_EQ(Get("/v1/runs/" + run + "/events").At("/events").as_array().size(), 2u);
}

class ApiShape : public ApiWorld {};

TEST_F(ApiShape, ErrorsAreErrorMessageAndPerhapsDetails) {
  const Reply missing = Get("/v1/runs/unknown");
  EXPECT_EQ(missing.Header("Content-Type"), "application/json");
  EXPECT_EQ(missing.body, R"({"error":"run_not_found","message":"No such run."})");
}

TEST_F(ApiShape, ProblemJsonOnRequest) {
  const Headers accept = {{"Accept", "application/problem+json, application/json"}};
  const Headers refused = {{"Accept", "application/problem+json;q=0"}};
  EXPECT_EQ(Get("/v1/runs/unknown", refused).Header("Content-Type"), "application/json");
  Post("/v1/runs", "k", kNoop);
  for (const Reply& reply :
       {Get("/v1/runs/unknown", accept), Get("/nowhere", accept),
        Post("/v1/runs/unknown/cancel", "", "", accept),
        Post("/v1/runs/unknown/cancel", "c", "", accept),
        Post("/v1/runs/unknown/cancel", "c", "", accept), Post("/v1/runs", "", "{}", accept),
        Post("/v1/runs", "k", R"({"workflowId":"append"})", accept)}) {
    EXPECT_EQ(reply.Header("Content-Type"), "application/problem+json") << reply.body;
    EXPECT_EQ(reply.Number("/status"), reply.status);
    EXPECT_EQ(reply.Text("/type"), "urn:once:error:" + reply.Text("/title"));
    EXPECT_NE(reply.Text("/detail"), "");
    EXPECT_EQ(reply.At("/error"), boost::json::value());
  }
  EXPECT_TRUE(Post("/v1/runs/unknown/cancel", "c", "", accept).Replayed());
  EXPECT_EQ(Post("/v1/runs/unknown/cancel", "c", "").Text("/error"), "run_not_found");
}

TEST_F(ApiShape, UnknownPathsAre404OtherMethods405) {
  for (const char* path : {"/", "/v1", "/v1/run", "/v1//runs", "/v1/runs/a/b", "/V1/runs",
                           "/v1/runs//cancel", "/v1/host/sample/test/x"})
    EXPECT_EQ(Get(path).status, 404) << path;
  const Reply put = Ask("PUT", "/v1/runs");
  EXPECT_EQ(put.status, 405);
  EXPECT_EQ(put.Text("/error"), "method_not_allowed");
  EXPECT_EQ(put.Header("Allow"), "POST");
  EXPECT_EQ(Ask("POST", "/v1/runs/x").Header("Allow"), "GET, HEAD");
  EXPECT_EQ(Ask("POST", "/v1/claims/x").Header("Allow"), "GET, HEAD, DELETE");
  EXPECT_EQ(Ask("PATCH", "/healthz").status, 405);
}

TEST_F(ApiShape, HeadIsGet) {
  const std::string run = Run(kNoop);
  EXPECT_EQ(Ask("HEAD", "/v1/runs/" + run).status, 200);
  EXPECT_EQ(Ask("HEAD", "/v1/runs/unknown").status, 404);
  EXPECT_EQ(Ask("HEAD", "/healthz").status, 200);
  EXPECT_EQ(Ask("HEAD", "/v1/runs").status, 405);
  EXPECT_EQ(Ask("HEAD", "/v1/runs/" + run, {{"Idempotency-Key", "k"}}).Header(kReplayHeader), "");
}

TEST_F(ApiShape, InputsThatTheWorkflowsCannotUseAreRefused) {
  for (const char* body :
       {"", "{}", "[]", R"({"workflowId":7})", R"({"workflowId":"noop","inputs":[]})",
        R"({"workflowId":"delay","inputs":{"delayMs":-1}})",
        R"({"workflowId":"delay","inputs":{"delayMs":"1"}})",
        R"({"workflowId":"fail","inputs":{"status":200}})",
        R"({"workflowId":"noop","inputs":{"admissionMs":60001}})",
        R"({"workflowId":"conformance-noop"})"})
    EXPECT_EQ(Post("/v1/runs", "", body).Text("/error"), "validation_error") << body;
  EXPECT_EQ(Records('r'), 0u);
}

}  // namespace
}  // namespace once
