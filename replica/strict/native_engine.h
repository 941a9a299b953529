// The engine that is always there: drives the Raft core as RaftWork demands.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consensus/raft.h"
#include "replica/env/random.h"
#include "replica/env/scheduler.h"
#include "replica/storage/commit.h"
#include "replica/storage/tables.h"
#include "replica/strict/engine.h"
#include "replica/strict/outgoing_snapshot.h"
#include "replica/strict/raft_records.h"

namespace once {

struct NativeEngineOptions {
  std::string member;         // "region/identity"
  std::uint64_t seed = 1;     // of election timeouts: differs between members
  std::int64_t tick_ms = 50;  // an election starts after 12 to 24 of them without a leader
  RaftOptions raft = {.heartbeat_ticks = 2,
                      .election_ticks = 12,
                      .window_bytes_max = 1 << 20,
                      .append_bytes_max = 256 << 10,
                      .commit_told_late = true};
  std::size_t chunk_bytes = 512 << 10;  // of a snapshot
  /// For a member that is behind the log is kept: it is cut to so many applied entries when it has
  /// twice as many, or so many bytes. What every member has is cut off sooner: it would only be
  /// written into tables and sorted there.
  std::uint64_t log_entries = 4096;
  std::uint64_t log_bytes_max = 64 << 20;
  /// For the receiver of a snapshot it is kept until it is so many times as large. Then the
  /// snapshot is given up, and the receiver gets another one.
  std::uint64_t snapshot_logs = 4;
};

/// Where it lives. All outlive it.
struct EngineWorld {
  Scheduler& scheduler;
  Tables& tables;
  Commit& commit;
  std::function<void(const std::string& region, std::string message)> send;
};

/// A snapshot is sent as it is read from the store, and received into the store, piece by piece.
/// The next piece is asked for when the last one is durable, so that a slow disk holds the sender
/// back.
///
/// When the disk is full, or a block unreadable, the member falls silent and, once all that is
/// written is durable, begins again from what is stored: to the others it was restarted. A block
/// that stays unreadable so ends its part in the group, which its status says. After a failed sync
/// it stays silent, and before an entry of a later version too.
class NativeEngine : public Engine {
 public:
  /// `state` outlives it. Reads the store: may throw KvUnreadable.
  NativeEngine(EngineWorld world, NativeEngineOptions options, StateMachine& state);
  ~NativeEngine() override;

  void Start() override;
  std::string Found(const std::vector<std::string>& founders) override;
  bool Propose(std::string batch) override;
  void TellAtOnce() override;
  void ReadIndex(IndexKnown known) override;
  void Receive(const std::string& from_region, const std::string& message) override;
  std::string Change(const MemberChange& change) override;
  std::string Transfer(const std::string& member) override;
  void GiveWay() override;
  void VisitUnapplied(const std::function<void(const std::string&)>& visit) const override;
  EngineStatus Status() const override;
  bool Leads() const override { return raft_ && raft_->role() == RaftRole::kLeader; }
  std::string LeaderRegion() const override;

  /// For whoever checks what Raft promises. Null: the member is silent.
  const Raft* core() const { return raft_.get(); }
  /// What the snapshots that are being sent take in memory.
  std::size_t snapshot_bytes() const;

 private:
  struct Portion {
    std::uint64_t number;
    bool durable;
    std::vector<RaftMessage> messages;
  };

  void Load();
  void Tick();
  /// Does what the core wants done until it wants nothing.
  void Work();
  void Do(RaftWork work);
  void Store(RaftWork& work);
  void Stage(const SnapshotChunk& chunk);
  void Install(const SnapshotMeta& meta);
  void ApplyDecided();
  /// Outside Work; then works.
  void ApplyNow();
  void ApplyUnhurried();
  void StoreSoon();
  void Answer(const std::vector<RaftRead>& reads);
  void Provide(const RaftChunkWanted& wanted);
  void Settle(std::uint64_t number);
  void Release();
  /// True if it cut something off: there is work.
  bool CompactLog();
  void Send(const std::vector<RaftMessage>& messages);
  void TellCommitSoon();
  void NoticeLeader();
  /// It must begin again, and says so for a while.
  void BreakUnreadable();
  /// The state goes back to what is stored, now or when that can be read.
  void RollBack();
  /// Forgets the core and what it was doing.
  void FallSilent();
  /// The same, and begins again from the store later.
  void BeginAgain();
  void BeginAgainLater();

  EngineWorld world_;
  const NativeEngineOptions options_;
  StateMachine& state_;
  Random random_;
  RaftRecords records_;
  std::unique_ptr<Raft> raft_;  // null: silent
  bool started_ = false;
  bool working_ = false;
  bool broken_ = false;      // in the midst of Work: begin again when it is over
  bool stale_ = false;       // what the state keeps in memory is of no use
  bool outdated_ = false;    // the next entry is of a later version
  std::uint64_t epoch_ = 0;  // rises with every core, so that callbacks of an old one are known
  std::deque<Portion> portions_;      // stored in this order, and not yet all durable
  std::deque<RaftEntryPtr> decided_;  // to be applied
  bool telling_ = false;
  bool will_apply_ = false;
  bool will_store_ = false;
  std::uint64_t staged_index_ = 0;  // of the snapshot that is being received; 0: none is
  std::map<std::string, std::shared_ptr<OutgoingSnapshot>> outgoing_;  // by receiver
  std::map<std::string, IndexKnown> reads_;                            // by context
  std::uint64_t last_read_ = 0;
  std::uint64_t applied_bytes_ = 0;  // since the log was last cut
  std::string known_leader_;
  std::uint64_t known_leaders_term_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t snapshots_given_up_ = 0;
  std::uint32_t unreadable_ticks_ = 0;  // above 0: its records could not be read lately
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace once
