// What comes in: checked, taken as acknowledgement, merged and kept.
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <utility>

#include "conflict/mutation.h"
#include "conflict/probe.h"
#include "replica/gossip/gossip.h"
#include "replica/ledger/command.pb.h"
#include "replica/ledger/run_id.h"
#include "replica/limits.h"

namespace once {
namespace {

constexpr std::size_t kSmallBytes = 64 * 1024;
constexpr std::uint64_t kSequenceMax = std::uint64_t{1} << 62;

Vector ToVector(const google::protobuf::RepeatedPtrField<Seen>& all) {
  std::vector<Vector::Entry> entries;
  entries.reserve(static_cast<std::size_t>(all.size()));
  for (const Seen& seen : all)
    entries.emplace_back(Stream(seen.origin(), seen.incarnation()), seen.sequence());
  return Vector(std::move(entries));
}

// The vector within a message, if it stands in one piece, as every region writes it.
std::string_view VectorIn(const std::string& bytes) {
  constexpr std::uint32_t kSeen = GossipMessage::kSeenFieldNumber << 3 | 2;  // with a length
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  std::size_t begin = 0, end = 0;
  for (std::size_t at = 0; const std::uint32_t tag = in.ReadTag();) {
    if (!google::protobuf::internal::WireFormatLite::SkipField(&in, tag)) return {};
    const std::size_t before = std::exchange(at, static_cast<std::size_t>(in.CurrentPosition()));
    if (tag != kSeen) continue;
    if (end == 0) begin = before;
    if (end != 0 && end != before) return {};
    end = at;
  }
  return std::string_view(bytes).substr(begin, end - begin);
}

// A region may speak of its own claims and runs only, or give another region's back to it, and a
// run id says when and where it was made: otherwise "the lowest wins" would be an attack.
bool IsHonest(const Frame& frame, std::int64_t latest_ms) {
  if (frame.changes_size() > static_cast<int>(kFrameChangesMax) || frame.first_sequence() == 0 ||
      frame.first_sequence() > kSequenceMax || frame.stamp_ms() > latest_ms)
    return false;
  const std::string& home = frame.home().empty() ? frame.origin() : frame.home();
  const std::string code = RegionCode(home);
  const auto minted_there = [&](const std::string& run_id) {
    return RunIdMillis(run_id) >= 0 && run_id.compare(10, code.size(), code) == 0;
  };
  return std::all_of(frame.changes().begin(), frame.changes().end(), [&](const Change& change) {
    if (change.has_run() == change.has_claim()) return false;
    if (change.has_run() && change.has_conflict()) return false;
    const Run& run = change.run();
    if (change.has_run()) {
      // Its id is its claim's, and older than the run where the first try was not the last.
      const std::int64_t id_ms = RunIdMillis(run.run_id());
      const bool in_time =
          MutationOn("second-try-refused") ? id_ms == run.created_ms() : id_ms <= run.created_ms();
      return run.region() == home && minted_there(run.run_id()) && in_time &&
             run.created_ms() <= latest_ms;
    }
    const Claim& claim = change.claim();
    const Conflict& conflict = change.conflict();
    if (change.has_conflict() &&
        (conflict.loser() != claim.run_id() || conflict.region() != home ||
         conflict.kind() == RUN_ID_COLLISION || conflict.detected_ms() > latest_ms))
      return false;
    return claim.region() == home && claim.taken_up_ms() <= latest_ms &&
           claim.lease_until_ms() <= latest_ms + kLeaseMsMax && claim.finalised_ms() <= latest_ms &&
           minted_there(claim.run_id()) && RunIdMillis(claim.run_id()) == claim.created_ms() &&
           claim.created_ms() <= latest_ms;
  });
}

}  // namespace

void Gossip::Refuse(const std::string& name) {
  Peer& peer = peers_[name];
  ++peer.refused;
  if (on_refused) on_refused(name);
  peer.held_off_until_us = NowMicros() + options_.hold_off_ms * 1000;
}

bool Gossip::Accept(const std::string& from, const GossipMessage& message) {
  if (message.format() == 0 || message.from() != from ||
      message.repair_buckets_size() > static_cast<int>(kBuckets))
    return false;
  const std::int64_t ahead_ms = message.stamp_ms() - replica_.NowMillis();
  if (ahead_ms <= options_.skew_bound_ms) return true;
  if (on_future) on_future(from, ahead_ms);
  return false;
}

bool Gossip::Read(const Peer& peer, const std::string& bytes, std::string_view vector) {
  // The heartbeats are many and alike: what one was read into serves for the next.
  if (bytes.size() > kSmallBytes) received_ = GossipMessage();
  if (vector.empty() || vector != peer.last_bytes) return received_.ParseFromString(bytes);
  const int begin = static_cast<int>(vector.data() - bytes.data());
  const int end = begin + static_cast<int>(vector.size());
  google::protobuf::io::CodedInputStream rest(
      reinterpret_cast<const std::uint8_t*>(bytes.data()) + end,
      static_cast<int>(bytes.size()) - end);
  return received_.ParseFromArray(bytes.data(), begin) && received_.MergeFromCodedStream(&rest) &&
         rest.ConsumedEntireMessage();
}

void Gossip::Receive(const std::string& from, const std::string& bytes) {
  const auto at = peers_.find(from);
  if (at == peers_.end() || NowMicros() < at->second.held_off_until_us) return;
  if (bytes.size() > options_.message_bytes_max) return Refuse(from);
  const std::string_view vector = VectorIn(bytes);
  if (!Read(at->second, bytes, vector) || !Accept(from, received_)) return Refuse(from);
  if (received_.has_forward()) return CarryOut(from, received_.forward());
  if (received_.has_forwarded()) return TakeReply(from, received_.forwarded());
  try {
    if (vector.empty() || received_.seen_size() > 0) HearVector(at->second, from, vector);
    Heed(at->second, from, received_);
  } catch (const KvUnreadable&) {
    // Not acknowledged, so it comes again.
  }
}

void Gossip::HearVector(Peer& peer, const std::string& from, std::string_view bytes) {
  peer.last = ToVector(received_.seen());
  peer.last_bytes = bytes;
  peer.last_closed.Clear();
  for (const Seen& seen : received_.seen()) {
    if (seen.incarnation() == 0 && seen.origin() == from) peer.last_closed = seen;
    if (!seen.has_said()) continue;
    peer.last_bytes.clear();
    Reopen(seen);
  }
}

void Gossip::Heed(Peer& peer, const std::string& from, GossipMessage& message) {
  Hear(peer, from, peer.last);
  for (const Seen& baseline : message.baselines()) TakeBaseline(from, baseline);
  for (SealedFrame& sealed : *message.mutable_frames()) Take(from, std::move(sealed));
  if (peer.last_closed.sequence() > 0) CloseTheirs(from, peer.last, peer.last_closed);
  if (message.has_digest()) CompareDigest(from, peer.last, message.digest());
  for (const std::uint32_t bucket : message.repair_buckets()) {
    if (bucket > 0xff) continue;
    Command command;
    command.mutable_reassert()->set_bucket(bucket);
    replica_.Submit(command, [](const Answer&) {});
  }
}

void Gossip::Hear(Peer& peer, const std::string& name, const Vector& heard) {
  // What was sent into a silence is most likely lost: go on from what the peer says it has.
  // What it lacked before counts from now on, too: it may have got it from somebody else.
  if (IsSilent(peer)) {
    peer.sent.clear();
    peer.behind_since_us.clear();
  }
  peer.last_heard_us = NowMicros();
  peer.heard = true;
  HearOfOurselves(name, heard);
  Acknowledge(peer, name, heard);
  SendWhatIsLacking(name);
}

// The peer's vector is the acknowledgement. Messages overtake each other, so one that says less
// than an earlier one is passed over; a peer that goes on saying less was restored from a backup
// and truly has less.
void Gossip::Acknowledge(Peer& peer, const std::string& name, const Vector& heard) {
  const std::int64_t now_us = NowMicros();
  if (heard != peer.acknowledged) {
    const bool less = std::any_of(
        peer.acknowledged.begin(), peer.acknowledged.end(),
        [&heard](const auto& known) { return KnownUpto(heard, known.first) < known.second; });
    if (!less) peer.behind_us = 0;
    if (less && peer.behind_us == 0) peer.behind_us = now_us;
    if (less && now_us - peer.behind_us < 2 * options_.resend_ms * 1000) return;
    for (auto& [stream, sent] : peer.sent)
      if (KnownUpto(heard, stream) > KnownUpto(peer.acknowledged, stream)) sent.since_us = now_us;
    peer.acknowledged = heard;
    ++peer.changes;
  } else {
    peer.behind_us = 0;
  }
  for (auto own = peer.own.begin(); own != peer.own.end();) {
    auto& [stream, waiting] = *own;
    while (!waiting.empty() &&
           waiting.front().last_sequence <= KnownUpto(peer.acknowledged, stream)) {
      if (on_lag) on_lag(name, (now_us - waiting.front().made_us) / 1000);
      waiting.pop_front();
    }
    own = waiting.empty() ? peer.own.erase(own) : std::next(own);
  }
}

void Gossip::Take(const std::string& from, SealedFrame sealed) {
  google::protobuf::Arena arena;
  Command& command = *google::protobuf::Arena::CreateMessage<Command>(&arena);
  Frame& frame = *command.mutable_merge_frame()->mutable_frame();
  if (!frame.ParseFromString(sealed.frame()) || frame.changes_size() == 0) return Refuse(from);
  // What we say now comes back through others, and repetitions are common: neither is worth a look.
  const Stream stream{frame.origin(), frame.incarnation()};
  const std::uint64_t known = KnownUpto(journal_.applied(), stream);
  const bool over_gap =
      from != frame.origin() && known != UINT64_MAX && frame.first_sequence() > known + 1;
  if (over_gap) Reached("a frame over a gap came from a relay");
  if (stream == journal_.own()) return;
  if (!journal_.IsNext(frame) && !(over_gap && MutationOn("relayed-over-gap"))) return;
  if (frame.origin() != options_.region && !peers_.count(frame.origin())) {
    // A region that is being added, and was made known to the relay first. The relay is honest.
    ++peers_[from].ignored;
    return;
  }
  const std::int64_t latest_ms = replica_.NowMillis() + options_.skew_bound_ms;
  const std::string hash = HashOf(sealed);
  if (!verify_(frame.origin(), SaidBytes(stream, LastSequence(frame), hash), sealed.signature()))
    return Refuse(from);
  // Whoever signed it is to blame. The relay may have found nothing wrong with it: its clock
  // differs.
  if (!IsHonest(frame, latest_ms)) {
    if (from != frame.origin()) ++peers_[from].ignored;
    return frame.origin() == options_.region ? void() : Refuse(frame.origin());
  }
  Merge(from, command, std::move(sealed), hash);
}

void Gossip::Merge(const std::string& from, const Command& command, SealedFrame sealed,
                   const std::string& hash) {
  const Frame& frame = command.merge_frame().frame();
  // Also a frame that changes no claim moves the vector: that alone is worth a batch.
  replica_.tables().TouchHead();
  // Given back to another region, or to us who lack nothing.
  const bool ours = frame.home() == options_.region;
  const bool lacking = ours && std::any_of(frame.held().begin(), frame.held().end(),
                                           [this](const Seen& held) { return HaveLost(held); });
  if (!frame.home().empty() && !lacking) {
    if (ours) ++peers_[from].ignored;
    journal_.Keep(frame, std::move(sealed), hash);
    return replica_.MakeDurable();
  }
  const auto merged = std::make_shared<bool>(true);
  replica_.Submit(command, [merged](const Answer& answer) {
    if (answer.kind != Answer::Kind::kDone) *merged = false;
  });
  if (*merged) journal_.Keep(frame, std::move(sealed), hash);
}

void Gossip::CompareDigest(const std::string& from, const Vector& heard,
                           const BucketDigest& theirs) {
  if (theirs.as_of().origin() != from || theirs.bucket() > 0xff) return Refuse(from);
  // It is so late that some of it may have been forgotten here meanwhile.
  const std::int64_t forgotten_ms =
      replica_.NowMillis() - options_.skew_bound_ms - options_.grace_ms;
  if (forgotten_ms > theirs.cutoff_ms())
    return Reached("a digest came so late that it may stand for what was forgotten");
  // Comparable only by one who knows exactly what it had said by then, in all its incarnations.
  if (KnownUpto(heard, {from, 0}) != KnownUpto(journal_.applied(), {from, 0})) return;
  Vector then(EntriesUpto(heard, from, UINT64_MAX));
  // The digest may be older than the vector it came with, and from before the stream's first word.
  if (theirs.as_of().sequence() > 0)
    then[{from, theirs.as_of().incarnation()}] = theirs.as_of().sequence();
  else
    then.Erase({from, theirs.as_of().incarnation()});
  if (!Same(then.Of(from), EntriesUpto(journal_.applied(), from, UINT64_MAX))) return;
  if (DigestOf(from, theirs.bucket(), theirs.cutoff_ms()) == theirs.digest()) return;
  Peer& peer = peers_[from];
  peer.repair.insert(theirs.bucket());
  ++peer.repaired;
}

}  // namespace once
