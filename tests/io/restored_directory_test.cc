// A directory and its store belong to one moment: what is put back over either is noticed, and a
// crash at any step of a start is not taken for it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "replica/io/data_directory.h"
#include "simulator/memory_store.h"
#include "simulator/virtual_scheduler.h"
#include "tests/io/scratch_directory.h"

namespace once {
namespace {

namespace fs = std::filesystem;

/// Steps of a start; the process dies after it.
enum StartStep { kOpened, kMatched, kSynced, kConfirmed };
constexpr StartStep kSteps[] = {kOpened, kMatched, kSynced, kConfirmed};

class RestoredDirectory : public testing::Test {
 protected:
  struct Backup {
    std::string identity;
    MemoryDisk::Contents store;
  };

  /// Why it did not start; empty: it did, and died after `last`.
  std::string Start(StartStep last = kConfirmed, bool adopt = false) {
    auto opened = adopt ? DataDirectory::Adopt(path(), "eu") : DataDirectory::Open(path(), "eu");
    if (const auto* error = std::get_if<std::string>(&opened)) return *error;
    DataDirectory& directory = std::get<DataDirectory>(opened);
    identity_ = directory.identity();
    if (last == kOpened) return "";
    VirtualScheduler scheduler;
    MemoryStore store(*disk_, scheduler);
    if (std::string error = directory.Match(store); !error.empty()) return error;
    if (last == kMatched) {
      disk_->CrashLosingUnsynced();
      return "";
    }
    bool synced = false;
    store.Sync([&](KvStatus status) { synced = status == KvStatus::kOk; });
    scheduler.RunUntil([&] { return synced; }, 1000);
    EXPECT_TRUE(synced);
    return last == kSynced ? "" : directory.Confirm();
  }

  std::string path() const { return scratch_ / "data"; }
  fs::path identity_file() const { return fs::path(path()) / "IDENTITY"; }
  std::string IdentityText() const {
    std::ostringstream text;
    text << std::ifstream(identity_file()).rdbuf();
    return text.str();
  }
  void MakeAnew() {
    fs::remove_all(path());
    disk_ = std::make_unique<MemoryDisk>();
  }
  Backup TakeBackup() const { return {IdentityText(), disk_->durable()}; }

  void PutBackStore(const Backup& backup) { disk_ = std::make_unique<MemoryDisk>(backup.store); }
  /// As `cp` does over a file that is there.
  void OverwriteIdentity(const std::string& text) { std::ofstream(identity_file()) << text; }
  /// As `rsync` does.
  void ReplaceIdentity(const std::string& text) {
    std::ofstream(path() + "/.IDENTITY.x") << text;
    fs::rename(path() + "/.IDENTITY.x", identity_file());
  }

  /// It is refused until it is adopted, and is another member then.
  void ExpectRefusedUntilAdopted(const std::string& what) {
    const std::string before = identity_;
    const std::string error = Start();
    EXPECT_NE(error.find("--adopt-data"), std::string::npos) << what << ": " << error;
    EXPECT_EQ(Start(kConfirmed, true), "") << what;
    EXPECT_NE(identity_, before) << what;
    EXPECT_EQ(Start(), "") << what;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<MemoryDisk> disk_ = std::make_unique<MemoryDisk>();
  std::string identity_;  // of the last start
};

TEST_F(RestoredDirectory, S_30_ACrashAtAnyStepOfAStartLeavesItTheSameMember) {
  for (const StartStep first : kSteps)
    for (const StartStep second : kSteps) {
      MakeAnew();
      ASSERT_EQ(Start(first), "");
      const std::string made = identity_;
      for (const StartStep step : {second, first, second, kConfirmed, first, second, kConfirmed}) {
        ASSERT_EQ(Start(step), "") << "died at " << first << " and " << second;
        ASSERT_EQ(identity_, made);
      }
    }
}

TEST_F(RestoredDirectory, S_30_ACrashWhileTheFileIsMadeAnewIsNoneOfItsBusiness) {
  ASSERT_EQ(Start(), "");
  ASSERT_EQ(Start(kSynced), "");
  std::ofstream(path() + "/IDENTITY.new") << "once-da";
  EXPECT_EQ(Start(), "");
  std::ofstream(path() + "/EMPTY");  // the first start died before it was removed
  EXPECT_EQ(Start(), "");
  EXPECT_FALSE(fs::exists(path() + "/EMPTY"));
}

TEST_F(RestoredDirectory, S_30_AStoreThatWasPutBackAloneIsRefused) {
  std::vector<Backup> backups;
  ASSERT_EQ(Start(), "");
  for (const StartStep step : {kConfirmed, kOpened, kMatched, kSynced, kSynced, kConfirmed}) {
    backups.push_back(TakeBackup());
    ASSERT_EQ(Start(step), "");
  }
  ASSERT_EQ(Start(), "");
  for (const Backup& backup : backups) {
    PutBackStore(backup);
    ASSERT_NO_FATAL_FAILURE(ExpectRefusedUntilAdopted("a store of an earlier start"));
  }
}

TEST_F(RestoredDirectory, S_30_AnAdoptionThatDiedIsNotTakenForTheOldMember) {
  for (const StartStep step : {kOpened, kMatched, kSynced}) {
    MakeAnew();
    ASSERT_EQ(Start(), "");
    const std::string old = identity_;
    const Backup backup = TakeBackup();
    ASSERT_EQ(Start(), "");
    PutBackStore(backup);
    ASSERT_NE(Start(), "");
    ASSERT_EQ(Start(step, true), "");
    if (Start() == "")
      EXPECT_NE(identity_, old) << step;
    else
      EXPECT_NE(step, kSynced) << "it was adopted";
  }
}

TEST_F(RestoredDirectory, S_30_AnIdentityThatWasPutBackIsRefused) {
  for (const bool also_store : {true, false})
    for (const bool in_place : {true, false}) {
      MakeAnew();
      ASSERT_EQ(Start(), "");
      const Backup backup = TakeBackup();
      ASSERT_EQ(Start(), "");
      in_place ? OverwriteIdentity(backup.identity) : ReplaceIdentity(backup.identity);
      if (also_store) PutBackStore(backup);
      ASSERT_NO_FATAL_FAILURE(
          ExpectRefusedUntilAdopted(in_place ? "written over" : "another file"));
    }
}

TEST_F(RestoredDirectory, S_30_AStoreThatIsGoneIsNotTakenForANewOne) {
  ASSERT_EQ(Start(), "");
  disk_ = std::make_unique<MemoryDisk>();
  ExpectRefusedUntilAdopted("an empty store");
}

TEST_F(RestoredDirectory, S_47_AFullDiskAtTheStartChangesNothing) {
  ASSERT_EQ(Start(), "");
  const std::string before = IdentityText();
  disk_->SetFull(true);
  EXPECT_NE(Start().find("the disk is full"), std::string::npos);
  EXPECT_EQ(IdentityText(), before);
  disk_->SetFull(false);
  // No room for the file: a folder is in its way.
  fs::create_directories(path() + "/IDENTITY.new/full");
  EXPECT_NE(Start(), "");
  EXPECT_EQ(IdentityText(), before);
  fs::remove_all(path() + "/IDENTITY.new");
  EXPECT_EQ(Start(), "");
}

TEST_F(RestoredDirectory, ADirectoryOfAProgramThatKnewNoMarksIsTakenAsItIsOnce) {
  ASSERT_EQ(Start(), "");
  const auto without_mark = [this] {
    const std::string text = IdentityText();
    return text.substr(0, text.find("mark "));
  };
  OverwriteIdentity(without_mark());
  disk_ = std::make_unique<MemoryDisk>();
  const Backup backup = TakeBackup();
  for (const StartStep step : kSteps) ASSERT_EQ(Start(step), "");
  PutBackStore(backup);
  ASSERT_NO_FATAL_FAILURE(ExpectRefusedUntilAdopted("a store of that program"));
  OverwriteIdentity(without_mark());
  ExpectRefusedUntilAdopted("an IDENTITY of that program");
}

}  // namespace
}  // namespace once
