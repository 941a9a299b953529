// Directories that are not what the group remembers: emptied, or put back from a backup.
#include <filesystem>

#include "tests/system/strict_cluster.h"

namespace once {
namespace {

namespace fs = std::filesystem;

class StrictRejoin : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.Start());
    leader_ = cluster_.AwaitLeaderAmong(cluster_.regions());
    const Regions others = cluster_.OthersThan(leader_);
    lost_ = others[0];
    other_ = others[1];
    old_name_ = cluster_.View(lost_).member;
    Settle("before");
  }

  NodeProcess& node(const std::string& region) { return cluster_.nodes().node(region); }

  void Settle(const std::string& key) {
    Caller caller = cluster_.nodes().Acme(leader_);
    HttpResult begun;
    ASSERT_TRUE(WaitUntil([&] {
      begun = caller.Begin(key, 1);
      return begun.status == 201;
    })) << begun.body;
    ASSERT_TRUE(WaitUntil([&] { return caller.Settle(ClaimOf(begun), key).status == 200; }));
  }

  // The region's new member has a vote only if `votes`: without the third region the group goes on,
  // or it does not.
  void ExpectItsVoteCounts(bool votes) {
    node(other_).Kill();
    Caller caller = cluster_.nodes().Acme(leader_);
    const std::string key = votes ? "with its vote" : "without its vote";
    if (votes)
      EXPECT_TRUE(WaitUntil([&] { return caller.Begin(key, 1).status == 201; }));
    else
      EXPECT_EQ(caller.Begin(key, 1).status, 503);
    ASSERT_TRUE(cluster_.nodes().Start(other_));
    ASSERT_FALSE(cluster_.AwaitLeaderAmong(cluster_.regions()).empty());
  }

  // It has another name, no vote, and gets both back only from the group.
  void ExpectJoinsAsALearner() {
    const std::string name = cluster_.View(lost_).member;
    ASSERT_NE(name, old_name_);
    ExpectItsVoteCounts(false);
    ASSERT_TRUE(cluster_.ChangeByLeader("add", name));
    ASSERT_TRUE(cluster_.AwaitAgreement(cluster_.regions()));
    const HttpResult told = cluster_.nodes().Acme(lost_).Begin("after");
    EXPECT_TRUE(told.replayed()) << told.body;
    EXPECT_EQ(AnswerOf(told), "after");
    ASSERT_TRUE(cluster_.ChangeByLeader("remove", old_name_));
    ASSERT_TRUE(cluster_.ChangeByLeader("promote", name));
    ASSERT_TRUE(WaitUntil([&] {
      const std::vector<std::string> voters = cluster_.View(lost_).voters;
      return std::find(voters.begin(), voters.end(), name) != voters.end();
    }));
    ExpectItsVoteCounts(true);
  }

  StrictCluster cluster_;
  std::string leader_;
  std::string lost_;   // whose directory it is
  std::string other_;  // the third region
  std::string old_name_;
};

TEST_F(StrictRejoin, S_49_AnEmptiedDirectoryDoesNotVoteUntilItHasJoined) {
  node(lost_).Kill();
  fs::remove_all(node(lost_).data_dir());
  Settle("after");
  ASSERT_TRUE(cluster_.nodes().Start(lost_));
  ExpectJoinsAsALearner();
}

enum class Way { kIntoAnEmptyOne, kOverIt, kOnlyItsStore, kWhatDiffers };

class StrictRestore : public StrictRejoin, public testing::WithParamInterface<Way> {
 protected:
  // As rsync does: what looks the same stays, another file takes the place of what does not.
  static void PutBackWhatDiffers(const fs::path& backup, const fs::path& data) {
    for (const auto& entry : fs::recursive_directory_iterator(backup)) {
      const fs::path to = data / fs::relative(entry.path(), backup);
      if (entry.is_directory()) continue;
      if (fs::exists(to) && fs::file_size(to) == entry.file_size() &&
          fs::last_write_time(to) == entry.last_write_time())
        continue;
      fs::create_directories(to.parent_path());
      fs::copy(entry.path(), to.string() + ".x");
      fs::last_write_time(to.string() + ".x", entry.last_write_time());
      fs::rename(to.string() + ".x", to);
    }
    std::vector<fs::path> surplus;
    for (const auto& entry : fs::recursive_directory_iterator(data))
      if (!fs::exists(backup / fs::relative(entry.path(), data))) surplus.push_back(entry.path());
    for (const fs::path& path : surplus) fs::remove_all(path);
  }

  static void PutBack(const std::string& backup, const std::string& data) {
    const auto copy = [](const std::string& from, const std::string& to) {
      EXPECT_EQ(RunProgram({"cp", "-a", from, to}).exit_code, 0);
    };
    switch (GetParam()) {
      case Way::kIntoAnEmptyOne:
        fs::remove_all(data);
        return copy(backup, data);
      case Way::kOverIt:
        return copy(backup + "/.", data);
      case Way::kOnlyItsStore:
        fs::remove_all(data + "/store");
        return copy(backup + "/store", data + "/store");
      case Way::kWhatDiffers:
        return PutBackWhatDiffers(backup, data);
    }
  }
};

TEST_P(StrictRestore, S_30_ABackupThatWasPutBackDoesNotVoteUntilItHasJoined) {
  ASSERT_EQ(node(lost_).Stop(), 0);
  const std::string backup = node(lost_).scratch() / "backup";
  ASSERT_EQ(RunProgram({"cp", "-a", node(lost_).data_dir(), backup}).exit_code, 0);
  ASSERT_TRUE(cluster_.nodes().Start(lost_));
  ASSERT_TRUE(cluster_.AwaitAgreement(cluster_.regions()));
  Settle("after");
  node(lost_).Kill();
  PutBack(backup, node(lost_).data_dir());

  EXPECT_EQ(node(lost_).StartAndExit(), 1) << "it would vote with yesterday's memory";
  EXPECT_TRUE(node(lost_).Logged("--adopt-data")) << node(lost_).Log();
  node(lost_).setup.arguments = {"--adopt-data"};
  ASSERT_TRUE(cluster_.nodes().Start(lost_));
  node(lost_).setup.arguments.clear();
  ExpectJoinsAsALearner();
}

std::string NameOf(const testing::TestParamInfo<Way>& info) {
  switch (info.param) {
    case Way::kIntoAnEmptyOne:
      return "IntoAnEmptyOne";
    case Way::kOverIt:
      return "OverIt";
    case Way::kOnlyItsStore:
      return "OnlyItsStore";
    case Way::kWhatDiffers:
      break;
  }
  return "WhatDiffers";
}

INSTANTIATE_TEST_SUITE_P(Ways, StrictRestore,
                         testing::Values(Way::kIntoAnEmptyOne, Way::kOverIt, Way::kOnlyItsStore,
                                         Way::kWhatDiffers),
                         NameOf);

}  // namespace
}  // namespace once
