// Best-effort replication: every region tells the others what its own claims did, and passes on
// what it heard, until all know all.
//
//   - A fresh frame is pushed to every peer at once.
//   - Every interval each peer hears how far we are (a vector); from a peer's vector follows what
//     it lacks, and anyone who has that sends it. The origin does so at once, others after a delay.
//   - Nothing is said before it is durable, and nothing counts as heard before it is durable.
//   - Now and then one part of the key space is compared by digest; a peer that differs asks for
//     the origin's claims there again.
//   - A region that has less of its own past than a peer gets it back from that peer.
//   - Nothing is forgotten, and no stream closed, before every member has it. A member that was
//     silent for too long is not waited for.
//
// Lost, repeated, reordered and late messages change nothing: frames apply in sequence or not at
// all, and merging is a union.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "replica/env/transport.h"
#include "replica/gossip/journal.h"
#include "replica/gossip/message.pb.h"
#include "replica/replica.h"

namespace once {

inline constexpr std::uint32_t kGossipFormat = 1;
inline constexpr std::uint32_t kBuckets = 256;  // of slot keys, by their first byte

struct GossipOptions {
  std::string region;
  std::vector<std::string> peers;
  std::int64_t interval_ms = 100;
  std::int64_t resend_ms = 1000;    // no acknowledgement for so long: say it again
  std::int64_t relay_ms = 400;      // a peer lacks another region's frame for so long: pass it on
  std::int64_t baseline_ms = 5000;  // a peer lacks for so long what the journal dropped: go on
  std::int64_t digest_interval_ms = 1000;
  std::size_t window_bytes = 512 * 1024;  // of one message, and unsent per peer
  std::size_t message_bytes_max = 4u << 20;
  std::int64_t skew_bound_ms = 1000;
  std::int64_t grace_ms = 7ll * 24 * 3600 * 1000;  // what ended so long ago may be forgotten
  std::uint64_t journal_changes_max = 20'000'000;  // kept per stream for a peer that is away
  std::int64_t hold_off_ms = 5000;  // a peer that sent something wrong is not listened to
  std::int64_t silence_ms_max = 7ll * 24 * 3600 * 1000;  // beyond it a member is not waited for
};

/// Checks an origin's signature.
using Verify = std::function<bool(const std::string& origin, const std::string& bytes,
                                  const std::string& signature)>;

class Gossip {
 public:
  Gossip(Replica& replica, Transport& transport, GossipOptions options, std::uint64_t incarnation,
         Sign sign, Verify verify);
  ~Gossip();

  void Start();

  /// Lets the peer, home of a run, carry out a command or answer a question about it (everything
  /// but those two is filled in here). `done` gets its answer, or kUnavailable when none came
  /// within `timeout_ms`; it may have been carried out then, and is not later than the clock bound
  /// after that. The command's key makes a retry safe.
  void Forward(const std::string& peer, ForwardRequest request, std::int64_t timeout_ms,
               Replica::Done done);

  struct PeerState {
    double partition_seconds = 0;  // age of the oldest state the peer may be missing
    std::uint64_t unacknowledged = 0;
    std::uint64_t streams = 0;   // that are followed because it may lack some of them
    std::uint64_t refused = 0;   // messages that were wrong
    std::uint64_t ignored = 0;   // frames that it passed on: of regions that are not configured
                                 // here, or that lie, or giving back what was not lost
    std::uint64_t repaired = 0;  // parts of the key space that were asked for again
  };
  PeerState StateOf(const std::string& peer);
  /// Called with the time from a frame's making to a peer's acknowledgement.
  std::function<void(const std::string& peer, std::int64_t lag_ms)> on_lag;
  /// A message of a peer was wrong, and it is held off.
  std::function<void(const std::string& peer)> on_refused;
  /// A peer's clock is ahead by more than the bound.
  std::function<void(const std::string& peer, std::int64_t ahead_ms)> on_future;

  const Journal& journal() const { return journal_; }
  /// What of it may be told, because it is durable.
  const Vector& durable() const { return durable_; }

 private:
  struct Forwarded {
    std::string peer;
    Replica::Done done;
  };
  /// Who forwarded something here, and by what it knows the reply.
  struct Asker {
    std::string region;
    std::uint64_t incarnation;
    std::uint64_t id;
  };
  struct Unacknowledged {
    std::uint64_t last_sequence;
    std::int64_t made_us;
  };
  struct Sent {
    std::uint64_t sequence = 0;
    std::int64_t since_us = 0;  // waiting for so long: since the first of it, or the last progress
    std::uint64_t lost_upto = 0;  // of what had to be said again
  };
  /// What we hold of a region's claims, said again part by part in our present stream. Whoever has
  /// all of that needs none of the region's frames up to `held`.
  struct Retelling {
    std::string home;
    Vector held;           // of the home's streams, at first: what comes later is sent itself
    std::string last_run;  // said so far of those that there are, in order of their ids; ...
    bool runs_said = false;
    std::uint32_t next_bucket = 0;    // ... then their claims and all others
    bool under_way = false;           // some of it is not durable yet
    bool failed = false;              // and will not be
    std::optional<Stream> last_said;  // when all is: where our stream ...
    std::uint64_t last_sequence = 0;  // ... was by then
  };
  /// A moment of what we and a peer have.
  struct Moments {
    std::uint64_t ours = 0;
    std::uint64_t theirs = 0;
    bool operator==(const Moments&) const = default;
  };
  struct Peer {
    Vector acknowledged;          // durable with the peer, as it last said
    std::uint64_t changes = 1;    // of that, so far
    Moments lacks_nothing;        // by then
    Moments told_at;              // what was told of the vector then ...
    std::string told;             // ... in these bytes
    std::string last_bytes;       // its vector as it came last, if without any words, ...
    Vector last;                  // ... read, ...
    Seen last_closed;             // ... and what closes its own streams
    bool heard = false;           // since we started
    std::map<Stream, Sent> sent;  // said since; forgotten when it did not help
    std::int64_t behind_us = 0;   // since when it says only less than before; 0: it does not
    std::map<Stream, std::int64_t> behind_since_us;
    std::int64_t last_heard_us = 0;
    std::int64_t held_off_until_us = 0;
    /// Own frames it has not acknowledged, oldest first; coarse when many.
    std::map<Stream, std::deque<Unacknowledged>> own;
    std::set<std::uint32_t> repair;        // buckets of its that we want again
    std::shared_ptr<Retelling> give_back;  // of the peer's own past
    std::uint64_t refused = 0;
    std::uint64_t ignored = 0;
    std::uint64_t repaired = 0;
  };

  void Tick();
  /// Only while all that was applied is in frames does a vector stand for a moment.
  void Prepare();
  void PrepareDigest();
  void Receive(const std::string& from, const std::string& bytes);
  /// Reads the message into received_, without its vector if that is the last one again.
  bool Read(const Peer& peer, const std::string& bytes, std::string_view vector);
  /// The vector that came is the peer's last one from now on.
  void HearVector(Peer& peer, const std::string& from, std::string_view bytes);
  void Heed(Peer& peer, const std::string& from, GossipMessage& message);
  bool Accept(const std::string& from, const GossipMessage& message);
  void Hear(Peer& peer, const std::string& name, const Vector& heard);
  void Take(const std::string& from, SealedFrame sealed);
  void Merge(const std::string& from, const Command& command, SealedFrame sealed,
             const std::string& hash);
  void CompareDigest(const std::string& from, const Vector& heard, const BucketDigest& theirs);
  /// Says how far we are and what the peer lacks.
  void SendTo(const std::string& name, const BucketDigest* digest);
  /// The same, but only if there is something that it lacks and that may go now.
  void SendWhatIsLacking(const std::string& name);
  /// With how far we are, and what we want again.
  void Send(const std::string& name, Peer& peer, GossipMessage& message);
  void AppendVector(const std::string& name, Peer& peer, std::string& bytes);
  Moments MomentsOf(const Peer& peer) const { return {durable_changes_, peer.changes}; }
  void AddFrames(const std::string& name, Peer& peer, GossipMessage& message);
  void AwaitAcknowledgement(const Stream& stream, std::uint64_t last_sequence,
                            std::int64_t made_us);
  void Acknowledge(Peer& peer, const std::string& name, const Vector& heard);
  void Undo();
  void Refuse(const std::string& name);
  bool IsSilent(const Peer& peer) const;
  void SayNow();
  void SendToAll(const BucketDigest* digest);
  // A peer that lacks what the journal no longer has: all of it is said again in a new stream, and
  // then the peer is told where to go on in the old ones. So whatever a vector covers is there.
  void OfferBaseline(const Stream& stream, Peer& peer, GossipMessage& message);
  /// The peer lacks some of its own past: it gets what we hold of that, then a baseline.
  void Return(const Stream& stream, Peer& peer, GossipMessage& message);
  void TakeBaseline(const std::string& from, const Seen& baseline);
  bool HaveLost(const Seen& ours) const;
  /// What we closed may have been more: we were restored since, or all had lost it.
  void Reopen(const Seen& ours);
  /// Up to where the peer must be told to go on, since the journal begins later; 0: nowhere.
  std::uint64_t DroppedFor(const Peer& peer, const Stream& stream) const;
  std::shared_ptr<Retelling> Retell(const std::string& home) const;
  void RetellOwn(std::uint64_t incarnation);
  /// Says some more of the home's runs.
  void SayRuns(const std::shared_ptr<Retelling>& retelling);
  /// Says the next parts.
  void GoOn(const std::shared_ptr<Retelling>& retelling);
  void GoOnWithAll();
  /// A baseline of the stream, if the peer has all that was said for it.
  bool AddBaseline(const Retelling& retelling, const Stream& stream, const Peer& peer,
                   GossipMessage& message) const;
  /// We lack some of our own past, and what we now say must not be taken for it.
  void HearOfOurselves(const std::string& from, const Vector& heard);

  bool IsWaitedFor(const Peer& peer) const;
  bool HasAll(const Vector& vector) const;
  bool MayLackWhatCameBack(const Peer& peer) const;
  bool MayHearOfThePast(const Peer& peer) const;
  /// All that came back with a directory, or to one that lacked it.
  bool IsAllSaidAndHeard() const;
  void UpdateCover();
  void CloseOwn();
  /// What was reopened for a peer that has lost it since: nobody can give it back.
  void CloseWhatIsLost();
  void CloseTheirs(const std::string& from, const Vector& heard, const Seen& closed);
  void SendAlone(const std::string& name, GossipMessage message);
  void CarryOut(const std::string& from, const ForwardRequest& request);
  void TellEvents(const Asker& asker, const EventRequest& events);
  void Reply(const Asker& to, const Answer& answer);
  void TakeReply(const std::string& from, const ForwardReply& reply);
  void DropWhatAllHave();
  void SetDurable();
  std::int64_t NowMicros() const;
  std::uint64_t DigestOf(const std::string& origin, std::uint32_t bucket, std::int64_t cutoff_ms);

  Replica& replica_;
  Transport& transport_;
  const GossipOptions options_;
  Verify verify_;
  Journal journal_;
  Vector flushed_;  // journal_.applied() when the last batch was written
  Vector durable_;  // what may be told: the same of the last batch that was synced
  std::uint64_t durable_changes_ = 0;
  std::uint64_t said_changes_ = 0;  // as of what was last said at once
  // Messages are many and alike: the memory of their parts is used again.
  GossipMessage vector_;  // of the message being made: how far we are, ...
  GossipMessage said_;    // ... and the rest
  GossipMessage received_;
  std::string heading_;  // how every message begins
  std::map<std::string, Peer> peers_;
  std::uint32_t next_bucket_ = 0;
  std::int64_t next_digest_us_ = 0;
  std::optional<BucketDigest> digest_;  // made, to be told once what it stands for is durable
  struct Moment {
    std::int64_t stamp_ms;
    Vector vector;  // all that had happened here by then
  };
  std::optional<Moment> moment_;  // not yet with every member
  std::int64_t covered_ms_ = 0;   // what happened here until then is
  std::uint64_t dropped_at_ = 0;  // so many changes of what we and the peers have
  bool saying_ = false;
  std::shared_ptr<Retelling> again_;  // our own claims, for whoever lacks some
  std::uint64_t last_forward_ = 0;
  std::map<std::uint64_t, Forwarded> forwards_;  // that wait for a reply
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace once
