// A group of Raft members with a wire and disks that tests can interfere with. Scripted tests,
// transcripts and random networks all use this one.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "consensus/invariants.h"
#include "consensus/raft.h"

namespace once {

/// A state machine that remembers every command and its order in a few bytes.
struct Machine {
  std::uint64_t applied = 0;
  std::uint64_t digest = 0;

  void Apply(const RaftEntry& entry);
  std::string Save() const;
  static Machine Load(const std::string& saved);
};

/// Does for each member what a driver does, in one process. Whatever breaks an invariant, or the
/// contract of reads, is noted in `broken`, and is the end of the test.
///
/// Messages find the node of a member's region, whatever its identity: a member that replaced
/// another one in its place gets the mail of both.
class Group {
 public:
  struct Write {
    RaftWork work;
    Machine machine;  // after this portion
  };
  struct Member {
    explicit Member(std::uint64_t seed) : random(seed) {}

    std::string name;
    Random random;
    std::unique_ptr<Raft> raft;  // null while it is down

    RaftState disk;
    Machine disk_machine;
    std::deque<Write> writing;  // handed to the disk, lost in a crash

    Machine machine;
    std::string staged;  // of the snapshot being received
    std::map<std::string, std::pair<std::uint64_t, std::string>> open_snapshots;
    std::vector<std::string> applied;  // data of proposals since the last start
    std::vector<RaftRead> reads;
  };

  explicit Group(std::uint64_t seed = 1, RaftOptions options = {});

  /// Starts the founders of a group.
  void Found(const std::vector<std::string>& voters, const std::vector<std::string>& learners = {});
  /// Starts a member with nothing on its disk, in the place of any other of its region.
  void Join(const std::string& name);
  /// Starts a member with a disk of the test's making.
  void StartWith(const std::string& name, RaftState disk);

  Raft& operator[](const std::string& name) { return *At(name).raft; }
  Member& At(const std::string& name);
  std::vector<Member*> Up();
  /// The one with the highest term, if any.
  Raft* Leader();

  // What happens to members. After each, their work is taken.

  void Tick(const std::string& name, int times = 1);
  void TickAll(int times = 1);
  RaftVerdict Propose(const std::string& name, const std::string& data);
  RaftVerdict Read(const std::string& name, const std::string& context);
  RaftVerdict Change(const std::string& name, MembershipChange::Kind kind, const std::string& who);
  RaftVerdict Transfer(const std::string& name, const std::string& to);
  void GiveWay(const std::string& name);
  void Compact(const std::string& name, std::uint64_t index);
  void Inject(const RaftMessage& message);
  void Crash(const std::string& name);
  void Restart(const std::string& name);
  /// Makes the next portion durable. With `sync_at_once`, the default, there is none left to do.
  void Sync(const std::string& name);

  // What happens on the wire.

  void Cut(const std::string& a, const std::string& b) { cut_.insert(std::minmax(a, b)); }
  void Isolate(const std::string& name);
  void Heal() { cut_.clear(); }
  void Deliver(std::size_t at);
  /// Delivers everything, in order, until nothing is on the wire.
  void Settle();
  /// `name` stands for election at once and everything is delivered. The others forget that they
  /// heard another leader, by a restart.
  void Elect(const std::string& name);

  std::vector<RaftMessage> wire;
  std::function<bool(const RaftMessage&)> lose;  // instead of delivering it
  std::string broken;
  bool sync_at_once = true;
  std::set<std::string> hangs;   // members whose disks store nothing
  std::size_t chunk_bytes = 7;   // of snapshots; a machine is some twenty bytes
  bool snapshot_lost = false;    // whoever is asked for the next piece begins another snapshot
  std::string* trace = nullptr;  // what is sent, applied and read, a line each
  RaftInvariants invariants;

 private:
  void Start(Member& member);
  void Observe(Member& member);
  void TakeWork(Member& member);
  void Stage(Member& member, const RaftWork& work);
  void Apply(Member& member, const RaftWork& work);
  void Answer(Member& member, const RaftWork& work);
  void Provide(Member& member, const RaftChunkWanted& wanted);
  void Send(const std::vector<RaftMessage>& messages);
  void Store(Member& member, Write& write);

  std::uint64_t seed_;
  RaftOptions options_;
  std::map<std::string, std::unique_ptr<Member>> members_;  // by region
  std::set<std::pair<std::string, std::string>> cut_;       // of regions
  std::map<std::uint64_t, std::uint64_t> digests_;          // of any machine, by applied index
  std::map<std::string, std::uint64_t> reads_;              // committed when asked, by context
};

std::string RegionOf(const std::string& name);
/// A message or entry in a line, as transcripts show it.
std::string Describe(const RaftMessage& message);
std::string Describe(const RaftEntry& entry);
std::string Describe(const Membership& membership);
std::string Describe(RaftRefusal refusal);

}  // namespace once
