#include "replica/api/replay_cache.h"

#include "tests/replica/api_world.h"

namespace once {
namespace {

HttpReply Body(std::string text) {
  HttpReply reply;
  reply.status = 200;
  reply.body = std::move(text);
  return reply;
}

std::string CachedHash(int number) {
  return std::string(Bytes(Sha256(std::to_string(number))));
}

TEST(ReplayCache, OnlyTheSameRequestFindsItsAnswer) {
  ReplayCache cache(1 << 20);
  cache.Put(CachedHash(1), "fingerprint", 100, Body("answer"));
  ASSERT_NE(cache.Find(CachedHash(1), "fingerprint", 99), nullptr);
  EXPECT_EQ(cache.Find(CachedHash(1), "fingerprint", 99)->body, "answer");
  EXPECT_EQ(cache.Find(CachedHash(1), "another", 99), nullptr);
  EXPECT_EQ(cache.Find(CachedHash(2), "fingerprint", 99), nullptr);
}

TEST(ReplayCache, AnAnswerEndsWithItsClaim) {
  ReplayCache cache(1 << 20);
  cache.Put(CachedHash(1), "f", 100, Body("answer"));
  EXPECT_EQ(cache.Find(CachedHash(1), "f", 100), nullptr);
}

TEST(ReplayCache, WhatIsErasedIsGoneFromBothGenerations) {
  ReplayCache cache(64 << 10);
  cache.Put(CachedHash(0), "f", 100, Body("old"));
  for (int i = 1; i < 25; ++i) cache.Put(CachedHash(i), "f", 100, Body(std::string(1000, 'a')));
  ASSERT_NE(cache.Find(CachedHash(0), "f", 0), nullptr) << "it has aged, and is there";
  cache.Put(CachedHash(100), "f", 100, Body("young"));
  cache.Erase(CachedHash(0));
  cache.Erase(CachedHash(100));
  EXPECT_EQ(cache.Find(CachedHash(0), "f", 0), nullptr);
  EXPECT_EQ(cache.Find(CachedHash(100), "f", 0), nullptr);
  cache.Clear();
  EXPECT_EQ(cache.Find(CachedHash(5), "f", 0), nullptr);
}

TEST(ReplayCache, ItIsBoundedAndKeepsWhatIsAskedFor) {
  ReplayCache cache(100 << 10);
  for (int i = 0; i < 1000; ++i) {
    cache.Put(CachedHash(i), "f", 100, Body(std::string(1000, 'a')));
    ASSERT_NE(cache.Find(CachedHash(0), "f", 0), nullptr) << i;
  }
  int kept = 0;
  for (int i = 0; i < 1000; ++i) kept += cache.Find(CachedHash(i), "f", 0) != nullptr;
  EXPECT_LE(kept, 100);
  EXPECT_GT(kept, 10);
}

class ReadyAnswers : public ApiWorld {};

constexpr const char* kBeginPayment =
    R"({"endpoint":"pay","request":{"amount":1},"retentionSeconds":60})";

TEST_F(ReadyAnswers, OW_L1_03_EveryDuplicateGetsTheSameBytes) {
  const Reply first = Post("/v1/claims", "k", kBeginPayment);
  ASSERT_EQ(first.status, 201);
  ASSERT_EQ(Ask("PUT", "/v1/claims/" + first.Text("/claimId") + "/outcome",
                {{"If-Match", first.Header("ETag")}}, R"({"status":200,"body":"paid"})")
                .status,
            200);
  const Reply by_ledger = Post("/v1/claims", "k", kBeginPayment);
  const Reply kept = Post("/v1/claims", "k", kBeginPayment);
  EXPECT_TRUE(kept.Replayed());
  EXPECT_EQ(kept.body, by_ledger.body);
  EXPECT_EQ(kept.headers, by_ledger.headers);
  EXPECT_EQ(Post("/v1/claims", "k", R"({"endpoint":"pay","request":{"amount":2}})").status, 409);
  Restart();
  EXPECT_EQ(Post("/v1/claims", "k", kBeginPayment).body, by_ledger.body);
}

TEST_F(ReadyAnswers, AKeyIsFreeAgainWhenItsRetentionIsOver) {
  const Reply first = Post("/v1/claims", "k", kBeginPayment);
  Ask("PUT", "/v1/claims/" + first.Text("/claimId") + "/outcome",
      {{"If-Match", first.Header("ETag")}}, R"({"status":200})");
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Post("/v1/claims", "k", kBeginPayment).status, 200);
  Advance(60'000 + config_.clock_skew_bound_ms + 2000);
  const Reply again = Post("/v1/claims", "k", kBeginPayment);
  EXPECT_EQ(again.status, 201);
  EXPECT_NE(again.Text("/runId"), first.Text("/runId"));
}

TEST_F(ReadyAnswers, RepliesToRunsAreCountedAsReplaysToo) {
  const std::string run = R"({"workflowId":"append"})";
  const Reply first = Post("/v1/runs", "k", run);
  ASSERT_EQ(first.status, 201);
  for (int i = 0; i < 3; ++i) {
    const Reply again = Post("/v1/runs", "k", run);
    EXPECT_EQ(again.body, first.body);
    EXPECT_TRUE(again.Replayed());
  }
  As("admin");
  const std::string metrics = Get("/metrics").body;
  EXPECT_NE(metrics.find(R"(once_replays_total{route="POST /v1/runs",tenant="acme"} 3)"),
            std::string::npos)
      << metrics.substr(0, 4000);
}

}  // namespace
}  // namespace once
