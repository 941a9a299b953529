// Members of a strict group around a state machine that only remembers: engines over simulated
// time, network and disk.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replica/strict/native_engine.h"
#include "simulator/memory_store.h"
#include "simulator/network.h"
#include "simulator/node_scheduler.h"

namespace once {

/// The batches applied so far, stored one by one.
class Remembering : public StateMachine {
  class Frozen : public FrozenState {
   public:
    explicit Frozen(std::string bytes) : bytes_(std::move(bytes)) {}
    Piece Read(const std::string& begin, std::size_t bytes_max) override {
      const std::size_t from = begin.empty() ? 0 : std::stoul(begin);
      const std::size_t end = std::min(from + bytes_max, bytes_.size());
      return {bytes_.substr(from, end - from), std::to_string(end), end == bytes_.size()};
    }

   private:
    const std::string bytes_;
  };

 public:
  explicit Remembering(Tables& tables) : tables_(tables) {}

  bool Apply(std::uint64_t index, const std::string& batch) override {
    EXPECT_EQ(index, applied() + 1);
    if (!batch.empty() && batch == unknown) return false;
    Put(index, batch.empty() ? Batches() : Batches() + batch + ";");
    return true;
  }
  void Store() override {
    if (std::exchange(store_fails, false)) throw KvUnreadable("as the test wanted");
    should_store = false;
    ++stored;
  }
  bool ShouldStore() override { return should_store; }
  std::uint64_t applied() override {
    const auto stored = tables_.ReadRaw("Zapplied");
    return stored ? keys::ReadBig64(*stored) : 0;
  }
  std::unique_ptr<FrozenState> Freeze() override {
    return std::make_unique<Frozen>("all:" + Batches());
  }
  bool Stage(const std::string& piece, bool first) override {
    const std::string before = first ? "" : tables_.ReadRaw("Zstaged").value_or("");
    if (!(before + piece).starts_with("all:")) return false;
    tables_.PutRaw("Zstaged", before + piece);
    ++staged;
    return true;
  }
  bool Install(std::uint64_t index) override {
    ++installed;
    Put(index, tables_.ReadRaw("Zstaged").value().substr(4));
    return true;
  }
  void Unstage() override { ++unstaged; }
  void RolledBack() override { ++rolled_back; }
  void LeaderChanged() override {}

  std::string Batches() { return tables_.ReadRaw("Zbatches").value_or(""); }
  bool should_store = false;
  bool store_fails = false;  // the next time
  int stored = 0;
  int staged = 0;
  int unstaged = 0;
  int installed = 0;
  int rolled_back = 0;
  std::string unknown;  // a batch of a later version

 private:
  void Put(std::uint64_t index, std::string batches) {
    tables_.PutRaw("Zapplied", keys::Big64(index));
    tables_.PutRaw("Zbatches", std::move(batches));
  }
  Tables& tables_;
};

class EngineWorldTest : public testing::Test {
 protected:
  struct Member {
    std::unique_ptr<MemoryDisk> disk = std::make_unique<MemoryDisk>();
    std::string identity = "1";
    std::unique_ptr<NodeScheduler> scheduler;
    std::unique_ptr<MemoryStore> store;
    std::unique_ptr<SimulatedTransport> transport;
    std::unique_ptr<Tables> tables;
    std::unique_ptr<Commit> commit;
    std::unique_ptr<Remembering> state;
    std::unique_ptr<NativeEngine> engine;
  };

  void SetUp() override {
    for (const char* region : {"ap", "eu", "us"}) {
      Start(region);
      EXPECT_EQ(members_[region].engine->Found({"ap/1", "eu/1", "us/1"}), "");
    }
  }
  void TearDown() override {
    for (auto& [region, member] : members_) Stop(region);
  }

  void Start(const std::string& region) {
    Member& member = members_[region];
    member.scheduler = std::make_unique<NodeScheduler>(time_, 0);
    member.store = std::make_unique<MemoryStore>(*member.disk, *member.scheduler);
    member.transport = std::make_unique<SimulatedTransport>(network_, region, *member.scheduler);
    member.tables = std::make_unique<Tables>(*member.store, 1 << 20);
    member.commit = std::make_unique<Commit>(*member.tables, *member.store, *member.scheduler);
    member.state = std::make_unique<Remembering>(*member.tables);
    NativeEngineOptions options = options_;
    options.member = region + "/" + member.identity;
    options.seed = random_.Next();
    const auto send = [&member](const std::string& to, std::string message) {
      member.transport->Send(to, std::move(message));
    };
    member.engine = std::make_unique<NativeEngine>(
        EngineWorld{*member.scheduler, *member.tables, *member.commit, send}, options,
        *member.state);
    member.transport->SetReceiver([&member](const std::string& from, const std::string& message) {
      member.engine->Receive(from, message);
    });
    member.engine->Start();
  }
  void Stop(const std::string& region) {
    Member& member = members_[region];
    member.engine.reset();
    member.state.reset();
    member.commit.reset();
    member.tables.reset();
    member.transport.reset();
    member.store.reset();
    member.scheduler.reset();
  }
  void Crash(const std::string& region) {
    Stop(region);
    members_[region].disk->Crash(random_);
  }
  void Isolate(const std::string& region) {
    for (auto& [other, member] : members_) {
      network_.Cut(region, other);
      network_.Cut(other, region);
    }
  }

  bool RunUntil(const std::function<bool()>& holds, std::int64_t limit_ms = 10'000) {
    return time_.RunUntil(holds, limit_ms);
  }
  /// The region that leads, among those that are up; empty: none.
  std::string Leader() {
    std::string leader;
    std::uint64_t term = 0;
    for (auto& [region, member] : members_)
      if (member.engine && member.engine->Leads() && member.engine->Status().term > term) {
        term = member.engine->Status().term;
        leader = region;
      }
    return leader;
  }
  std::string AwaitLeader() {
    EXPECT_TRUE(RunUntil([this] { return !Leader().empty(); }));
    return Leader();
  }
  bool Propose(std::string batch) {
    const std::string leader = AwaitLeader();
    return !leader.empty() && members_[leader].engine->Propose(std::move(batch));
  }
  /// Everyone who is up has applied exactly these.
  bool AllHave(const std::string& batches) {
    return RunUntil([&] {
      for (auto& [region, member] : members_)
        if (member.state && member.state->Batches() != batches) return false;
      return true;
    });
  }

  Random random_{7};
  VirtualScheduler time_;
  Network network_{time_, random_};
  NativeEngineOptions options_;
  std::map<std::string, Member> members_;
};

}  // namespace once
