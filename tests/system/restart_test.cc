// A node comes back with what it acknowledged, and only on a directory that is its own.
#include <csignal>
#include <filesystem>

#include "tests/system/node_process.h"
#include "tests/system/promises.h"

namespace once {
namespace {

namespace fs = std::filesystem;

// One of each kind of thing that an answer can promise.
struct Story {
  std::string key;
  BegunClaim pending;
  HttpResult settled_replay;
  HttpResult run;

  explicit Story(NodeProcess& node) : key(node.AddKey("acme")) {
    EXPECT_TRUE(node.Start());
    Caller caller(node.port(), key);
    pending = ClaimOf(caller.Begin("pending", 600));
    const HttpResult begun = caller.Begin("settled");
    EXPECT_EQ(caller.Settle(ClaimOf(begun), "paid \xc3\xa9").status, 200);
    settled_replay = caller.Begin("settled");
    run = caller.CreateRun("run", "approval");
    EXPECT_EQ(run.status, 201);
    EXPECT_TRUE(WaitUntil([&] { return StatusOfRun(caller) == "waiting-approval"; }));
  }

  std::string StatusOfRun(Caller& caller) const {
    return Member(caller.Get("/v1/runs/" + Member(run, "runId")), "status");
  }

  void ExpectKept(std::uint16_t port) const {
    Caller caller(port, key);
    const HttpResult replay = caller.Begin("settled");
    EXPECT_EQ(replay.status, 200);
    EXPECT_TRUE(replay.replayed());
    EXPECT_EQ(replay.body, settled_replay.body);
    EXPECT_EQ(replay.Header("etag"), settled_replay.Header("etag"));

    const HttpResult run_again = caller.CreateRun("run", "approval");
    EXPECT_EQ(run_again.status, 201);
    EXPECT_TRUE(run_again.replayed());
    EXPECT_EQ(run_again.body, run.body);
    EXPECT_EQ(StatusOfRun(caller), "waiting-approval");

    EXPECT_EQ(Member(caller.Begin("pending"), "error"), "idempotency_in_flight");
    EXPECT_EQ(caller.Settle(pending, "in time").status, 200);
    EXPECT_EQ(AnswerOf(caller.Begin("pending")), "in time");
  }
};

TEST(Restart, S_19_SigtermKeepsClaimsLeasesRunsAndAnswers) {
  NodeProcess node;
  const Story story(node);
  EXPECT_EQ(node.Stop(), 0);
  ASSERT_TRUE(node.Start());
  story.ExpectKept(node.port());
}

TEST(Restart, S_19_KillKeepsClaimsLeasesRunsAndAnswers) {
  NodeProcess node;
  const Story story(node);
  node.Kill();
  ASSERT_TRUE(node.Start());
  story.ExpectKept(node.port());
}

TEST(Restart, KilledAtAnyPointOfItsFirstStartItStartsAgain) {
  for (int attempt = 0; attempt < 12; ++attempt) {
    NodeProcess node;
    // Ever later: the first directory, the first file, the store under way.
    const fs::path data = node.data_dir();
    const std::vector<fs::path> stages = {data,
                                          data / "LOCK",
                                          data / "IDENTITY",
                                          data / "store",
                                          data / "store/MANIFEST-000001",
                                          data / "store/CURRENT"};
    const fs::path& stage = stages[static_cast<std::size_t>(attempt) % stages.size()];
    std::thread killer([&] {
      WaitUntil([&] { return fs::exists(stage) || node.Logged("ready"); });
      ::kill(node.pid(), SIGKILL);
    });
    const bool ready = static_cast<bool>(node.Start());
    killer.join();
    EXPECT_TRUE(node.Start()) << "after a kill at " << stage << (ready ? ", when ready" : "");
  }
}

TEST(Restart, SecondNodeOnTheSameDirectoryIsRefused) {
  NodeProcess first;
  const Story story(first);
  NodeProcess second({.data_dir = first.data_dir()});
  EXPECT_EQ(second.StartAndExit(), 1);
  EXPECT_TRUE(second.Logged("is in use by another process")) << second.Log();
  story.ExpectKept(first.port());
}

TEST(Restart, S_28_AnotherRegionIsRefused) {
  NodeProcess node;
  const Story story(node);
  ASSERT_EQ(node.Stop(), 0);
  node.setup.region = "eu";
  EXPECT_EQ(node.StartAndExit(), 1);
  EXPECT_TRUE(node.Logged("holds the data of region 'us'")) << node.Log();
  node.setup.region = "us";
  ASSERT_TRUE(node.Start());
  story.ExpectKept(node.port());
}

TEST(Restart, S_29_CopyIsRefusedUntilItIsAdopted) {
  NodeProcess original;
  const Story story(original);
  ASSERT_EQ(original.Stop(), 0);
  NodeProcess copy;
  fs::copy(original.data_dir(), copy.data_dir(), fs::copy_options::recursive);
  fs::copy(original.keys_file(), copy.keys_file());
  EXPECT_EQ(copy.StartAndExit(), 1);
  EXPECT_TRUE(copy.Logged("--adopt-data")) << copy.Log();

  copy.setup.arguments = {"--adopt-data"};
  ASSERT_TRUE(copy.Start());
  story.ExpectKept(copy.port());
  ASSERT_EQ(copy.Stop(), 0);
  copy.setup.arguments.clear();
  EXPECT_TRUE(copy.Start()) << "an adopted directory is nobody's copy";
}

TEST(Restart, S_29_ThereMustBeSomethingToAdopt) {
  NodeProcess node({.arguments = {"--adopt-data"}});
  EXPECT_EQ(node.StartAndExit(), 1);
  EXPECT_TRUE(node.Logged("nothing to adopt")) << node.Log();
}

TEST(Restart, PortInUseIsRefusedWithItsName) {
  NodeProcess first;
  ASSERT_TRUE(first.Start());
  NodeProcess second;
  const std::string address = "127.0.0.1:" + std::to_string(first.port());
  second.setup.listen = address;
  EXPECT_EQ(second.StartAndExit(), 1);
  EXPECT_TRUE(second.Logged("cannot listen on " + address)) << second.Log();
}

TEST(Restart, S_49_EmptiedStoreIsRefused) {
  NodeProcess node;
  const Story story(node);
  ASSERT_EQ(node.Stop(), 0);
  fs::remove_all(node.data_dir() + "/store");
  EXPECT_EQ(node.StartAndExit(), 1) << "it would answer as if nothing had ever been claimed";
}

}  // namespace
}  // namespace once
