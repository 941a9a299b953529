// Which outcomes are kept for duplicates, which are not, and for how long.
#include "tests/replica/api_world.h"
#include "tests/replica/spans.h"

namespace once {
namespace {

std::string Failing(int status, int times) {
  return R"({"workflowId":"fail","inputs":{"status":)" + std::to_string(status) + R"(,"times":)" +
         std::to_string(times) + "}}";
}

class ApiRetryable : public ApiWorld, public testing::WithParamInterface<int> {};

TEST_P(ApiRetryable, OW_L1_06_OW_L1_12_OW_L1_13_OW_L1_14_IsNotReplayedButReplacedBySuccess) {
  const std::string body = Failing(GetParam(), 2);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Reply failed = Post("/v1/runs", "k", body);
    EXPECT_EQ(failed.status, GetParam());
    EXPECT_EQ(failed.Text("/error"), "admission_failed");
    EXPECT_EQ(failed.Header(kReplayHeader), "");
  }
  const Reply success = Post("/v1/runs", "k", body);
  EXPECT_EQ(success.status, 201);
  EXPECT_EQ(success.Header(kReplayHeader), "");
  const Reply replay = Post("/v1/runs", "k", body);
  EXPECT_EQ(replay.body, success.body);
  EXPECT_TRUE(replay.Replayed());
  EXPECT_EQ(Records('r'), 1u);
}

TEST_P(ApiRetryable, OW_L1_15_IsCountedForTheOperator) {
  Post("/v1/runs", "k", Failing(GetParam(), 1));
  EXPECT_EQ(Metric("once_retryable_outcomes_total", R"(route="POST /v1/runs")"), 1);
  Post("/v1/runs", "k", Failing(GetParam(), 1));
  EXPECT_EQ(Metric("once_retryable_outcomes_total", R"(route="POST /v1/runs")"), 1);
}

TEST_P(ApiRetryable, CK_03_TheKeyIsNotPoisonedOverARestart) {
  Post("/v1/runs", "k", Failing(GetParam(), 1));
  CrashAndRestart();
  EXPECT_EQ(Post("/v1/runs", "k", Failing(GetParam(), 1)).status, 201);
  EXPECT_TRUE(Post("/v1/runs", "k", Failing(GetParam(), 1)).Replayed());
}

// The spec's list and what later versions add to it (every 5xx, 408 and 425).
INSTANTIATE_TEST_SUITE_P(Statuses, ApiRetryable,
                         testing::Values(408, 425, 429, 500, 501, 502, 503, 504, 507));

class ApiReleased : public ApiWorld, public testing::WithParamInterface<int> {};

TEST_P(ApiReleased, OW_L1_10_FreesTheKeyAndItsTriesCountAllTheSame) {
  const std::string body = Failing(GetParam(), 2);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Reply failed = Post("/v1/runs", "k", body);
    EXPECT_EQ(failed.status, GetParam()) << attempt;
    EXPECT_FALSE(failed.Replayed());
    Restart();
  }
  const Reply success = Post("/v1/runs", "k", body);
  EXPECT_EQ(success.status, 201);
  EXPECT_TRUE(Post("/v1/runs", "k", body).Replayed());
  EXPECT_EQ(Post("/v1/runs", "other", body).status, GetParam()) << "each key has its own";
}

INSTANTIATE_TEST_SUITE_P(Statuses, ApiReleased, testing::Values(400, 401, 403));

class ApiFinal : public ApiWorld, public testing::WithParamInterface<int> {};

TEST_P(ApiFinal, OW_L1_11_AClientErrorThatARetryCannotMendIsReplayed) {
  const std::string body = Failing(GetParam(), 1);
  const Reply first = Post("/v1/runs", "k", body);
  EXPECT_EQ(first.status, GetParam());
  EXPECT_EQ(first.Header(kReplayHeader), "");
  const Reply again = Post("/v1/runs", "k", body);
  EXPECT_EQ(again.status, GetParam());
  EXPECT_EQ(again.body, first.body);
  EXPECT_TRUE(again.Replayed());
  EXPECT_EQ(Records('r'), 0u);
}
INSTANTIATE_TEST_SUITE_P(Statuses, ApiFinal, testing::Values(404, 409, 410, 422));

class ApiOutcome : public ApiWorld {};

TEST_F(ApiOutcome, OW_L1_11_CancelOfAnUnknownRunIsFinal) {
  const Reply first = Post("/v1/runs/01HZZZZZZZZZZZZZZZZZZZZZZZ/cancel", "k", "");
  EXPECT_EQ(first.status, 404);
  const Reply again = Post("/v1/runs/01HZZZZZZZZZZZZZZZZZZZZZZZ/cancel", "k", "");
  EXPECT_EQ(again.body, first.body);
  EXPECT_TRUE(again.Replayed());
}

TEST_F(ApiOutcome, OW_L1_10_AMalformedKeyLeavesNothingBehind) {
  const Reply bad = Post("/v1/runs", std::string(256, 'k'), kNoop);
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.Text("/error"), "validation_error");
  EXPECT_EQ(Records('s'), 0u);
  EXPECT_EQ(Post("/v1/runs", std::string(255, 'k'), kNoop).status, 201);
}

TEST_F(ApiOutcome, OW_L1_10_AnInvalidBodyLeavesTheKeyFree) {
  EXPECT_EQ(Post("/v1/runs", "k", R"({"workflowId":"unknown"})").status, 400);
  EXPECT_EQ(Post("/v1/runs", "k", R"({"workflowId":"noop",)").status, 400);
  EXPECT_EQ(Post("/v1/runs", "k", R"({"workflowId":"noop","workflowId":"noop"})").status, 400);
  EXPECT_EQ(Records('s'), 0u);
  const Reply good = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(good.status, 201);
  EXPECT_FALSE(good.Replayed());
}

TEST_F(ApiOutcome, OW_L1_10_UnauthenticatedLeavesTheKeyFree) {
  As("stranger");
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).status, 401);
  As("");
  const Reply nobody = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(nobody.status, 401);
  EXPECT_EQ(nobody.Header("WWW-Authenticate"), "Bearer");
  As("acme");
  const Reply good = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(good.status, 201);
  EXPECT_FALSE(good.Replayed());
}

TEST_F(ApiOutcome, OW_L1_10_ForbiddenLeavesTheKeyFree) {
  As("claims-only");
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).status, 403);
  As("acme");
  const Reply good = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(good.status, 201);
  EXPECT_FALSE(good.Replayed());
}

TEST_F(ApiOutcome, OW_L1_10_AnOutcomeThatSaysNothingOfTheRequestIsNotReplayed) {
  for (const int status : {400, 401, 403}) {
    const std::string key = "k" + std::to_string(status);
    EXPECT_EQ(Post("/v1/runs", key, Failing(status, 2)).status, status);
    EXPECT_FALSE(Post("/v1/runs", key, Failing(status, 2)).Replayed());
    EXPECT_EQ(Post("/v1/runs", key, kNoop).status, 201) << "the key is free for any request";
  }
}

TEST_F(ApiOutcome, OW_L1_11_OwnConflictAnswersAreNeverStored) {
  const auto slow =
      SendPost("/v1/runs", "k", R"({"workflowId":"noop","inputs":{"admissionMs":500}})");
  RunUntilIdle();
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).Text("/error"), "idempotency_in_flight");
  Advance(1000);
  ASSERT_EQ(slow->status, 201);
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).Text("/error"), "idempotency_key_mismatch");
  const Reply again =
      Post("/v1/runs", "k", R"({"workflowId":"noop","inputs":{"admissionMs":500}})");
  EXPECT_EQ(again.body, slow->body);
}

TEST_F(ApiOutcome, OW_L1_07_KeptForADayAlsoOverARestart) {
  const Reply first = Post("/v1/runs", "k", kNoop);
  Advance(12 * kHourMs);
  Restart();
  Advance(12 * kHourMs - 1000);
  EXPECT_EQ(Post("/v1/runs", "k", kNoop).body, first.body);
}

TEST_F(ApiOutcome, OW_L1_09_AfterItsRetentionAKeyIsFresh) {
  const Reply first = Post("/v1/runs", "k", kNoop);
  Advance(kDayMs + 5000);
  const Reply next = Post("/v1/runs", "k", kNoop);
  EXPECT_EQ(next.status, 201);
  EXPECT_FALSE(next.Replayed());
  EXPECT_NE(next.Text("/runId"), first.Text("/runId"));
}

TEST_F(ApiOutcome, OW_L1_08_OW_L1_09_AtTheBoundTheOldestGoFirst) {
  Configure([](Config& config) {
    config.slots_max = 3;
    config.evict_oldest = true;
  });
  std::map<std::string, std::string> runs;
  for (const char* key : {"k1", "k2", "k3", "k4"}) {
    runs[key] = Post("/v1/runs", key, kNoop).Text("/runId");
    Advance(10);
  }
  EXPECT_EQ(Records('s'), 3u);
  EXPECT_EQ(Post("/v1/runs", "k4", kNoop).Text("/runId"), runs["k4"]);
  EXPECT_EQ(Post("/v1/runs", "k2", kNoop).Text("/runId"), runs["k2"]);
  const Reply evicted = Post("/v1/runs", "k1", kNoop);
  EXPECT_EQ(evicted.status, 201);
  EXPECT_FALSE(evicted.Replayed());
  EXPECT_NE(evicted.Text("/runId"), runs["k1"]);
  EXPECT_EQ(Metric("once_evicted_slots_total"), 2);
}

TEST_F(ApiOutcome, AtTheBoundWithoutEvictionNewKeysGet507) {
  Configure([](Config& config) { config.slots_max = 1; });
  const Reply first = Post("/v1/runs", "k1", kNoop);
  const Reply refused = Post("/v1/runs", "k2", kNoop);
  EXPECT_EQ(refused.status, 507);
  EXPECT_EQ(refused.Text("/error"), "insufficient_storage");
  EXPECT_NE(refused.Header("Retry-After"), "");
  EXPECT_EQ(Records('r'), 1u);
  EXPECT_EQ(Post("/v1/runs", "k1", kNoop).body, first.body);
  Advance(kDayMs + 60'000);
  EXPECT_EQ(Post("/v1/runs", "k2", kNoop).status, 201) << "what expired has left its place";
}

TEST_F(ApiOutcome, OW_L1_08_WhileEvictionIsStillLookingItIs503AndNot507) {
  constexpr int kWorking = 1500;
  Configure([](Config& config) {
    config.slots_max = kWorking + 1;
    config.evict_oldest = true;
  });
  const auto begin = [&](const std::string& key) {
    return Post("/v1/claims", key, R"({"endpoint":"e","request":1})");
  };
  for (int i = 0; i < kWorking; ++i) begin("working-" + std::to_string(i));
  Advance(1000);
  ASSERT_EQ(Post("/v1/runs", "settled", kNoop).status, 201);
  const Reply looking = begin("new");
  EXPECT_EQ(looking.status, 503);
  EXPECT_EQ(looking.Header("Retry-After"), "1");
  EXPECT_NE(looking.Text("/message").find("nothing was done"), std::string::npos);
  EXPECT_EQ(begin("new").status, 201);
}

TEST_F(ApiOutcome, CK_05_RetentionIsASettingPerSurface) {
  Configure([](Config& config) {
    config.test_seams = true;
    config.route_retention_ms = 10'000;
    config.claim_retention_ms = 100'000;
    config.clock_skew_bound_ms = 1000;
  });
  const std::string claim = R"({"endpoint":"e","request":1})";
  Post("/v1/runs", "k", kNoop);
  const Reply begun = Post("/v1/claims", "k", claim);
  ASSERT_EQ(Ask("PUT", "/v1/claims/" + begun.Text("/claimId") + "/outcome",
                {{"If-Match", begun.Header("ETag")}}, R"({"status":200})")
                .status,
            200);
  Advance(9'000);
  EXPECT_TRUE(Post("/v1/runs", "k", kNoop).Replayed());
  Advance(5'000);
  EXPECT_FALSE(Post("/v1/runs", "k", kNoop).Replayed());
  EXPECT_TRUE(Post("/v1/claims", "k", claim).Replayed());
  Advance(100'000);
  EXPECT_EQ(Post("/v1/claims", "k", claim).status, 201);
}

TEST_F(ApiOutcome, CK_05_ARetentionOfZeroNeverExpires) {
  Configure([](Config& config) {
    config.test_seams = true;
    config.claim_retention_ms = 10'000;
  });
  const std::string forever = R"({"endpoint":"e","request":1,"retentionSeconds":0})";
  const std::string brief = R"({"endpoint":"e","request":1,"retentionSeconds":5})";
  for (const auto& [key, body] : {std::pair("forever", forever), std::pair("brief", brief)}) {
    const Reply begun = Post("/v1/claims", key, body);
    Ask("PUT", "/v1/claims/" + begun.Text("/claimId") + "/outcome",
        {{"If-Match", begun.Header("ETag")}}, R"({"status":200})");
  }
  Advance(30 * kDayMs / 10);
  EXPECT_EQ(Post("/v1/claims", "brief", brief).status, 201);
  scheduler_->SetWall(scheduler_->WallMillis() + 3650 * kDayMs);
  Restart();
  const Reply kept = Post("/v1/claims", "forever", forever);
  EXPECT_EQ(kept.status, 200) << "ten years later";
  EXPECT_TRUE(kept.Replayed());
  EXPECT_EQ(kept.Text("/expiresAt"), "");
}

}  // namespace
}  // namespace once
