// Duplicates that meet: one is processed, the others wait or are told to come back.
#include "tests/replica/api_world.h"

namespace once {
namespace {

std::string Slow(int admission_ms) {
  return R"({"workflowId":"noop","inputs":{"admissionMs":)" + std::to_string(admission_ms) + "}}";
}

class ApiConcurrency : public ApiWorld {
 protected:
  std::vector<std::shared_ptr<Reply>> SendMany(int count, const std::string& body,
                                               const Headers& headers = {}) {
    std::vector<std::shared_ptr<Reply>> replies;
    for (int i = 0; i < count; ++i) replies.push_back(SendPost("/v1/runs", "k", body, headers));
    return replies;
  }
};

TEST_F(ApiConcurrency, OW_CC_01_OW_CC_02_ParallelCreatesAreOneRun) {
  const auto replies = SendMany(25, kNoop);
  RunUntilIdle();
  int fresh = 0;
  for (const auto& reply : replies) {
    EXPECT_EQ(reply->status, 201);
    EXPECT_EQ(reply->body, replies[0]->body);
    fresh += !reply->Replayed();
  }
  EXPECT_EQ(fresh, 1);
  EXPECT_EQ(Records('r'), 1u);
}

TEST_F(ApiConcurrency, OW_CC_01_NobodyIsAnsweredBeforeTheRunIsDurable) {
  disk_.SetSyncDelay(10);
  const auto replies = SendMany(5, kNoop);
  RunUntilIdle();
  for (const auto& reply : replies) EXPECT_EQ(reply->status, 0);
  Advance(20);
  for (const auto& reply : replies) EXPECT_EQ(reply->status, 201);
}

TEST_F(ApiConcurrency, CK_04_ParallelSubmitsWithASlowAdmissionAllGetTheRunsId) {
  const auto replies = SendMany(12, Slow(500), {{"Prefer", "wait=5"}});
  Advance(1000);
  for (const auto& reply : replies) {
    EXPECT_EQ(reply->status, 201);
    EXPECT_EQ(reply->Text("/runId"), replies[0]->Text("/runId"));
  }
  EXPECT_EQ(Records('r'), 1u);
}

TEST_F(ApiConcurrency, S_62_AThousandConcurrentDuplicatesAreOneExecution) {
  const auto replies = SendMany(1000, Slow(200), {{"Prefer", "wait=10"}});
  RunUntilIdle();
  EXPECT_EQ(Metric("once_waiting_callers"), 999);
  Advance(1000);
  for (const auto& reply : replies) EXPECT_EQ(reply->body, replies[0]->body);
  EXPECT_EQ(Records('r'), 1u);
  EXPECT_EQ(Metric("once_claims_total"), 1);
  EXPECT_EQ(Metric("once_replays_total"), 999);
  EXPECT_EQ(Metric("once_waiting_callers"), 0);
}

TEST_F(ApiConcurrency, OW_CC_03_TheOtherIsToldThatItIsInFlight) {
  const auto first = SendPost("/v1/runs", "k", Slow(500));
  RunUntilIdle();
  const Reply second = Post("/v1/runs", "k", Slow(500));
  EXPECT_EQ(first->status, 0);
  EXPECT_EQ(second.status, 409);
  EXPECT_EQ(second.Text("/error"), "idempotency_in_flight");
  EXPECT_NE(second.Text("/message"), "");
  EXPECT_GT(second.Number("/details/retryAfter"), 0);
  EXPECT_EQ(std::to_string(second.Number("/details/retryAfter")), second.Header("Retry-After"));
  EXPECT_EQ(second.Json().as_object().size(), 3u);
  EXPECT_EQ(second.Header(kReplayHeader), "");
  EXPECT_EQ(Metric("once_in_flight_total", R"(tenant="acme")"), 1);
}

TEST_F(ApiConcurrency, OW_CC_04_TheFirstClientGoesAwayAndTheWorkGoesOn) {
  SendPost("/v1/runs", "k", Slow(500));  // nobody keeps the reply
  Advance(1000);
  const Reply retry = Post("/v1/runs", "k", Slow(500));
  EXPECT_EQ(retry.status, 201);
  EXPECT_TRUE(retry.Replayed());
  EXPECT_EQ(Records('r'), 1u);
}

TEST_F(ApiConcurrency, OW_MR_02_AnotherBodyIsInFlightFirstAndAConflictLater) {
  SendPost("/v1/runs", "k", Slow(500));
  RunUntilIdle();
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).Text("/error"), "idempotency_in_flight");
  Advance(1000);
  const Reply later = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(later.status, 409);
  EXPECT_EQ(later.Text("/error"), "idempotency_key_mismatch");
  EXPECT_EQ(Records('r'), 1u);
}

TEST_F(ApiConcurrency, OW_N_07_InFlightWhileItExecutesMismatchOnceItIsSettled) {
  SendPost("/v1/runs", "k", Slow(1000));
  for (int i = 0; i < 9; ++i) {
    Advance(100);
    EXPECT_EQ(Post("/v1/runs", "k", kNoop).Text("/error"), "idempotency_in_flight");
    EXPECT_EQ(Post("/v1/runs", "k", Slow(1000)).Text("/error"), "idempotency_in_flight");
  }
  Advance(200);
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).Text("/error"), "idempotency_key_mismatch");
  EXPECT_TRUE(Post("/v1/runs", "k", Slow(1000)).Replayed());
}

TEST_F(ApiConcurrency, PreferWaitThatRunsOutIsToldInFlight) {
  SendPost("/v1/runs", "k", Slow(5000));
  const auto waiting = SendPost("/v1/runs", "k", Slow(5000), {{"Prefer", "wait=2"}});
  Advance(1900);
  EXPECT_EQ(waiting->status, 0);
  Advance(200);
  EXPECT_EQ(waiting->status, 409);
  EXPECT_EQ(waiting->Text("/error"), "idempotency_in_flight");
}

TEST_F(ApiConcurrency, PreferWaitIsBounded) {
  Configure([](Config& config) { config.limits.wait_ms_max = 1000; });
  SendPost("/v1/runs", "k", Slow(5000));
  const auto waiting = SendPost("/v1/runs", "k", Slow(5000), {{"Prefer", "wait=3600"}});
  Advance(1100);
  EXPECT_EQ(waiting->status, 409);
}

TEST_F(ApiConcurrency, BeyondTheBoundOfWaitersOneIsToldAtOnce) {
  Configure([](Config& config) { config.limits.waiters_max = 2; });
  const auto replies = SendMany(4, Slow(500), {{"Prefer", "wait=10"}});
  RunUntilIdle();
  EXPECT_EQ(replies[3]->status, 409);
  Advance(1000);
  EXPECT_EQ(replies[1]->status, 201);
  EXPECT_EQ(replies[2]->status, 201);
}

TEST_F(ApiConcurrency, CK_03_AFailedReservationFreesTheKeyForWhoeverWaits) {
  const std::string body =
      R"({"workflowId":"fail","inputs":{"status":429,"times":1,"admissionMs":100}})";
  const auto replies = SendMany(2, body, {{"Prefer", "wait=5"}});
  Advance(1000);
  EXPECT_EQ(replies[0]->status, 429);
  EXPECT_EQ(replies[0]->Header("Retry-After"), "1");
  EXPECT_EQ(replies[1]->status, 201);
  EXPECT_FALSE(replies[1]->Replayed());
}

TEST_F(ApiConcurrency, OW_N_05_AfterACrashTheLeaseRunsOutAndOneTakesOver) {
  Configure([](Config& config) { config.lease_ms = 1000; });
  SendPost("/v1/runs", "k", Slow(500));
  RunUntilIdle();
  CrashAndRestart();
  EXPECT_EQ(Post("/v1/runs", "k", Slow(500)).Text("/error"), "idempotency_in_flight");
  const auto replies = SendMany(3, Slow(500), {{"Prefer", "wait=10"}});
  Advance(900);
  EXPECT_EQ(Records('r'), 0u) << "the lease is in full again after a start";
  Advance(3000);
  for (const auto& reply : replies) EXPECT_EQ(reply->body, replies[0]->body);
  EXPECT_EQ(replies[0]->status, 201);
  EXPECT_EQ(Records('r'), 1u);
  EXPECT_EQ(Metric("once_reclaims_total", R"(route="POST /v1/runs")"), 1);
}

TEST_F(ApiConcurrency, OW_N_05_AnOwnerSlowerThanItsLeaseDoesNotExecuteASecondTime) {
  Configure([](Config& config) { config.lease_ms = 1000; });
  const auto late = SendPost("/v1/runs", "k", Slow(5000));
  Advance(2000);
  const auto taker = SendPost("/v1/runs", "k", Slow(5000));
  Advance(3500);
  EXPECT_EQ(late->status, 409);
  EXPECT_EQ(late->Text("/error"), "idempotency_in_flight") << "somebody else is on it";
  EXPECT_NE(late->Header("Retry-After"), "");
  Advance(3000);
  EXPECT_EQ(taker->status, 201);
  EXPECT_EQ(Records('r'), 1u);
  EXPECT_EQ(Metric("once_stale_fences_total"), 1);
}

TEST_F(ApiConcurrency, CM_05_AMismatchOnTheWayToASlowAdmissionIsCounted) {
  Configure([](Config& config) {
    RoutePolicy policy;
    policy.set_mismatch(OBSERVE);
    config.policies = {policy};
  });
  Post("/v1/runs", "k", R"({"workflowId":"fail","inputs":{"status":503,"times":1}})");
  SendPost("/v1/runs", "k", Slow(100));
  Advance(1000);
  EXPECT_EQ(Metric("once_mismatches_total"), 1);
}

TEST_F(ApiConcurrency, AStopAnswersWhoeverWaits) {
  SendPost("/v1/runs", "k", Slow(5000));
  const auto waiting = SendPost("/v1/runs", "k", Slow(5000), {{"Prefer", "wait=30"}});
  RunUntilIdle();
  Restart();
  EXPECT_EQ(waiting->status, 503);
  EXPECT_EQ(waiting->Header("Retry-After"), "1");
}

TEST_F(ApiConcurrency, AnAdmissionUnderWayIsFinishedWhileTheNodeStops) {
  const auto slow = SendPost("/v1/runs", "k", Slow(500));
  RunUntilIdle();
  const Reply claim = Post("/v1/claims", "c", R"({"endpoint":"e","request":1})");
  bool drained = false;
  replica_->Stop([&] { drained = true; });
  RunUntilIdle();
  EXPECT_TRUE(drained) << "nothing is waited for";
  EXPECT_EQ(Post("/v1/runs", "new", kNoop).status, 503);
  const Headers fence = {{"If-Match", claim.Header("ETag")}};
  const std::string place = "/v1/claims/" + claim.Text("/claimId");
  EXPECT_EQ(Ask("POST", place + "/renew", fence).status, 200);
  EXPECT_EQ(Ask("PUT", place + "/outcome", fence, R"({"status":200})").status, 200);
  Advance(1000);
  ASSERT_EQ(slow->status, 201) << slow->body;
  CrashAndRestart();
  const Reply again = Post("/v1/runs", "k", Slow(500));
  EXPECT_TRUE(again.Replayed());
  EXPECT_EQ(again.body, slow->body);
}

TEST_F(ApiConcurrency, AnAdmissionThatCannotBeFinishedIsNotCalledNothing) {
  const auto slow = SendPost("/v1/runs", "k", Slow(500));
  RunUntilIdle();
  disk_.FailNextSync();
  Post("/v1/runs", "other", kNoop);
  Advance(1000);
  EXPECT_EQ(slow->status, 503);
  EXPECT_EQ(slow->Text("/message").find("nothing was done"), std::string::npos) << slow->body;
}

TEST_F(ApiConcurrency, S_61_TheRequestsOfThoseWhoWaitAreBoundedByTheirBytes) {
  Configure([](Config& config) { config.limits.waiting_bytes_max = 1200; });
  const std::string body = R"({"endpoint":")" + std::string(512, 'e') + R"(","request":1})";
  const Reply claim = Post("/v1/claims", "k", body);
  const auto waits = SendPost("/v1/claims", "k", body, {{"Prefer", "wait=5"}});
  EXPECT_EQ(Post("/v1/claims", "k", body, {{"Prefer", "wait=5"}}).status, 409);
  EXPECT_EQ(waits->status, 0);
  Advance(6000);
  EXPECT_EQ(waits->status, 409);
  const auto next = SendPost("/v1/claims", "k", body, {{"Prefer", "wait=5"}});
  RunUntilIdle();
  EXPECT_EQ(next->status, 0) << "there is room again";
}

TEST_F(ApiConcurrency, S_61_AdmissionsThatTakeTimeAreBoundedByTheirBytes) {
  Configure([](Config& config) { config.limits.waiting_bytes_max = 2000; });
  const std::string body = R"({"workflowId":"noop","inputs":{"admissionMs":500,"x":")" +
                           std::string(1200, 'x') + R"("}})";
  const auto first = SendPost("/v1/runs", "first", body);
  const Reply refused = Post("/v1/runs", "second", body);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Header("Retry-After"), "1");
  EXPECT_NE(refused.Text("/message").find("nothing was done"), std::string::npos);
  Advance(1000);
  EXPECT_EQ(first->status, 201);
  const auto second = SendPost("/v1/runs", "second", body);
  Advance(1000);
  EXPECT_EQ(second->status, 201) << "there is room again";
}

}  // namespace
}  // namespace once
