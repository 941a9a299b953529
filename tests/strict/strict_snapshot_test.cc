// The strict ledger goes from one disk to another in pieces: at every moment either the old state
// or the new one is there, and in the end nothing else.
#include <gtest/gtest.h>

#include <map>

#include "replica/strict/outgoing_snapshot.h"
#include "replica/strict/strict_state.h"
#include "simulator/memory_store.h"
#include "simulator/virtual_scheduler.h"

namespace once {
namespace {

using Records = std::map<std::string, std::string>;

/// A process with a strict ledger on a disk.
class Node {
 public:
  Node() { Open(); }

  StrictState& state() { return *state_; }
  MemoryDisk& disk() { return disk_; }

  /// A state of so many records, as of that index.
  void Become(std::uint64_t index, int first, int count) {
    Tables& tables = state_->tables();
    for (int i = first; i < first + count; ++i)
      tables.PutRaw("r" + std::to_string(10'000 + i), "run of " + std::to_string(index));
    tables.head().set_format(kRecordFormat);
    tables.head().set_applied(index);
    tables.TouchHead();
    state_->Store();
    Flush();
  }
  KvStatus Flush() {
    const KvStatus status = outer_->Flush();
    if (status == KvStatus::kFull) state_->Forget();
    return status;
  }
  void Sync() {
    bool synced = false;
    store_->Sync([&synced](KvStatus) { synced = true; });
    ASSERT_TRUE(time_.RunUntil([&synced] { return synced; }, 1000));
  }
  void CrashLosingUnsynced() {
    Close();
    disk_.CrashLosingUnsynced();
    Open();
  }
  Records Ledger() {
    Records records;
    state_->tables().ScanRaw("", keys::kAfterTables, Into(records));
    return records;
  }
  /// Everything strict that is on the disk, of whatever state.
  Records OnDisk() {
    Records records;
    outer_->ScanRaw(keys::Strict(0), keys::After(keys::Strict(0)), Into(records));
    return records;
  }
  int Sweep(std::size_t portion) {
    int portions = 0;
    for (std::size_t before = OnDisk().size(); state_->generations().EraseLeftovers(portion);) {
      ++portions;
      const std::size_t after = OnDisk().size();
      EXPECT_LE(before - after, portion);
      EXPECT_GT(before, after);
      before = after;
      Flush();
    }
    return portions;
  }

 private:
  static KvVisitor Into(Records& records) {
    return [&records](std::string_view key, std::string_view value) {
      return records.emplace(key, value).second;
    };
  }
  void Open() {
    store_ = std::make_unique<MemoryStore>(disk_, time_);
    outer_ = std::make_unique<Tables>(*store_, 1 << 20);
    state_ = std::make_unique<StrictState>(*outer_, 1 << 20);
  }
  void Close() {
    state_.reset();
    outer_.reset();
    store_.reset();
  }

  VirtualScheduler time_;
  MemoryDisk disk_;
  std::unique_ptr<MemoryStore> store_;
  std::unique_ptr<Tables> outer_;
  std::unique_ptr<StrictState> state_;
};

class StrictSnapshot : public testing::Test {
 protected:
  static constexpr std::size_t kPieceBytes = 64;

  void SetUp() override {
    leader_.Become(9, 100, 40);
    follower_.Become(3, 0, 30);
    follower_.Sync();
  }
  static std::vector<std::string> PiecesOf(StrictState& state) {
    OutgoingSnapshot snapshot(state.applied(), state.Freeze(), kPieceBytes);
    std::vector<std::string> pieces;
    for (std::uint64_t offset = 0;;) {
      const OutgoingSnapshot::Piece piece = snapshot.Read(offset);
      EXPECT_EQ(piece.offset, offset);
      pieces.push_back(piece.bytes);
      offset += piece.bytes.size();
      if (piece.last) return pieces;
    }
  }
  /// Stages so many of the pieces, each in a batch of its own.
  void Stage(const std::vector<std::string>& pieces, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(follower_.state().Stage(pieces[i], i == 0)) << i;
      follower_.Flush();
    }
  }

  Node leader_;
  Node follower_;
};

TEST_F(StrictSnapshot, ArrivesInSmallPiecesBesideTheStateThatIsServed) {
  const std::vector<std::string> pieces = PiecesOf(leader_.state());
  EXPECT_GE(pieces.size(), 8u);
  for (const std::string& piece : pieces) EXPECT_LT(piece.size(), 2 * kPieceBytes);
  const Records old = follower_.Ledger();
  Stage(pieces, pieces.size());
  EXPECT_EQ(follower_.Ledger(), old);
  EXPECT_EQ(follower_.state().applied(), 3u);
  ASSERT_TRUE(follower_.state().Install(9));
  EXPECT_EQ(follower_.Ledger(), leader_.Ledger());
  EXPECT_EQ(follower_.state().applied(), 9u);
}

TEST_F(StrictSnapshot, IsOfTheMomentItWasBegunWhateverIsAppliedMeanwhile) {
  const Records then = leader_.Ledger();
  OutgoingSnapshot snapshot(9, leader_.state().Freeze(), kPieceBytes);
  std::uint64_t offset = 0;
  for (bool last = false; !last;) {
    leader_.Become(10, 120 + static_cast<int>(offset % 7), 40);
    OutgoingSnapshot::Piece piece = snapshot.Read(offset);
    ASSERT_TRUE(follower_.state().Stage(piece.bytes, offset == 0));
    offset += piece.bytes.size();
    last = piece.last;
  }
  ASSERT_TRUE(follower_.state().Install(9));
  EXPECT_EQ(follower_.Ledger(), then);
}

TEST_F(StrictSnapshot, ServesManyReceiversEachAtItsOwnOffset) {
  const std::vector<std::string> pieces = PiecesOf(leader_.state());
  OutgoingSnapshot snapshot(9, leader_.state().Freeze(), kPieceBytes);
  EXPECT_EQ(snapshot.Read(0).bytes, pieces[0]);
  const std::uint64_t second = pieces[0].size();
  const std::uint64_t third = second + pieces[1].size();
  EXPECT_EQ(snapshot.Read(second).bytes, pieces[1]);
  EXPECT_EQ(snapshot.Read(0).bytes, pieces[0]) << "to another one";
  EXPECT_EQ(snapshot.Read(third).bytes, pieces[2]);
  EXPECT_EQ(snapshot.Read(second).bytes, pieces[1]) << "it was lost";
  const OutgoingSnapshot::Piece unknown = snapshot.Read(third + 1);
  EXPECT_EQ(unknown.offset, 0u) << "no piece ended there";
  EXPECT_EQ(unknown.bytes, pieces[0]);
}

TEST_F(StrictSnapshot, S_27_AfterACrashAtAnyPieceTheOldStateIsThereAndNothingElseStays) {
  const std::vector<std::string> pieces = PiecesOf(leader_.state());
  const Records old = follower_.Ledger();
  const std::size_t old_records = follower_.OnDisk().size();
  for (std::size_t count = 1; count <= pieces.size(); ++count) {
    Stage(pieces, count);
    follower_.Sync();
    follower_.CrashLosingUnsynced();
    EXPECT_EQ(follower_.Ledger(), old) << count;
    EXPECT_FALSE(follower_.state().Stage(pieces[1], false)) << "it begins again";
    EXPECT_GT(follower_.OnDisk().size(), old_records);
    follower_.Sweep(7);
    EXPECT_EQ(follower_.OnDisk().size(), old_records) << count;
    EXPECT_EQ(follower_.Ledger(), old) << count;
  }
}

TEST_F(StrictSnapshot, S_27_TheNewStateIsInForceExactlyWhenItsLastBatchIsDurable) {
  const std::vector<std::string> pieces = PiecesOf(leader_.state());
  const Records old = follower_.Ledger();
  for (const bool durable : {false, true}) {
    Stage(pieces, pieces.size());
    follower_.Sync();
    ASSERT_TRUE(follower_.state().Install(9));
    follower_.Flush();
    if (durable) follower_.Sync();
    follower_.CrashLosingUnsynced();
    EXPECT_EQ(follower_.Ledger(), durable ? leader_.Ledger() : old);
    EXPECT_EQ(follower_.state().applied(), durable ? 9u : 3u);
  }
  EXPECT_GT(follower_.Sweep(8), 2);
  EXPECT_EQ(follower_.OnDisk().size(), leader_.Ledger().size());
  EXPECT_EQ(follower_.Ledger(), leader_.Ledger());
}

TEST_F(StrictSnapshot, S_47_AFullDiskTakesTheInstallBack) {
  const std::vector<std::string> pieces = PiecesOf(leader_.state());
  const Records old = follower_.Ledger();
  Stage(pieces, pieces.size());
  follower_.disk().SetFull(true);
  ASSERT_TRUE(follower_.state().Install(9));
  EXPECT_EQ(follower_.Flush(), KvStatus::kFull);
  EXPECT_EQ(follower_.Ledger(), old);
  follower_.disk().SetFull(false);
  Stage(pieces, pieces.size());
  ASSERT_TRUE(follower_.state().Install(9));
  EXPECT_EQ(follower_.Ledger(), leader_.Ledger());
}

TEST_F(StrictSnapshot, S_48_AnUnreadableBlockAtTheEndLeavesTheOldState) {
  const std::vector<std::string> pieces = PiecesOf(leader_.state());
  const Records old = follower_.Ledger();
  Stage(pieces, pieces.size());
  const std::string head = keys::Strict(1) + keys::Head();
  follower_.disk().SetUnreadable(head);
  EXPECT_THROW(follower_.state().Install(9), KvUnreadable);
  EXPECT_EQ(follower_.Ledger(), old);
  follower_.disk().SetReadable(head);
  EXPECT_TRUE(follower_.state().Install(9));
}

TEST_F(StrictSnapshot, S_27_ANewerOneInTheMiddleOfAnOlderOneLeavesNothingOfThat) {
  const std::vector<std::string> older = PiecesOf(leader_.state());
  Stage(older, older.size() / 2);
  Node newer;
  newer.Become(12, 200, 40);
  const std::vector<std::string> pieces = PiecesOf(newer.state());
  Stage(pieces, pieces.size());
  ASSERT_TRUE(follower_.state().Install(12));
  EXPECT_EQ(follower_.Ledger(), newer.Ledger());
  follower_.Sweep(16);
  EXPECT_EQ(follower_.OnDisk().size(), newer.Ledger().size());
}

TEST_F(StrictSnapshot, IsReceivedWhileWhatAnotherOneLeftIsStillBeingErased) {
  const std::vector<std::string> pieces = PiecesOf(leader_.state());
  Stage(pieces, pieces.size());
  follower_.state().Unstage();
  EXPECT_TRUE(follower_.state().generations().EraseLeftovers(3));
  Stage(pieces, pieces.size());
  follower_.Sweep(5);
  ASSERT_TRUE(follower_.state().Install(9));
  EXPECT_EQ(follower_.Ledger(), leader_.Ledger());
  follower_.Sweep(5);
  EXPECT_EQ(follower_.OnDisk().size(), leader_.Ledger().size());
}

TEST_F(StrictSnapshot, WhatIsNoPieceOrDoesNotFollowIsRefusedAndChangesNothing) {
  const std::vector<std::string> pieces = PiecesOf(leader_.state());
  StrictState& state = follower_.state();
  EXPECT_FALSE(state.Install(9)) << "nothing was staged";
  EXPECT_FALSE(state.Stage(pieces[1], false)) << "it is not the first";
  EXPECT_FALSE(state.Stage("", true));
  EXPECT_FALSE(state.Stage(keys::Part("Sh") + keys::Part("value"), true)) << "the format before";
  LedgerPiece piece;
  ASSERT_TRUE(piece.ParseFromString(pieces[0]));
  LedgerPiece unknown = piece;
  unknown.set_format(piece.format() + 1);
  EXPECT_FALSE(state.Stage(unknown.SerializeAsString(), true));
  LedgerPiece uneven = piece;
  uneven.add_keys("z");
  EXPECT_FALSE(state.Stage(uneven.SerializeAsString(), true));
  LedgerPiece elsewhere = piece;
  elsewhere.add_keys("\x80");
  elsewhere.add_values("a table that there is not");
  EXPECT_FALSE(state.Stage(elsewhere.SerializeAsString(), true));
  ASSERT_TRUE(state.Stage(pieces[0], true));
  EXPECT_FALSE(state.Stage(pieces[0], false)) << "its records are there already";
  EXPECT_FALSE(state.Install(9)) << "it has the head, but is not whole";
  Stage(pieces, pieces.size());
  LedgerPiece more;
  more.set_format(piece.format());
  more.add_keys("z");
  more.add_values("behind the end");
  EXPECT_FALSE(state.Stage(more.SerializeAsString(), false));
  EXPECT_FALSE(state.Install(8)) << "it is of another index";
  EXPECT_EQ(state.applied(), 3u);
  EXPECT_TRUE(state.Install(9));
}

}  // namespace
}  // namespace once
