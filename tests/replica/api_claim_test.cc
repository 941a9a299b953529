// The plain claim API: begin, settle under a fence, renew, release, look up.
#include "tests/replica/api_world.h"

namespace once {
namespace {

constexpr const char* kBegin = R"({"endpoint":"charge","request":{"amount":1}})";

class ApiClaim : public ApiWorld {
 protected:
  Reply Begin(const std::string& key, const std::string& body = kBegin, Headers headers = {}) {
    return Post("/v1/claims", key, body, std::move(headers));
  }
  static std::string Place(const Reply& claim) { return "/v1/claims/" + claim.Text("/claimId"); }
  static Headers Fence(const Reply& claim) { return {{"If-Match", claim.Header("ETag")}}; }
  Reply Settle(const Reply& claim, const std::string& outcome) {
    return Ask("PUT", Place(claim) + "/outcome", Fence(claim), outcome);
  }
};

TEST_F(ApiClaim, OW_N_03_BeginSettleReplay) {
  const Reply begun = Begin("k");
  EXPECT_EQ(begun.status, 201);
  EXPECT_EQ(begun.Text("/state"), "pending");
  EXPECT_EQ(begun.Number("/tries"), 1);
  EXPECT_EQ(begun.Header("ETag"), "\"" + std::to_string(begun.Number("/fence")) + "\"");
  EXPECT_NE(begun.Text("/leaseUntil"), "");
  EXPECT_EQ(begun.Header(kReplayHeader), "");
  const Reply settled =
      Settle(begun, R"({"status":201,"headers":{"Location":"/c/1"},"body":"{\"id\":1}"})");
  EXPECT_EQ(settled.status, 200);
  EXPECT_EQ(settled.Text("/state"), "completed");
  const Reply replay = Begin("k");
  EXPECT_EQ(replay.status, 200);
  EXPECT_TRUE(replay.Replayed());
  EXPECT_EQ(replay.Number("/outcome/status"), 201);
  EXPECT_EQ(replay.Text("/outcome/headers/Location"), "/c/1");
  EXPECT_EQ(replay.Text("/outcome/body"), R"({"id":1})");
  EXPECT_EQ(replay.Text("/runId"), begun.Text("/runId"));
  CrashAndRestart();
  EXPECT_EQ(Begin("k").body, replay.body);
}

TEST_F(ApiClaim, OW_N_04_EveryStateCanBeReachedAndSeen) {
  const auto state = [&](const std::string& key, const std::string& outcome) {
    const Reply claim = Begin(key);
    EXPECT_EQ(Settle(claim, outcome).status, 200);
    return Get(Place(claim)).Text("/state");
  };
  EXPECT_EQ(Get(Place(Begin("pending"))).Text("/state"), "pending");
  EXPECT_EQ(state("ok", R"({"status":200})"), "completed");
  EXPECT_EQ(state("gone", R"({"status":404})"), "terminal-failure");
  EXPECT_EQ(state("busy", R"({"status":503})"), "retryable-failure");
  EXPECT_EQ(state("said", R"({"status":200,"state":"retryable-failure"})"), "retryable-failure");
  EXPECT_EQ(Begin("ok").status, 200);
  EXPECT_EQ(Begin("gone").status, 200);
  EXPECT_EQ(Begin("busy").status, 201) << "retryable is never replayed";
}

TEST_F(ApiClaim, OW_L1_14_ALaterSuccessReplacesTheRetryableOutcome) {
  const Reply first = Begin("k");
  Settle(first, R"({"status":503,"body":"busy"})");
  const Reply second = Begin("k");
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.Text("/runId"), first.Text("/runId"));
  EXPECT_EQ(second.Number("/tries"), 2);
  EXPECT_GT(second.Number("/fence"), first.Number("/fence"));
  Settle(second, R"({"status":200,"body":"done"})");
  EXPECT_EQ(Begin("k").Text("/outcome/body"), "done");
}

TEST_F(ApiClaim, AKeyThatIsReleasedAgainAndAgainIsRefusedUntilSomeAreForgotten) {
  for (std::size_t round = 0; round < kSlotClaimsMax; ++round) {
    const Reply claim = Begin("k");
    ASSERT_EQ(claim.status, 201);
    ASSERT_EQ(Ask("DELETE", Place(claim), Fence(claim)).status, 204);
  }
  const Reply refused = Begin("k");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.Text("/error"), "too_many_claims");
  EXPECT_EQ(std::to_string(refused.Number("/details/retryAfter")), refused.Header("Retry-After"));
  EXPECT_EQ(Begin("other").status, 201);
  EXPECT_EQ(Metric("once_refused_total", R"(route="charge")"), 1);
  Advance(refused.Number("/details/retryAfter") * 1000);
  EXPECT_EQ(Begin("k").status, 201);
}

TEST_F(ApiClaim, ARunThatIsRefusedAdmissionAgainAndAgainIsBoundedToo) {
  const std::string refusing = R"({"workflowId":"fail","inputs":{"status":400}})";
  for (std::size_t round = 0; round < kSlotClaimsMax; ++round)
    ASSERT_EQ(Post("/v1/runs", "k", refusing).status, 400);
  const Reply refused = Post("/v1/runs", "k", refusing);
  EXPECT_EQ(refused.Text("/error"), "too_many_claims");
  EXPECT_FALSE(refused.Replayed());
}

TEST_F(ApiClaim, AFenceIsRequired) {
  const Reply claim = Begin("k");
  for (const Headers& headers :
       {Headers{}, Headers{{"If-Match", "*"}}, Headers{{"If-Match", ""}}}) {
    const Reply reply = Ask("PUT", Place(claim) + "/outcome", headers, R"({"status":200})");
    EXPECT_EQ(reply.status, 428);
    EXPECT_EQ(reply.Text("/error"), "fence_required");
    EXPECT_EQ(Ask("POST", Place(claim) + "/renew", headers).status, 428);
    EXPECT_EQ(Ask("DELETE", Place(claim), headers).status, 428);
  }
  EXPECT_EQ(Get(Place(claim)).Text("/state"), "pending");
}

TEST_F(ApiClaim, OW_N_05_AfterTheLeaseOneTakesOverAndTheLateOwnerIsRefused) {
  const Reply late = Begin("k", R"({"endpoint":"e","request":1,"leaseSeconds":2})");
  EXPECT_EQ(Begin("k", R"({"endpoint":"e","request":1})").status, 409);
  Advance(2001);
  const Reply taker = Begin("k", R"({"endpoint":"e","request":1})");
  ASSERT_EQ(taker.status, 201);
  EXPECT_GT(taker.Number("/fence"), late.Number("/fence"));
  EXPECT_EQ(Begin("k", R"({"endpoint":"e","request":1})").status, 409) << "never two owners";
  for (const Reply& reply :
       {Settle(late, R"({"status":200})"), Ask("POST", Place(late) + "/renew", Fence(late)),
        Ask("DELETE", Place(late), Fence(late))}) {
    EXPECT_EQ(reply.status, 409);
    EXPECT_EQ(reply.Text("/error"), "stale_fence");
  }
  EXPECT_EQ(Settle(taker, R"({"status":200,"body":"taker"})").status, 200);
  EXPECT_EQ(Begin("k", R"({"endpoint":"e","request":1})").Text("/outcome/body"), "taker");
  EXPECT_EQ(Metric("once_reclaims_total"), 1);
  EXPECT_EQ(Metric("once_stale_fences_total"), 3);
  EXPECT_EQ(Metric("once_late_successes_total"), 1) << "a success, no renewal and no release";
}

TEST_F(ApiClaim, PreferWaitGetsTheSettledAnswer) {
  const Reply owner = Begin("k");
  const auto joined = SendPost("/v1/claims", "k", kBegin, {{"Prefer", "wait=10"}});
  Advance(3000);
  EXPECT_EQ(joined->status, 0);
  Settle(owner, R"({"status":200,"body":"done"})");
  EXPECT_EQ(joined->status, 200);
  EXPECT_TRUE(joined->Replayed());
  EXPECT_EQ(joined->Text("/outcome/body"), "done");
}

TEST_F(ApiClaim, PreferWaitTakesOverWhenTheLeaseEnds) {
  const Reply owner = Begin("k", R"({"endpoint":"e","request":1,"leaseSeconds":5})");
  const auto joined =
      SendPost("/v1/claims", "k", R"({"endpoint":"e","request":1})", {{"Prefer", "wait=20"}});
  const auto third =
      SendPost("/v1/claims", "k", R"({"endpoint":"e","request":1})", {{"Prefer", "wait=20"}});
  Advance(4900);
  EXPECT_EQ(joined->status, 0);
  Advance(200);
  EXPECT_EQ(joined->status, 201);
  EXPECT_EQ(third->status, 0) << "one takes over";
  EXPECT_GT(joined->Number("/fence"), owner.Number("/fence"));
}

TEST_F(ApiClaim, RenewExtendsTheLease) {
  const Reply claim = Begin("k", R"({"endpoint":"e","request":1,"leaseSeconds":2})");
  for (int i = 0; i < 5; ++i) {
    Advance(1500);
    EXPECT_EQ(Ask("POST", Place(claim) + "/renew", Fence(claim), R"({"leaseSeconds":2})").status,
              200);
  }
  EXPECT_EQ(Begin("k", R"({"endpoint":"e","request":1})").status, 409);
  EXPECT_EQ(Settle(claim, R"({"status":200})").status, 200);
  EXPECT_EQ(Ask("POST", Place(claim) + "/renew", Fence(claim)).Text("/error"), "stale_fence");
}

TEST_F(ApiClaim, RenewKeepsTheLengthOfTheLease) {
  const Reply claim = Begin("k", R"({"endpoint":"e","request":1,"leaseSeconds":3600})");
  const Reply renewed = Ask("POST", Place(claim) + "/renew", Fence(claim));
  EXPECT_EQ(renewed.status, 200) << renewed.body;
  EXPECT_EQ(renewed.Number("/leaseMs"), 3'600'000);
}

TEST_F(ApiClaim, ALeaseBeyondTheLimitIsRefused) {
  const std::string most = std::to_string(config_.limits.lease_ms_max / 1000);
  const std::string more = std::to_string(config_.limits.lease_ms_max / 1000 + 1);
  const std::string body = R"({"endpoint":"e","request":1,"leaseSeconds":)";
  EXPECT_EQ(Begin("k", body + more + "}").status, 400);
  const Reply claim = Begin("k", body + most + "}");
  ASSERT_EQ(claim.status, 201) << claim.body;
  const auto renew = [&](const std::string& seconds) {
    return Ask("POST", Place(claim) + "/renew", Fence(claim),
               R"({"leaseSeconds":)" + seconds + "}");
  };
  EXPECT_EQ(renew(more).status, 400);
  EXPECT_EQ(renew(most).status, 200);
}

// A misspelt member would settle for good, with another answer than was meant.
TEST_F(ApiClaim, UnknownMembersAreRefusedAndChangeNothing) {
  const Reply claim = Begin("k");
  EXPECT_EQ(Settle(claim, R"({"status":200,"bodyBase46":"aGk="})").status, 400);
  EXPECT_EQ(Ask("POST", Place(claim) + "/renew", Fence(claim), R"({"leaseSecond":5})").status, 400);
  EXPECT_EQ(Settle(claim, R"({"status":200,"bodyBase64":"aGk="})").status, 200);
}

TEST_F(ApiClaim, AMemberWithoutANameIsUnknownToo) {
  EXPECT_EQ(Begin("k", R"({"":1,"endpoint":"e","request":1})").status, 400);
  EXPECT_EQ(Begin("k", R"({"":1,"endpoint":"e","request":1,"retentionSecond":5})").status, 400);
  const Reply claim = Begin("k");
  ASSERT_EQ(claim.status, 201);
  EXPECT_EQ(Settle(claim, R"({"":1,"status":200})").status, 400);
  EXPECT_EQ(Settle(claim, R"({"":1,"status":200,"bodyBase46":"aGk="})").status, 400);
  EXPECT_EQ(Ask("POST", Place(claim) + "/renew", Fence(claim), R"({"":1})").status, 400);
  EXPECT_EQ(Get(Place(claim)).Text("/state"), "pending");
}

TEST_F(ApiClaim, ABodyThatCannotBeReadIsToldWhy) {
  const Reply claim = Begin("k");
  for (const Reply& refused : {Begin("other", "{"), Settle(claim, "{"),
                               Ask("POST", Place(claim) + "/renew", Fence(claim), "{")}) {
    EXPECT_EQ(refused.status, 400);
    EXPECT_TRUE(refused.Text("/message").starts_with("The body is not acceptable JSON: "));
  }
}

// It is a label of metrics and a word of logs.
TEST_F(ApiClaim, AnEndpointHasNoControlCharacters) {
  for (const char* body :
       {R"({"endpoint":"a\u0000b","request":1})", R"({"endpoint":"a\nb","request":1})",
        R"({"endpoint":"a\u007f","request":1})"})
    EXPECT_EQ(Begin("k", body).status, 400) << body;
  EXPECT_EQ(Begin("k", R"({"endpoint":"Zahlung für Müller","request":1})").status, 201);
}

TEST_F(ApiClaim, PreferIsReadAsAList) {
  const Reply claim = Begin("k");
  for (const char* prefer : {"Wait=10", "respond-async, wait = 10", "a=\"b\"; x=1,wait=\"10\""}) {
    const auto joined = SendPost("/v1/claims", "k", kBegin, {{"Prefer", prefer}});
    EXPECT_EQ(joined->status, 0) << prefer;
  }
  for (const char* prefer : {"nowait=10", "x=\"wait=10\"", "wait", "wait=", "wait=1h"}) {
    const auto answered = SendPost("/v1/claims", "k", kBegin, {{"Prefer", prefer}});
    EXPECT_EQ(answered->status, 409) << prefer;
  }
}

TEST_F(ApiClaim, PreferMayStandOnSeveralLines) {
  const Reply claim = Begin("k");
  const auto asked = [&](const char* first, const char* second) {
    return SendPost("/v1/claims", "k", kBegin, {{"Prefer", first}, {"prefer", second}})->status;
  };
  EXPECT_EQ(asked("respond-async", "wait=10"), 0);
  EXPECT_EQ(asked("wait=10", "respond-async"), 0);
  EXPECT_EQ(asked("wait=0", "wait=10"), 409) << "the first one counts";
}

TEST_F(ApiClaim, CK_03_AReleasedKeyIsFreeForAnyRequest) {
  const Reply claim = Begin("k");
  const Reply released = Ask("DELETE", Place(claim), Fence(claim));
  EXPECT_EQ(released.status, 204);
  EXPECT_EQ(released.body, "");
  EXPECT_EQ(Ask("DELETE", Place(claim), Fence(claim)).status, 204) << "said twice is no conflict";
  const Reply next = Begin("k", R"({"endpoint":"charge","request":{"amount":2}})");
  EXPECT_EQ(next.status, 201);
  EXPECT_NE(next.Text("/runId"), claim.Text("/runId"));
}

TEST_F(ApiClaim, ARepeatedSettleIsTheSameAnswerAnotherOneAConflict) {
  const Reply claim = Begin("k");
  const Reply first = Settle(claim, R"({"status":200,"body":"a"})");
  EXPECT_EQ(first.Header(kReplayHeader), "");
  const Reply again = Settle(claim, R"({"body":"a", "status":200})");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, first.body);
  EXPECT_TRUE(again.Replayed());
  EXPECT_EQ(Settle(claim, R"({"status":200,"body":"b"})").Text("/error"), "stale_fence");
  EXPECT_EQ(Begin("k").Text("/outcome/body"), "a") << "a final outcome never changes";
}

TEST_F(ApiClaim, OW_L1_03_SetCookieIsNeverStored) {
  const Reply claim = Begin("k");
  Settle(claim, R"({"status":200,"headers":{"Set-Cookie":"s=1","SET-COOKIE":"s=2","X-A":"b"}})");
  const Reply replay = Begin("k");
  EXPECT_EQ(replay.At("/outcome/headers").as_object().size(), 1u);
  EXPECT_EQ(replay.Text("/outcome/headers/X-A"), "b");
  for (const auto& [key, value] : disk_.visible()) EXPECT_EQ(value.find("s=1"), std::string::npos);
}

TEST_F(ApiClaim, BinaryBodiesComeBackAsTheyWere) {
  const Reply claim = Begin("k");
  ASSERT_EQ(Settle(claim, R"({"status":200,"bodyBase64":"AAH/gA=="})").status, 200);
  const Reply replay = Begin("k");
  EXPECT_EQ(replay.Text("/outcome/bodyBase64"), "AAH/gA==");
  EXPECT_EQ(replay.At("/outcome/body"), boost::json::value());
}

TEST_F(ApiClaim, AnAnswerLargerThanTheBoundIsRefusedAndTheClaimStaysOpen) {
  Configure([](Config& config) { config.limits.stored_answer_bytes_max = 1000; });
  const Reply claim = Begin("k");
  const Reply refused =
      Settle(claim, R"({"status":200,"body":")" + std::string(1000, 'x') + R"("})");
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.Text("/error"), "outcome_too_large");
  EXPECT_EQ(Settle(claim, R"({"status":200,"body":")" + std::string(900, 'x') + R"("})").status,
            200);
}

TEST_F(ApiClaim, AFingerprintMayBeTheCallersOwn) {
  const std::string body = R"({"endpoint":"e","fingerprint":"abc"})";
  const Reply claim = Begin("k", body);
  ASSERT_EQ(claim.status, 201);
  Settle(claim, R"({"status":200})");
  EXPECT_EQ(Begin("k", body).status, 200);
  EXPECT_EQ(Begin("k", R"({"endpoint":"e","fingerprint":"abd"})").status, 409);
  EXPECT_EQ(Begin("k", R"({"endpoint":"e","request":"abc"})").status, 409);
}

TEST_F(ApiClaim, OW_L1_10_WhatIsNotAcceptableIsNotStored) {
  for (const char* body :
       {"", "[]", R"({"request":1})", R"({"endpoint":"","request":1})", R"({"endpoint":"e"})",
        R"({"endpoint":"e","request":1,"fingerprint":"a"})",
        R"({"endpoint":"e","request":1,"leaseSeconds":0})",
        R"({"endpoint":"e","request":1,"retentionSeconds":-1})",
        R"({"endpoint":"e","request":1,"unknown":1})", R"({"endpoint":"e","fingerprint":7})"})
    EXPECT_EQ(Begin("k", body).status, 400) << body;
  EXPECT_EQ(Begin("").status, 400) << "the claim API needs a key";
  EXPECT_EQ(Records('s'), 0u);
  const Reply claim = Begin("k");
  for (const char* outcome :
       {"", "{}", R"({"status":100})", R"({"status":200,"body":1})",
        R"({"status":200,"body":"a","bodyBase64":"YQ=="})", R"({"status":200,"bodyBase64":"YQ"})",
        R"({"status":200,"headers":{"X A":"b"}})", R"({"status":200,"headers":{"X":"a\r\nY: b"}})",
        R"({"status":200,"state":"pending"})"})
    EXPECT_EQ(Settle(claim, outcome).status, 400) << outcome;
  EXPECT_EQ(Get(Place(claim)).Text("/state"), "pending");
}

}  // namespace
}  // namespace once
