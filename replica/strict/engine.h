// The seam of the strict path: an engine brings the same batches in the same order to the state
// machine of every member. What a batch means is none of its business, how it agrees none of ours.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace once {

/// A state as of one index, whatever is applied later.
class FrozenState {
 public:
  virtual ~FrozenState() = default;

  struct Piece {
    std::string bytes;
    std::string end;  // where the next one begins
    bool last = false;
  };
  /// The piece that begins there, where another one ended ("": the first). It has `bytes_max` bytes
  /// and a record more at most, and is the same every time. May throw KvUnreadable.
  virtual Piece Read(const std::string& begin, std::size_t bytes_max) = 0;
};

/// What an engine keeps the same on every member. Every call is on the replica's thread.
class StateMachine {
 public:
  virtual ~StateMachine() = default;

  /// Entry `index` is decided. Its changes may stay in memory: the log has them, and after a
  /// restart the entry comes again. Indexes rise without gaps; an entry of the engine's own comes
  /// as an empty batch. False: a later version proposed what this one does not know, and nothing
  /// changed; to pass over it would be to differ from the others. May throw KvUnreadable;
  /// RolledBack follows.
  virtual bool Apply(std::uint64_t index, const std::string& batch) = 0;
  /// The changes of all that was applied, and how far that is, go into the open batch of the
  /// replica's Tables together. From then on the log may forget those entries.
  virtual void Store() = 0;
  /// So much has gathered that Store should be called soon, when nobody waits.
  virtual bool ShouldStore() = 0;
  /// The last index that was applied; after a start or RolledBack, that was stored.
  virtual std::uint64_t applied() = 0;
  /// The whole state, as of applied(). May throw KvUnreadable.
  virtual std::unique_ptr<FrozenState> Freeze() = 0;
  /// A piece of another member's state goes into the open batch, beside the present state, which
  /// stays in force. The first of a state takes the place of all that was staged before. False: it
  /// is no piece, or does not follow the last one; nothing changed.
  virtual bool Stage(const std::string& piece, bool first) = 0;
  /// What is staged replaces the whole state, in the open batch. False: it is not the state as of
  /// `index`. Then, and after a KvUnreadable, nothing changed.
  virtual bool Install(std::uint64_t index) = 0;
  /// What is staged will not be installed.
  virtual void Unstage() = 0;
  /// The store went back to an earlier batch: what is kept in memory is of no use.
  virtual void RolledBack() = 0;
  /// Who leads, as far as this member knows, is somebody else than before, or leads in another
  /// term. A follower hears of a leader by that leader's own message, and is told so before
  /// Receive of it returns.
  virtual void LeaderChanged() = 0;
};

enum class EngineRole { kStopped, kFollower, kCandidate, kLeader };

/// As operators know it.
inline const char* EngineRoleName(EngineRole role) {
  static constexpr const char* kNames[] = {"stopped", "follower", "candidate", "leader"};
  return kNames[static_cast<int>(role)];
}

/// A member is named "region/identity".
struct EngineMember {
  std::string name;
  bool voter = false;
  std::optional<std::uint64_t> stored;  // up to which index, as far as the leader knows
};

struct EngineStatus {
  std::string name;
  EngineRole role = EngineRole::kStopped;
  std::string leader;  // a member; empty: none is known
  std::uint64_t term = 0;
  std::uint64_t last = 0;  // index of the log
  std::uint64_t committed = 0;
  std::uint64_t applied = 0;
  std::vector<EngineMember> members;     // empty: this member belongs to no group yet
  std::uint64_t refused = 0;             // messages that no honest member sends
  bool unreadable = false;               // what is stored could not be read lately: it is of no use
  bool outdated = false;                 // a decided entry is of a later version: as of no use
  std::uint64_t snapshots_given_up = 0;  // that it was sending
};

struct MemberChange {
  enum class Kind {
    kAdd,      // as a learner: it receives and does not vote
    kPromote,  // a learner that has caught up
    kRemove,
  };
  Kind kind = Kind::kAdd;
  std::string member;
};

/// One implementation drives the Raft core (native_engine.h). Another must keep the same rules:
///   - what it promises to other members is durable first, through the replica's group commit;
///   - it applies only what is decided, in order, and after a restart goes on after applied();
///   - an entry that the state machine does not know ends its part in the group;
///   - a write that failed, or whose outcome is unknown, ends its part in the group;
///   - a member that was not a founder is a learner until a leader makes it a voter;
///   - whatever a peer sends, it goes on.
class Engine {
 public:
  virtual ~Engine() = default;

  /// From now on it takes part.
  virtual void Start() = 0;
  /// Founds the group, on every founder with the same list. Empty, also when this member has that
  /// group already; or why not: a group is founded once, and by members who have none.
  virtual std::string Found(const std::vector<std::string>& founders) = 0;

  /// Only a leader proposes. False: nothing will come of it. True: it may be applied, or be lost
  /// with this leadership; who proposed it learns that by seeing it applied.
  virtual bool Propose(std::string batch) = 0;
  /// Another member waits to see applied what was proposed so far: all are told of the decision at
  /// once. Otherwise they hear of it with the next proposal, or a little later.
  virtual void TellAtOnce() = 0;
  /// Asks the leader, which must be this member, what index a read must wait for so that it sees
  /// all that was acknowledged before. Nothing: it does not lead any more.
  using IndexKnown = std::function<void(std::optional<std::uint64_t> index)>;
  virtual void ReadIndex(IndexKnown known) = 0;

  /// What another member's engine sent. `from_region` is proven by the channel.
  virtual void Receive(const std::string& from_region, const std::string& message) = 0;

  /// Both only on the leader, and accepted is not decided. Empty, or why not.
  virtual std::string Change(const MemberChange& change) = 0;
  virtual std::string Transfer(const std::string& member) = 0;
  /// This member should not lead: if it does, another one will, or it stops leading.
  virtual void GiveWay() = 0;

  /// Batches that it holds and has not applied; whether they are decided it may not know.
  virtual void VisitUnapplied(const std::function<void(const std::string& batch)>& visit) const = 0;

  virtual EngineStatus Status() const = 0;
  virtual bool Leads() const = 0;
  /// The region of the leader; empty: unknown.
  virtual std::string LeaderRegion() const = 0;
};

/// "region/identity": the name of a member.
inline std::string MemberName(const std::string& region, const std::string& identity) {
  return region + "/" + identity;
}

/// "region" of "region/identity".
inline std::string RegionOfMember(const std::string& member) {
  return member.substr(0, member.find('/'));
}

}  // namespace once
