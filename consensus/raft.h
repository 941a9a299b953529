// One member of the strict group, as a pure step function: events come in, work comes out.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "consensus/membership.h"
#include "consensus/progress.h"
#include "consensus/raft.pb.h"
#include "consensus/raft_log.h"
#include "consensus/raft_work.h"
#include "consensus/read_queue.h"
#include "replica/env/random.h"

namespace once {

/// Time is counted in ticks of the driver's choice. All bounds are the same on every member or at
/// least harmless when they differ.
struct RaftOptions {
  std::uint32_t heartbeat_ticks = 1;
  /// A member that hears no leader for this long, and a random part of it more, stands for
  /// election; a leader that does not hear a majority within it steps down, and one whose own disk
  /// is behind what was decided for this long hands over. Several heartbeats.
  std::uint32_t election_ticks = 10;
  /// Per follower, sent and not acknowledged.
  std::uint64_t window_bytes_max = 8 << 20;
  std::uint32_t window_messages_max = 256;
  /// Entry bytes in one append; a single larger entry still goes.
  std::uint64_t append_bytes_max = 1 << 20;
  /// Proposed and not committed, on the leader. Beyond it proposals are refused.
  std::uint64_t uncommitted_bytes_max = 64 << 20;
  /// A learner may be promoted when it knows that it is one and lags the leader's log by no more
  /// than this.
  std::uint64_t promotion_entries_max = 1024;
  /// Followers hear of a commit with the next entries or heartbeat, or when the driver calls
  /// TellCommit, not in a message of its own: under load that saves two messages per entry and
  /// follower.
  bool commit_told_late = false;
};

/// What a member has on disk, as stored by the driver from RaftWork.
struct RaftState {
  HardState hard_state;
  SnapshotMeta snapshot;
  std::vector<RaftEntry> entries;  // from snapshot.index + 1 on, without gaps
  std::uint64_t applied = 0;       // what the state machine holds; at least snapshot.index
};

/// The state to store on every founding member before its first start. All founders are given the
/// same membership, and a group is founded once: everybody later joins as a learner with nothing. A
/// founder that was left out learns from the first leader's log that it is a voter.
RaftState BootstrapState(Membership founders);

enum class RaftRole { kFollower, kPreCandidate, kCandidate, kLeader };

enum class RaftRefusal {
  kNone,
  kNotLeader,      // `leader` says who is, if known
  kTransferring,   // leadership is being handed over; soon there is another leader
  kUncommitted,    // too much in progress: try later
  kChangePending,  // one membership change at a time, and none before the term's first commit
  kNotCaughtUp,    // the learner lags too far to vote
  kInvalid,        // there is no such member, it is that already, or nobody would be left to vote
};

/// What became of a call. Accepted is not committed: that is seen when `index` is applied, and it
/// was this proposal if the entry there has this `term`. If another term is there it was lost. If
/// the member stops leading before, the outcome is unknown until then, and if it is then given a
/// snapshot that goes beyond `index`, only the state itself can tell.
struct RaftVerdict {
  RaftRefusal refusal = RaftRefusal::kNone;
  std::string leader;
  std::uint64_t index = 0;
  std::uint64_t term = 0;

  bool accepted() const { return refusal == RaftRefusal::kNone; }
};

/// The consensus algorithm of Ongaro's dissertation ("Consensus: Bridging Theory and Practice",
/// cited below by section), with pre-vote (9.6), check-quorum (6.2), read-index (6.4), learners
/// (4.2.1), leadership transfer (3.10) and one-at-a-time membership change (4.1).
///
/// It knows no clock, thread, socket or disk. A driver calls one method for each thing that
/// happens, then TakeWork until it is empty, and treats each portion as RaftWork demands:
///
///     raft.Step(message);                  // or Tick, Propose, Persisted, ...
///     while (auto work = raft.TakeWork()) {
///       Send(work->send_at_once);
///       Store(*work, [=, number = work->number] {   // when durable
///         Send(work->send_when_durable);
///         raft.Persisted(number);
///       });
///       Apply(work->apply);  Answer(work->reads);  raft.Applied(...);
///     }
///
/// What happens between two TakeWork calls is put together: many proposals become one append to
/// each follower, many reads share one round. Nothing leaves but through TakeWork.
///
/// A member whose state is empty is silent: it does not stand for election and does not vote until
/// a leader has sent it a log (or snapshot) with a membership. Messages to another name than its
/// own are ignored, so an emptied directory cannot answer for the one it replaced.
///
/// Not thread-safe; one thread owns it. Two runs with equal calls and random numbers are equal.
class Raft {
 public:
  /// A member called `name` that goes on from `state`. `random` is used for election timeouts and
  /// outlives it.
  Raft(std::string name, RaftOptions options, RaftState state, Random& random);

  // Events.

  /// A message arrived. Whatever it is, it can do no harm as long as it was made by a member: stale
  /// ones are ignored or answered. (The driver authenticates: `from` is whom the channel proves.)
  void Step(const RaftMessage& message);
  /// Time passed.
  void Tick();
  /// `data` is to be committed. Refused: kNotLeader, kTransferring, kUncommitted.
  RaftVerdict Propose(std::string data);
  /// With commit_told_late: as soon as a commit reaches `index`, and at any lower one, followers
  /// are told at once.
  void TellCommit(std::uint64_t index);
  /// A read that must see everything acknowledged before this call. The outcome comes in
  /// RaftWork::reads, after the term's first commit and one round to a majority.
  /// Refused: kNotLeader.
  RaftVerdict ReadIndex(std::string context);
  /// Refused: kNotLeader, kTransferring, kChangePending, kNotCaughtUp, kInvalid. A leader that
  /// removes itself leads until that is committed, without counting itself, then steps down. A
  /// removed member is no longer spoken to and need not hear of it.
  RaftVerdict ProposeMembership(const MembershipChange& change);
  /// Brings the voter `to` up to date and has it elected; until then proposals are refused. Given
  /// up after election_ticks. Refused: kNotLeader, kTransferring, kInvalid (no voter, or this
  /// member itself).
  RaftVerdict TransferLeadership(const std::string& to);
  /// This member should not lead any more: leadership goes to whoever has most of the log among the
  /// voters that are heard; if that one has not taken over in election_ticks, to another; and if
  /// nobody has in twice as long, it steps down. Nothing happens unless it leads, or where there is
  /// no other voter.
  void GiveWay();

  // What the driver has done.

  /// Portion `number`, and all before it, are durable.
  void Persisted(std::uint64_t number);
  /// The state machine holds everything up to `index`.
  void Applied(std::uint64_t index);
  /// Forgets entries up to `index`, which is applied; followers that still need them will be sent a
  /// snapshot. Entries that a snapshot on its way will need next are kept. The rest of the log is
  /// held in memory, so that calling this from time to time, and GiveUpSnapshots where one takes
  /// too long, is what bounds it.
  void Compact(std::uint64_t index);
  /// How far it may go: entries after a snapshot that is on its way are kept.
  std::uint64_t CompactableUpto() const;
  /// Snapshots on their way that stand for less than `index` hold Compact back no more: whoever
  /// still needs one is sent another from the beginning. Returns how many.
  std::size_t GiveUpSnapshots(std::uint64_t index);
  /// All members have the log up to here, as far as is known: the leader counts, followers hear of
  /// it. Not a promise (members come and go), but who compacts no further needs no snapshots.
  std::uint64_t everywhere() const;
  /// Answers RaftChunkWanted: `data` at `offset` of the state as it was when exactly `index` was
  /// applied; `last` says that the state ends with it. A chunk at offset 0 may start a new
  /// snapshot, whatever offset was wanted; any other continues the one begun. What is no longer
  /// wanted is ignored.
  void ProvideChunk(const std::string& to, std::uint64_t index, std::uint64_t offset,
                    std::string data, bool last);

  /// The next portion of work, if there is any.
  std::optional<RaftWork> TakeWork();

  // What it knows, for operators and tests.

  const std::string& name() const { return name_; }
  RaftRole role() const { return role_; }
  std::uint64_t term() const { return term_; }
  const std::string& voted_for() const { return voted_for_; }
  /// Of the current term; empty if unknown.
  const std::string& leader() const { return leader_; }
  std::uint64_t commit() const { return commit_; }
  std::uint64_t applied() const { return applied_; }
  const RaftLog& log() const { return log_; }
  const Membership& membership() const { return log_.membership(); }
  /// Of the others, by name; empty unless leading.
  const std::map<std::string, Progress>& progress() const { return progress_; }
  bool transferring() const { return !transfer_to_.empty(); }
  /// Whom leadership is being handed to; empty: nobody.
  const std::string& transfer_to() const { return transfer_to_; }
  const ReadQueue& reads() const { return reads_; }
  const RaftOptions& options() const { return options_; }
  /// A follower that could use it has not been told of the last commit.
  bool has_untold_commit() const;

 private:
  // raft.cc: what all events share.
  bool Addressed(const RaftMessage& message) const;
  bool AdoptTerm(const RaftMessage& message);
  void Dispatch(const RaftMessage& message);
  void BecomeFollower(std::uint64_t term, const std::string& leader);
  void ResetElectionTimer();
  bool HearsOtherLeader(const std::string& candidate) const;
  bool CommittedInTerm() const;
  RaftMessage& Say(std::vector<RaftMessage>& outbox, const std::string& to);
  void AdvanceCommit(std::uint64_t index);
  void CommitByCounting();

  // work.cc
  void HandOutHardState();
  void HandOutCommitted();

  // election.cc
  bool MayCampaign() const;
  void CampaignFirstAsking();
  void Campaign(bool transfer);
  void AskForVotes(bool pre_vote, bool transfer);
  void CountVotes();
  void BecomeLeader();
  RaftEntry FirstOfTerm() const;
  void FollowMembership();

  // on_vote.cc, on_vote_reply.cc
  void OnVoteRequest(const RaftMessage& message);
  bool Grants(const VoteRequest& request, const std::string& candidate) const;
  void AnswerVote(const RaftMessage& message, bool granted);
  void OnVoteReply(const RaftMessage& message);

  // on_append.cc, on_append_reply.cc
  void OnAppend(const RaftMessage& message);
  void FollowLeader(const std::string& leader);
  void StoreEntries(const AppendRequest& append);
  void AcknowledgeUpTo(std::uint64_t match, const RaftMessage& message);
  void RejectAppend(const RaftMessage& message);
  void OnAppendReply(const RaftMessage& message);

  // on_snapshot.cc, on_snapshot_reply.cc, snapshot.cc
  void OnSnapshotChunk(const RaftMessage& message);
  bool AlreadyHolds(const SnapshotMeta& meta);
  void AskForChunk(const RaftMessage& message, std::uint64_t offset);
  void Install(const SnapshotMeta& meta);
  void OnSnapshotReply(const RaftMessage& message);
  void WantChunk(const std::string& to, Progress& progress);
  void ReleaseSnapshot(const std::string& to);

  // propose.cc
  bool HasCaughtUp(const std::string& learner) const;
  RaftVerdict AppendEntry(RaftEntry entry);
  RaftVerdict Refuse(RaftRefusal refusal) const;

  // replicate.cc
  void Replicate();
  void ReplicateTo(const std::string& to, Progress& progress);
  std::uint64_t SendEntries(const std::string& to, Progress& progress);
  AppendRequest& SayAppend(const std::string& to, Progress& progress);

  // tick.cc
  void TickLeader();
  void TickSnapshot(const std::string& to, Progress& progress);
  bool IsHeard(const Progress& progress) const;
  bool HearsMajority() const;
  void GiveWayIfDiskHangs();

  // transfer.cc
  void TransferToNext();
  void TickTransfer();
  void OnTimeoutNow(const RaftMessage& message);
  void SendTimeoutNow();

  // read_index.cc
  void StartReadRound();
  void ConfirmReads();

  // Constant.
  const std::string name_;
  const RaftOptions options_;
  Random& random_;

  // Durable before anything that depends on it is said; see RaftWork.
  std::uint64_t term_ = 0;  // never falls
  std::string voted_for_;   // in term_; set once a term
  RaftLog log_;

  // Everyone's.
  RaftRole role_ = RaftRole::kFollower;
  std::string leader_;
  std::uint64_t commit_ = 0;      // never falls; at most log_.last_index()
  std::uint64_t handed_out_ = 0;  // for applying; at most commit_ and the durable log
  std::uint64_t applied_ = 0;     // at most handed_out_
  std::uint64_t everywhere_ = 0;  // as last heard
  std::uint32_t ticks_ = 0;       // since the leader was heard, or since the campaign began; for a
                                  // leader, since it last counted its majority
  std::uint32_t timeout_ticks_ = 0;  // in [election_ticks, 2 * election_ticks)

  /// A snapshot being received; forgotten when another leader or another snapshot comes.
  struct Incoming {
    std::string from;
    std::uint64_t term = 0;
    std::uint64_t index = 0;
    std::uint64_t next_offset = 0;
  };
  Incoming incoming_;

  // A candidate's.
  std::map<std::string, bool> votes_;

  // A leader's.
  std::map<std::string, Progress> progress_;  // of all other members
  std::uint64_t uncommitted_bytes_ = 0;
  std::uint32_t heartbeat_elapsed_ = 0;
  std::uint64_t tell_commit_ = 0;  // commits up to here are told at once
  std::string transfer_to_;        // empty: no transfer
  std::uint32_t transfer_ticks_ = 0;
  std::optional<std::uint32_t> giving_way_ticks_;  // nothing: it is not giving way
  std::set<std::string> asked_to_lead_;            // since it is
  std::uint64_t awaited_ = 0;  // decided, and not known to be on this member's disk when last seen
  std::uint32_t awaited_ticks_ = 0;
  ReadQueue reads_;

  // Portions of work handed out and not yet durable, and the one being put together.
  struct Portion {
    std::uint64_t number = 0;
    std::uint64_t term = 0;
  };
  std::deque<Portion> unpersisted_;
  std::uint64_t last_number_ = 0;
  std::uint64_t durable_term_ = 0;  // the vote cast in it is durable too
  HardState handed_hard_state_;     // as last handed out
  RaftWork next_;
};

}  // namespace once
