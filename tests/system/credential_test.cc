// Keys come and go while the node runs.
#include <csignal>

#include "tests/system/node_process.h"
#include "tests/system/promises.h"

namespace once {
namespace {

class CredentialTest : public testing::Test {
 protected:
  void SetUp() override {
    admin_ = node_.AddKey("operator", "admin", {"admin"});
    first_ = node_.AddKey("acme", "first");
    ASSERT_TRUE(node_.Start());
  }
  int StatusWith(const std::string& key) {
    return Caller(node_.port(), key).Get("/v1/claims/none").status;
  }
  HttpResult Reload() { return Caller(node_.port(), admin_).Post("/v1/admin/reload", ""); }

  NodeProcess node_;
  std::string admin_;
  std::string first_;
};

TEST_F(CredentialTest, S_64_SighupBringsNewKeysAndEndsRevokedOnes) {
  const std::string second = node_.AddKey("acme", "second");
  EXPECT_EQ(StatusWith(second), 401);
  node_.Signal(SIGHUP);
  EXPECT_TRUE(WaitUntil([&] { return StatusWith(second) == 404; }));
  EXPECT_EQ(StatusWith(first_), 404);
  node_.RevokeKeys("acme", "first");
  node_.Signal(SIGHUP);
  EXPECT_TRUE(WaitUntil([&] { return StatusWith(first_) == 401; }));
  EXPECT_EQ(StatusWith(second), 404);
}

TEST_F(CredentialTest, S_64_ReloadTakesEffectWithItsAnswerOnOpenConnectionsToo) {
  Caller open(node_.port(), first_);
  EXPECT_EQ(open.Get("/v1/claims/none").status, 404);
  const std::string second = node_.AddKey("acme", "second");
  EXPECT_EQ(Reload().status, 200);
  EXPECT_EQ(StatusWith(second), 404);
  node_.RevokeKeys("acme", "first");
  EXPECT_EQ(Reload().status, 200);
  EXPECT_EQ(open.Get("/v1/claims/none").status, 401);
  EXPECT_EQ(Caller(node_.port(), second).Post("/v1/admin/reload", "").status, 403);
}

TEST_F(CredentialTest, S_64_TheEventStreamsOfARevokedKeyEnd) {
  const HttpResult run = Caller(node_.port(), first_).CreateRun("run", "approval");
  Caller reader(node_.port(), first_);
  HeaderList headers = reader.Headers();
  headers.emplace_back("Accept", "text/event-stream");
  const std::string events = "/v1/runs/" + Member(run, "runId") + "/events";
  reader.http().Send("GET", events, headers);
  ASSERT_TRUE(WaitUntil([&] {
    const std::string page = Caller(node_.port(), admin_).Get("/metrics").body;
    return page.find(R"(/events",status="2xx")") != std::string::npos;
  }));
  node_.RevokeKeys("acme", "first");
  EXPECT_EQ(Reload().status, 200);
  const HttpResult stream = reader.http().Receive();
  EXPECT_EQ(stream.status, 200) << "and it has an end";
  EXPECT_EQ(Caller(node_.port(), first_).Get(events).status, 401);
}

TEST_F(CredentialTest, S_64_RotationTwoKeysOfOneActorSeeTheSameClaims) {
  const std::string rotated = node_.AddKey("acme", "first");
  EXPECT_EQ(Reload().status, 200);
  Caller old_key(node_.port(), first_);
  Caller new_key(node_.port(), rotated);
  const BegunClaim claim = ClaimOf(old_key.Begin("order"));
  EXPECT_EQ(new_key.Settle(claim, "paid").status, 200);
  EXPECT_EQ(AnswerOf(old_key.Begin("order")), "paid");
  EXPECT_EQ(AnswerOf(new_key.Begin("order")), "paid");
}

TEST_F(CredentialTest, DamagedFileChangesNothing) {
  const std::string good = ReadFile(node_.keys_file());
  WriteFile(node_.keys_file(), "[{\"id\": ");
  const HttpResult refused = Reload();
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(Member(refused, "error"), "reload_failed");
  EXPECT_EQ(StatusWith(first_), 404);
  node_.Signal(SIGHUP);
  EXPECT_TRUE(WaitUntil([&] { return node_.Logged("reload-failed"); }));
  EXPECT_EQ(StatusWith(first_), 404);
  WriteFile(node_.keys_file(), good);
  EXPECT_EQ(Reload().status, 200);
}

TEST_F(CredentialTest, MissingFileChangesNothing) {
  ASSERT_EQ(std::remove(node_.keys_file().c_str()), 0);
  EXPECT_EQ(Reload().status, 409) << "a file that is being replaced must not lock everybody out";
  EXPECT_EQ(StatusWith(first_), 404);
}

TEST_F(CredentialTest, ReloadRereadsPolicies) {
  Caller caller(node_.port(), first_);
  ASSERT_EQ(caller.CreateRun("order", "noop").status, 201);
  EXPECT_EQ(Member(caller.CreateRun("order", "append"), "error"), "idempotency_key_mismatch");
  const std::string config = ReadFile(node_.config_file());
  WriteFile(node_.config_file(), config + "[[policy]]\nmismatch = \"observe\"\n");
  EXPECT_EQ(Reload().status, 200);
  EXPECT_EQ(caller.CreateRun("order", "append").status, 201);
  WriteFile(node_.config_file(), config + "[[policy]]\nmismatch = \"perhaps\"\n");
  EXPECT_EQ(Reload().status, 409);
  EXPECT_EQ(caller.CreateRun("order", "append").status, 201);
}

}  // namespace
}  // namespace once
