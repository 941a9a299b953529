#include "replica/gossip/gossip.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>

#include "conflict/forget.h"
#include "conflict/mutation.h"
#include "conflict/probe.h"

namespace once {
namespace {

constexpr std::size_t kUnacknowledgedMax = 4096;

void AppendStamp(std::int64_t stamp_ms, std::string& bytes) {
  constexpr std::uint8_t kTag = GossipMessage::kStampMsFieldNumber << 3;  // a varint
  std::uint8_t buffer[11] = {kTag};
  const std::uint8_t* end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(
      static_cast<std::uint64_t>(stamp_ms), buffer + 1);
  bytes.append(buffer, buffer + (end - buffer));
}

/// False: it ended early, because something that it rests on cannot be read.
template <typename Action>
bool Attempt(Action action) {
  try {
    action();
    return true;
  } catch (const KvUnreadable&) {
    return false;
  }
}

}  // namespace

Gossip::Gossip(Replica& replica, Transport& transport, GossipOptions options,
               std::uint64_t incarnation, Sign sign, Verify verify)
    : replica_(replica),
      transport_(transport),
      options_(std::move(options)),
      verify_(std::move(verify)),
      journal_(replica.tables(), options_.region,
               MutationOn("incarnation-reused") ? 1 : incarnation, std::move(sign)),
      durable_(journal_.applied()) {
  GossipMessage heading;
  heading.set_format(kGossipFormat);
  heading.set_from(options_.region);
  heading_ = heading.SerializeAsString();
  for (const std::string& name : options_.peers) peers_[name].last_heard_us = NowMicros();
  // What was said before this start and is still kept, some peer may lack. Its age is known by the
  // calendar only.
  journal_.VisitOwn(
      [this](const Stream& stream, std::uint64_t last_sequence, std::int64_t stamp_ms) {
        const std::int64_t age_ms = std::max<std::int64_t>(0, replica_.NowMillis() - stamp_ms);
        AwaitAcknowledgement(stream, last_sequence, NowMicros() - age_ms * 1000);
      });
  journal_.on_frame = [this](std::uint64_t last_sequence, std::int64_t) {
    AwaitAcknowledgement(journal_.own(), last_sequence, NowMicros());
  };
  replica_.tables().SetShipper(
      [this](const Tables::Shipment& shipment) {
        journal_.Ship(shipment);
        flushed_ = journal_.applied();
        if (MutationOn("told-before-durable")) SetDurable();
        Prepare();
      },
      [this] { Undo(); });
  replica_.SetCoverage([this] { return covered_ms_; });
  replica_.SetDurableListener([this] {
    SetDurable();
    if (said_changes_ != durable_changes_) SayNow();
  });
  transport_.SetReceiver(
      [this](const std::string& from, std::string bytes) { Receive(from, bytes); });
}

Gossip::~Gossip() {
  *alive_ = false;
}

void Gossip::SetDurable() {
  if (durable_ == flushed_) return;
  durable_ = flushed_;
  ++durable_changes_;
  // Of a stream that was closed nobody lacks anything.
  const auto is_closed = [this](const auto& note) {
    return !durable_.Find(note.first.first, note.first.second);
  };
  for (auto& [name, peer] : peers_) {
    std::erase_if(peer.behind_since_us, is_closed);
    std::erase_if(peer.sent, is_closed);
  }
}

// Beyond a bound the last entry stands for more frames: its age is then said too high, not too low.
void Gossip::AwaitAcknowledgement(const Stream& stream, std::uint64_t last_sequence,
                                  std::int64_t made_us) {
  for (auto& [name, peer] : peers_) {
    std::deque<Unacknowledged>& own = peer.own[stream];
    if (own.size() < kUnacknowledgedMax)
      own.push_back({last_sequence, made_us});
    else
      own.back().last_sequence = last_sequence;
  }
}

// The disk was full: what the batch would have said is not said, and its numbers are free again.
void Gossip::Undo() {
  if (!MutationOn("undo-forgotten")) journal_.Reload();
  digest_.reset();
  moment_.reset();
  dropped_at_ = 0;
  for (auto& [name, peer] : peers_) {
    for (auto& [stream, own] : peer.own)
      while (!own.empty() && own.back().last_sequence > KnownUpto(journal_.applied(), stream))
        own.pop_back();
    std::erase_if(peer.own, [](const auto& entry) { return entry.second.empty(); });
  }
}

std::int64_t Gossip::NowMicros() const {
  return replica_.scheduler().MonotonicMicros();
}

void Gossip::Start() {
  Tick();
}

void Gossip::Tick() {
  replica_.scheduler().After(options_.interval_ms, [this, alive = alive_] {
    if (*alive) Tick();
  });
  // A block that cannot be read costs this round what rests on it, and nothing else.
  const bool prepared = Attempt([this] {
    GoOnWithAll();
    CloseWhatIsLost();
    CloseOwn();
    UpdateCover();
    if (!replica_.tables().dirty()) Prepare();
  });
  if (!prepared) digest_.reset();
  std::optional<BucketDigest> told;
  if (digest_ && digest_->as_of().sequence() <= KnownUpto(durable_, journal_.own()))
    told.swap(digest_);
  SendToAll(told ? &*told : nullptr);
  Attempt([this] { DropWhatAllHave(); });
}

void Gossip::Prepare() {
  if (!moment_) moment_ = {replica_.NowMillis() - 1, journal_.applied()};
  PrepareDigest();
}

void Gossip::PrepareDigest() {
  if (digest_ || NowMicros() < next_digest_us_ || MutationOn("lost-push")) return;
  next_digest_us_ = NowMicros() + options_.digest_interval_ms * 1000;
  next_bucket_ = (next_bucket_ + 1) & 0xff;
  BucketDigest& digest = digest_.emplace();
  digest.set_bucket(next_bucket_);
  // A clock that is ahead by the bound forgets no more than this leaves out, and has the bound once
  // more to hear of it.
  digest.set_cutoff_ms(replica_.NowMillis() - options_.grace_ms + options_.skew_bound_ms);
  digest.mutable_as_of()->set_origin(options_.region);
  digest.mutable_as_of()->set_incarnation(journal_.own().second);
  digest.mutable_as_of()->set_sequence(KnownUpto(journal_.applied(), journal_.own()));
  digest.set_digest(DigestOf(options_.region, next_bucket_, digest.cutoff_ms()));
}

// Fresh news goes out at once, one message for all that one sync made durable.
void Gossip::SayNow() {
  if (saying_) return;
  saying_ = true;
  replica_.scheduler().Post([this, alive = alive_] {
    if (!*alive) return;
    saying_ = false;
    said_changes_ = durable_changes_;
    SendToAll(nullptr);
  });
}

// What cannot be said to one of them is said in a later interval.
void Gossip::SendToAll(const BucketDigest* digest) {
  for (const auto& peer : peers_) Attempt([&] { SendTo(peer.first, digest); });
}

// A message is its fields one after the other, so it can be made in parts.
void Gossip::Send(const std::string& name, Peer& peer, GossipMessage& message) {
  for (const std::uint32_t bucket : peer.repair) message.add_repair_buckets(bucket);
  peer.repair.clear();
  std::string bytes = heading_;
  AppendStamp(replica_.NowMillis(), bytes);
  AppendVector(name, peer, bytes);
  if (message.ByteSizeLong() > 0) message.AppendToString(&bytes);
  transport_.Send(name, std::move(bytes));
}

void Gossip::AppendVector(const std::string& name, Peer& peer, std::string& bytes) {
  if (peer.told_at == MomentsOf(peer)) {
    bytes += peer.told;
    return;
  }
  vector_.Clear();
  bool words = false;
  for (const auto& [stream, sequence] : durable_) {
    Seen* seen = vector_.add_seen();
    seen->set_origin(stream.first);
    seen->set_incarnation(stream.second);
    seen->set_sequence(sequence);
    // The peer's own, and it does not say that it has so much: it gets its word.
    const auto* theirs = peer.acknowledged.Find(stream.first, stream.second);
    bool word = stream.first == name && (!theirs || theirs->second < sequence);
    if (stream.second == 0 && stream.first == options_.region) {
      seen->set_closes_after(journal_.closes_after());
      // Whoever closes them keeps our word.
      word = !EntriesUpto(durable_, stream.first, sequence).empty();
    }
    if (word) *seen->mutable_said() = journal_.EntryOf(stream).said();
    words |= word;
  }
  const std::size_t before = bytes.size();
  vector_.AppendToString(&bytes);
  if (words) return;  // they may be others the next time
  peer.told.assign(bytes, before);
  peer.told_at = MomentsOf(peer);
}

void Gossip::SendTo(const std::string& name, const BucketDigest* digest) {
  Peer& peer = peers_[name];
  said_.Clear();
  if (digest) *said_.mutable_digest() = *digest;
  if (transport_.Unsent(name) < options_.window_bytes)
    AddFrames(name, peer, said_);
  else
    Reached("a peer was held back because something was unsent");
  Send(name, peer, said_);
}

void Gossip::SendWhatIsLacking(const std::string& name) {
  if (transport_.Unsent(name) >= options_.window_bytes) return;
  Peer& peer = peers_[name];
  said_.Clear();
  AddFrames(name, peer, said_);
  said_.clear_baselines();  // they go with the next interval
  if (said_.frames_size() > 0) Send(name, peer, said_);
}

// What the peer lacks of each stream. Frames that were sent and brought no progress in time are
// sent again from where the peer says it is, a message at a time: several might overtake each other
// again, and a frame after a gap is worth nothing.
void Gossip::AddFrames(const std::string& name, Peer& peer, GossipMessage& message) {
  if (peer.lacks_nothing == MomentsOf(peer)) return;
  const std::int64_t now_us = NowMicros();
  std::size_t room = options_.window_bytes;
  for (const auto& [stream, have] : durable_) {
    const std::uint64_t acknowledged = KnownUpto(peer.acknowledged, stream);
    if (acknowledged >= have) {
      if (MutationOn("followed-for-ever")) continue;
      if (!peer.behind_since_us.empty()) peer.behind_since_us.erase(stream);
      if (!peer.sent.empty()) peer.sent.erase(stream);
      continue;
    }
    const auto [since, fresh] = peer.behind_since_us.try_emplace(stream, now_us);
    const bool own = stream.first == options_.region;
    if (!own && now_us - since->second < options_.relay_ms * 1000) continue;
    Sent& sent = peer.sent[stream];
    const bool late =
        now_us - sent.since_us > options_.resend_ms * 1000 && !MutationOn("never-sent-again");
    if (sent.sequence <= acknowledged || late)
      sent = {acknowledged, now_us,
              late ? std::max(sent.lost_upto, sent.sequence) : sent.lost_upto};
    else if (acknowledged < sent.lost_upto)
      continue;
    if (sent.sequence >= have) continue;
    std::vector<SealedFrame> frames = journal_.After(stream, sent.sequence, room);
    if (frames.empty() && !IsSilent(peer)) {
      if (own && now_us - since->second > options_.baseline_ms * 1000)
        OfferBaseline(stream, peer, message);
      // Nobody is behind in its own words for any other reason: no need to wait.
      if (stream.first == name) Return(stream, peer, message);
    }
    for (SealedFrame& sealed : frames) {
      if (sealed.last_sequence() > have) break;  // not durable yet
      sent.sequence = sealed.last_sequence();
      room -= std::min(room, sealed.ByteSizeLong());
      *message.add_frames() = std::move(sealed);
    }
    if (room == 0) break;
  }
  if (peer.behind_since_us.empty() && peer.sent.empty()) peer.lacks_nothing = MomentsOf(peer);
}

bool Gossip::IsSilent(const Peer& peer) const {
  return NowMicros() - peer.last_heard_us > 5 * options_.interval_ms * 1000;
}

std::uint64_t Gossip::DigestOf(const std::string& origin, std::uint32_t bucket,
                               std::int64_t cutoff_ms) {
  std::uint64_t digest = 0;
  replica_.tables().VisitSlots(
      static_cast<std::uint8_t>(bucket), [&](const std::string&, const Slot& slot) {
        for (const Claim& claim : slot.claims()) {
          if (claim.region() != origin || EndOf(claim) < cutoff_ms) continue;
          // Order does not matter, so the sum of well-mixed numbers will do.
          // One version may be two states after a region went on from an earlier one of its own.
          std::uint64_t mixed = 0xcbf29ce484222325u ^ claim.version();
          mixed = (mixed ^ static_cast<std::uint64_t>(claim.state())) * 0x100000001b3u;
          mixed = (mixed ^ claim.fence()) * 0x100000001b3u;
          for (const char c : claim.run_id())
            mixed = (mixed ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
          digest += mixed ^ mixed >> 29;
        }
      });
  return digest;
}

Gossip::PeerState Gossip::StateOf(const std::string& name) {
  const Peer& peer = peers_[name];
  const std::int64_t now_us = NowMicros();
  PeerState state;
  state.refused = peer.refused;
  state.ignored = peer.ignored;
  state.repaired = peer.repaired;
  state.streams = peer.sent.size() + peer.behind_since_us.size() + peer.own.size();
  std::int64_t age_us = 0;
  for (const auto& [stream, waiting] : peer.own) {
    state.unacknowledged += waiting.size();
    age_us = std::max(age_us, now_us - waiting.front().made_us);
  }
  const std::int64_t silent_us = now_us - peer.last_heard_us;
  if (silent_us > 2 * options_.interval_ms * 1000) age_us = std::max(age_us, silent_us);
  state.partition_seconds = static_cast<double>(age_us) / 1e6;
  return state;
}

}  // namespace once
