// The strict group loses its leader under load, in every way in which a process can be lost; then
// all callers' histories are judged.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <tuple>

#include "simulator/story_of_key.h"
#include "tests/system/namespace_network.h"
#include "tests/system/strict_cluster.h"
#include "tests/system/strict_load.h"
#include "tests/system/sync_fault.h"

namespace once {
namespace {

constexpr std::size_t kSome = 40;  // admissions, so that the load is known to flow
constexpr int kHeals = 5;          // at most

class StrictFailover : public testing::Test {
 protected:
  void Prepare(std::unique_ptr<RegionNetwork> network, bool fault_injection) {
    cluster_ = std::make_unique<StrictCluster>(std::move(network), fault_injection);
    if (!disk_fault_.empty())
      for (const std::string& region : cluster_->regions()) LetDiskFail(region);
    ASSERT_TRUE(cluster_->Start());
    recorder_ =
        std::make_unique<HistoryRecorder>(cluster_->regions(), HistoryRecorder::Slots::kStrict);
    load_ = std::make_unique<StrictLoad>(cluster_->nodes(), *recorder_, cluster_->regions());
    ASSERT_TRUE(load_->AwaitAdmissions(kSome));
    leader_ = cluster_->AwaitLeaderAmong(cluster_->regions());
    ASSERT_FALSE(leader_.empty());
    others_ = cluster_->OthersThan(leader_);
  }

  void LetDiskFail(const std::string& region) {
    NodeSetup& setup = cluster_->nodes().node(region).setup;
    setup.environment = SyncFault(disk_fault_ + ":" + FaultFile(region));
    // On the main thread a sync that hangs is a pause of the whole node.
    setup.settings += "[storage]\ninline_sync_us_max = 0\n";
  }
  // While it exists, the disk of the region's node has the fault.
  std::string FaultFile(const std::string& region) {
    return cluster_->nodes().node(region).scratch() / "the-disk-fails";
  }

  // How long a caller of the majority who asks now waits to be given its claim.
  void MeasureRecovery(const std::string& what) {
    RecordedCaller caller(*recorder_, cluster_->nodes(), others_[0]);
    const std::int64_t lost_ms = recorder_->NowMillis();
    ASSERT_TRUE(WaitUntil([&] {
      return caller.Begin("asked when the leader was lost", 1).answer ==
             Operation::Answer::kExecute;
    }));
    const std::int64_t took_ms = recorder_->NowMillis() - lost_ms;
    RecordProperty("recovery_ms", std::to_string(took_ms));
    std::cout << "leader " << what << ": a claim was given again after " << took_ms << " ms\n";
  }

  // A follower is cut off for several election timeouts and comes back. `disturbed`: somebody else
  // leads then, or in another term, or a request had to be asked again since.
  void CutAndHeal(bool& disturbed) {
    leader_ = cluster_->AwaitLeaderAmong(cluster_->regions());
    const std::string follower = cluster_->OthersThan(leader_)[0];
    cluster_->nodes().Cut({follower}, cluster_->OthersThan(follower));
    const std::uint64_t alone = cluster_->View(follower).term;
    ASSERT_TRUE(
        WaitUntil([&] { return cluster_->nodes().PartitionSeconds(follower, leader_) > 4; }));
    EXPECT_EQ(cluster_->View(follower).term, alone) << "it asked first";
    ASSERT_TRUE(load_->AwaitAdmissions(kSome));
    const auto state = [&] {
      return std::tuple(cluster_->LeaderAmong(cluster_->regions()), cluster_->View(leader_).term,
                        load_->refused(), load_->not_taken(), load_->lost());
    };
    const auto before = state();
    cluster_->nodes().Heal();
    ASSERT_TRUE(cluster_->AwaitAgreement(cluster_->regions()));
    ASSERT_TRUE(load_->AwaitAdmissions(kSome));
    disturbed = state() != before;
  }

  // The load ends; nobody got a wrong answer, every success is replayed everywhere, and the whole
  // history is one that a single ledger could have given.
  void ExpectAllKept() {
    load_->Finish();
    EXPECT_THAT(load_->failures(), testing::IsEmpty());
    ASSERT_TRUE(cluster_->AwaitAgreement(cluster_->regions()));
    const auto settled = load_->settled();
    EXPECT_FALSE(settled.empty());
    for (const std::string& region : cluster_->regions()) {
      RecordedCaller caller(*recorder_, cluster_->nodes(), region);
      for (const auto& [key, run] : settled) {
        const Operation told = caller.Begin(key, 1);
        ASSERT_EQ(told.answer, Operation::Answer::kReplay) << region << " " << key;
        ASSERT_EQ(told.run_id, run) << region << " " << key;
      }
    }
    const History history = recorder_->Take();
    const ProgramResult verdict = JudgeHistory(history);
    EXPECT_EQ(verdict.exit_code, 0) << verdict.out << verdict.err;
    std::cout << history.operations.size() << " operations; 503: " << load_->refused()
              << ", not taken: " << load_->not_taken() << ", lost: " << load_->lost() << "\n";
  }

  std::string disk_fault_;  // of SyncFault; empty: disks have none
  std::unique_ptr<StrictCluster> cluster_;
  std::unique_ptr<HistoryRecorder> recorder_;
  std::unique_ptr<StrictLoad> load_;
  std::string leader_;
  Regions others_;
};

TEST_F(StrictFailover, S_19_OW_MR_11_ALeaderThatIsKilledIsReplacedAndNothingIsLost) {
  ASSERT_NO_FATAL_FAILURE(Prepare(MakeLoopbackNetwork(), true));
  cluster_->nodes().node(leader_).Kill();
  ASSERT_NO_FATAL_FAILURE(MeasureRecovery("killed"));
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));
  ASSERT_TRUE(cluster_->nodes().Start(leader_));
  ASSERT_TRUE(cluster_->AwaitAgreement(cluster_->regions()));
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));
  ExpectAllKept();
}

TEST_F(StrictFailover, S_23_OW_MR_11_ALeaderThatIsCutOffRefusesAndTheMajorityGoesOn) {
  ASSERT_NO_FATAL_FAILURE(Prepare(MakeLoopbackNetwork(), true));
  cluster_->nodes().Cut({leader_}, others_);
  const std::uint64_t term = cluster_->View(leader_).term;
  ASSERT_NO_FATAL_FAILURE(MeasureRecovery("cut off"));
  // It asks in vain, over several election timeouts, and does not count its term up.
  EXPECT_EQ(cluster_->nodes().Acme(leader_).Begin("asked of the minority").status, 503);
  EXPECT_TRUE(
      WaitUntil([&] { return cluster_->nodes().PartitionSeconds(leader_, others_[0]) > 4; }));
  const GroupView alone = cluster_->View(leader_);
  EXPECT_EQ(alone.term, term);
  EXPECT_NE(alone.role, "leader");
  cluster_->nodes().Heal();
  ASSERT_TRUE(cluster_->AwaitAgreement(cluster_->regions()));
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));
  ExpectAllKept();
}

TEST_F(StrictFailover, S_03_AFollowerThatComesBackFromACutDisturbsNobody) {
  ASSERT_NO_FATAL_FAILURE(Prepare(MakeLoopbackNetwork(), true));
  // On a machine that stands still for an election timeout a leader falls, and a request waits too
  // long, without anybody's doing; that is seldom, and so most heals must be calm.
  int calm = 0;
  int stirred = 0;
  while (calm <= kHeals / 2 && stirred <= kHeals / 2) {
    bool disturbed = false;
    ASSERT_NO_FATAL_FAILURE(CutAndHeal(disturbed));
    ++(disturbed ? stirred : calm);
  }
  EXPECT_GT(calm, stirred);
  ExpectAllKept();
}

TEST_F(StrictFailover, S_22_S_24_ALeaderThatWasPausedHasNothingMoreToSay) {
  ASSERT_NO_FATAL_FAILURE(Prepare(MakeLoopbackNetwork(), true));
  cluster_->nodes().node(leader_).Signal(SIGSTOP);
  ASSERT_NO_FATAL_FAILURE(MeasureRecovery("paused"));
  EXPECT_TRUE(WaitUntil([&] {
    cluster_->nodes().node(leader_).Signal(SIGSTOP);  // whatever woke it meanwhile
    return !cluster_->LeaderAmong(others_).empty();
  }));
  // What the others have ended meanwhile, the one who was away must not give out again.
  RecordedCaller other(*recorder_, cluster_->nodes(), others_[1]);
  Operation begun;
  ASSERT_TRUE(WaitUntil([&] {
    begun = other.Begin("ended during the pause", 1);
    return begun.answer == Operation::Answer::kExecute;
  }));
  ASSERT_TRUE(WaitUntil([&] { return IsAcceptedSettle(other.Settle(begun, 201)); }));
  cluster_->nodes().node(leader_).Signal(SIGCONT);
  RecordedCaller awake(*recorder_, cluster_->nodes(), leader_);
  Operation told;
  ASSERT_TRUE(WaitUntil([&] {
    told = awake.Begin("ended during the pause", 1);
    return told.answer != Operation::Answer::kUnavailable;
  }));
  EXPECT_EQ(told.answer, Operation::Answer::kReplay);
  EXPECT_EQ(told.run_id, begun.run_id);
  ASSERT_TRUE(cluster_->AwaitAgreement(cluster_->regions()));
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));
  ExpectAllKept();
}

TEST_F(StrictFailover, S_01_S_23_ALeaderBehindAPacketFilterIsReplaced) {
  std::unique_ptr<NamespaceNetwork> made;
  try {
    made = std::make_unique<NamespaceNetwork>(std::vector<std::string>{"us", "eu", "ap"});
  } catch (const std::runtime_error& error) {
    GTEST_SKIP() << "needs root, iproute2 and nftables: " << error.what();
  }
  NamespaceNetwork& network = *made;  // the cluster keeps it
  ASSERT_NO_FATAL_FAILURE(Prepare(std::move(made), false));
  for (const std::string& other : others_) {
    network.DropFrom(leader_, other);
    network.DropFrom(other, leader_);
  }
  ASSERT_NO_FATAL_FAILURE(MeasureRecovery("behind a packet filter"));
  EXPECT_EQ(cluster_->nodes().Acme(leader_).Begin("asked of the minority").status, 503);
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));
  network.DropNothing();
  ASSERT_TRUE(cluster_->AwaitAgreement(cluster_->regions()));
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));
  ExpectAllKept();
}

TEST_F(StrictFailover, S_50_ALeaderWhoseDiskHangsIsReplacedAndNothingIsLost) {
  disk_fault_ = "hang";
  ASSERT_NO_FATAL_FAILURE(Prepare(MakeLoopbackNetwork(), true));
  WriteFile(FaultFile(leader_), "");
  EXPECT_TRUE(WaitUntil([&] { return !cluster_->LeaderAmong(others_).empty(); }));
  EXPECT_TRUE(WaitUntil([&] { return cluster_->View(leader_).role != "leader"; }));
  EXPECT_EQ(cluster_->nodes().Acme(leader_).Begin("asked where the disk hangs").status, 503);
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));
  std::filesystem::remove(FaultFile(leader_));
  ASSERT_TRUE(cluster_->AwaitAgreement(cluster_->regions()));
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));
  ExpectAllKept();
}

TEST_F(StrictFailover, S_46_ALeaderWhoseSyncFailsIsReplacedAndAcknowledgesNothingMore) {
  disk_fault_ = "error";
  ASSERT_NO_FATAL_FAILURE(Prepare(MakeLoopbackNetwork(), true));
  const std::string failed = leader_;
  WriteFile(FaultFile(failed), "");
  ASSERT_NO_FATAL_FAILURE(MeasureRecovery("cannot sync"));
  ASSERT_TRUE(
      WaitUntil([&] { return cluster_->nodes().Metric(failed, "once_store_failed") == 1; }));
  std::filesystem::remove(FaultFile(failed));  // too late: it does not know what it lost
  EXPECT_EQ(cluster_->nodes().Acme(failed).Begin("asked where the disk failed").status, 503);
  EXPECT_NE(cluster_->View(failed).role, "leader");
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));

  // With it there would be a majority.
  cluster_->nodes().node(others_[1]).Kill();
  EXPECT_EQ(cluster_->nodes().Acme(others_[0]).Begin("asked of one of three").status, 503);
  ASSERT_TRUE(cluster_->nodes().Start(others_[1]));
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));

  EXPECT_EQ(cluster_->nodes().node(failed).Stop(), 1);
  ASSERT_TRUE(cluster_->nodes().Start(failed));
  ASSERT_TRUE(cluster_->AwaitAgreement(cluster_->regions()));
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));
  ExpectAllKept();
}

// The end of the last record in the newest file of the node's log goes back to the zeros it was
// written over. False: there is no record.
bool TearLastRecord(const std::string& data_dir) {
  constexpr std::size_t kHeadersBytes = 8192;
  constexpr std::size_t kTornBytes = 24;
  std::filesystem::path newest;
  std::size_t end = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_dir)) {
    if (entry.path().extension() != ".segment" || entry.path() < newest) continue;
    const std::size_t last = ReadFile(entry.path()).find_last_not_of('\0');
    if (last == std::string::npos || last < kHeadersBytes + kTornBytes) continue;
    newest = entry.path();
    end = last + 1;
  }
  std::fstream file(newest, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(end - kTornBytes));
  file << std::string(kTornBytes, '\0');
  return end > 0 && file.good();
}

TEST_F(StrictFailover, S_45_AMemberWhoseLastRecordIsTornGoesOnFromTheOneBefore) {
  disk_fault_ = "hang";
  ASSERT_NO_FATAL_FAILURE(Prepare(MakeLoopbackNetwork(), true));
  NodeProcess& torn = cluster_->nodes().node(others_[0]);
  // From now on it writes one more record, and nobody is told that it is durable.
  WriteFile(FaultFile(others_[0]), "");
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));
  torn.Kill();
  std::filesystem::remove(FaultFile(others_[0]));
  ASSERT_TRUE(TearLastRecord(torn.data_dir()));
  ASSERT_TRUE(cluster_->nodes().Start(others_[0]));
  ASSERT_TRUE(cluster_->AwaitAgreement(cluster_->regions()));
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));
  ExpectAllKept();
}

// One at a time, each of them once, whoever leads then.
TEST_F(StrictFailover, ARollingRestartFailsNoRequest) {
  ASSERT_NO_FATAL_FAILURE(Prepare(MakeLoopbackNetwork(), true));
  for (const std::string& region : {leader_, others_[0], others_[1]}) {
    EXPECT_EQ(cluster_->nodes().node(region).Stop(), 0) << region;
    ASSERT_TRUE(load_->AwaitAdmissions(kSome)) << "without " << region;
    ASSERT_TRUE(cluster_->nodes().Start(region));
    ASSERT_TRUE(cluster_->AwaitAgreement(cluster_->regions())) << region << " has come back";
  }
  ASSERT_TRUE(load_->AwaitAdmissions(kSome));
  ExpectAllKept();
  EXPECT_EQ(load_->lost(), 0u) << "a node that stops answers what it has read";
}

}  // namespace
}  // namespace once
