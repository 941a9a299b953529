#include "replica/gossip/gossip.h"

#include <algorithm>

#include "replica/ledger/run_id.h"

namespace once {
namespace {

constexpr std::uint32_t kMessageFormat = 1;
constexpr std::size_t kUnacknowledgedMax = 4096;

std::uint64_t At(const Vector& vector, const Stream& stream) {
  const auto at = vector.find(stream);
  return at == vector.end() ? 0 : at->second;
}

void Put(GossipMessage& message, const Vector& vector) {
  for (const auto& [stream, sequence] : vector) {
    Seen* seen = message.add_seen();
    seen->set_origin(stream.first);
    seen->set_incarnation(stream.second);
    seen->set_sequence(sequence);
  }
}

// The run id says that it was made in that region.
bool IsOf(const std::string& region, std::string_view run_id) {
  return RunIdMillis(run_id) >= 0 && run_id.substr(10, 4) == RegionCode(region);
}

// A region may speak of its own claims and runs only, and a run id says when and where it was made:
// otherwise "the lowest wins" would be an attack.
bool IsHonest(const Frame& frame, std::int64_t latest_ms) {
  if (frame.changes_size() > static_cast<int>(kFrameChangesMax) || frame.first_sequence() == 0 ||
      frame.stamp_ms() > latest_ms)
    return false;
  return std::all_of(frame.changes().begin(), frame.changes().end(), [&](const Change& change) {
    if (change.has_run() == change.has_claim()) return false;
    if (change.has_run())
      return change.run().region() == frame.origin() && IsOf(frame.origin(), change.run().run_id());
    const Claim& claim = change.claim();
    return claim.region() == frame.origin() && claim.created_ms() <= latest_ms &&
           claim.taken_up_ms() <= latest_ms && claim.finalised_ms() <= latest_ms &&
           RunIdMillis(claim.run_id()) == claim.created_ms() &&
           IsOf(frame.origin(), claim.run_id());
  });
}

}  // namespace

Gossip::Gossip(Replica& replica, Transport& transport, GossipOptions options,
               std::uint64_t incarnation, Sign sign, Verify verify)
    : replica_(replica),
      transport_(transport),
      options_(std::move(options)),
      verify_(std::move(verify)),
      journal_(replica.tables(), options_.region, incarnation, std::move(sign)),
      durable_(journal_.applied()) {
  for (const std::string& name : options_.peers) peers_[name].last_heard_us = NowMicros();
  journal_.on_frame = [this](std::uint64_t last_sequence, std::int64_t) {
    // Beyond a bound the last entry stands for more frames: its age is then said too high, not too
    // low.
    for (auto& [name, peer] : peers_) {
      if (peer.own.size() < kUnacknowledgedMax)
        peer.own.push_back({last_sequence, NowMicros()});
      else
        peer.own.back().last_sequence = last_sequence;
    }
  };
  replica_.tables().SetShipper(
      [this](const Tables::Shipment& shipment) {
        journal_.Ship(shipment);
        flushed_ = journal_.applied();
      },
      [this] { journal_.Reload(); });
  replica_.SetDurableListener([this] {
    durable_ = flushed_;
    SayNow();
  });
  transport_.SetReceiver(
      [this](const std::string& from, std::string bytes) { Receive(from, bytes); });
}

Gossip::~Gossip() {
  *alive_ = false;
}

std::int64_t Gossip::NowMicros() const {
  return replica_.scheduler().MonotonicMicros();
}

void Gossip::Start() {
  Tick();
}

void Gossip::Tick() {
  const std::int64_t now_us = NowMicros();
  BucketDigest digest;
  const bool compare = now_us >= next_digest_us_;
  if (compare) {
    next_digest_us_ = now_us + options_.digest_interval_ms * 1000;
    next_bucket_ = (next_bucket_ + 1) & 0xff;
    digest.set_bucket(next_bucket_);
    digest.set_cutoff_ms(replica_.NowMillis());
    digest.mutable_as_of()->set_origin(options_.region);
    digest.mutable_as_of()->set_incarnation(journal_.own().second);
    digest.mutable_as_of()->set_sequence(At(durable_, journal_.own()));
    digest.set_digest(DigestOf(options_.region, next_bucket_, digest.cutoff_ms()));
  }
  // Comparable only when all that the digest covers may be told.
  const bool settled = At(durable_, journal_.own()) == At(journal_.applied(), journal_.own());
  for (const auto& [name, peer] : peers_)
    SendTo(name, true, compare && settled ? &digest : nullptr);
  DropWhatAllHave();
  replica_.scheduler().After(options_.interval_ms, [this, alive = alive_] {
    if (*alive) Tick();
  });
}

// Fresh news goes out at once, one message for all that one sync made durable.
void Gossip::SayNow() {
  if (saying_) return;
  saying_ = true;
  replica_.scheduler().Post([this, alive = alive_] {
    if (!*alive) return;
    saying_ = false;
    for (const auto& [name, peer] : peers_) SendTo(name, true);
  });
}

void Gossip::SendTo(const std::string& name, bool with_frames, const BucketDigest* digest) {
  Peer& peer = peers_[name];
  GossipMessage message;
  message.set_format(kMessageFormat);
  message.set_from(options_.region);
  message.set_stamp_ms(replica_.NowMillis());
  Put(message, durable_);
  if (digest) *message.mutable_digest() = *digest;
  for (const std::uint32_t bucket : peer.repair) message.add_repair_buckets(bucket);
  peer.repair.clear();
  if (with_frames && transport_.Unsent(name) < options_.window_bytes) AddFrames(peer, message);
  transport_.Send(name, message.SerializeAsString());
}

// What the peer lacks of each stream. Frames that were sent and not acknowledged in time are sent
// again from where the peer says it is.
void Gossip::AddFrames(Peer& peer, GossipMessage& message) {
  const std::int64_t now_us = NowMicros();
  if (now_us - peer.last_send_us > options_.resend_ms * 1000) peer.sent = peer.acknowledged;
  std::size_t room = options_.window_bytes;
  for (const auto& [stream, have] : durable_) {
    const std::uint64_t known = std::max(At(peer.acknowledged, stream), At(peer.sent, stream));
    if (At(peer.acknowledged, stream) >= have) {
      peer.behind_since_us.erase(stream);
      continue;
    }
    const auto [since, fresh] = peer.behind_since_us.try_emplace(stream, now_us);
    const bool own = stream.first == options_.region;
    if (known >= have || (!own && now_us - since->second < options_.relay_ms * 1000)) continue;
    for (SealedFrame& sealed : journal_.After(stream, known, room)) {
      Frame frame;
      frame.ParseFromString(sealed.frame());
      const std::uint64_t last =
          frame.first_sequence() + static_cast<std::uint64_t>(frame.changes_size()) - 1;
      if (last > have) break;  // not durable yet
      peer.sent[stream] = last;
      peer.last_send_us = now_us;
      room -= std::min(room, sealed.ByteSizeLong());
      *message.add_frames() = std::move(sealed);
    }
    if (room == 0) break;
  }
}

void Gossip::Refuse(const std::string& name) {
  Peer& peer = peers_[name];
  ++peer.refused;
  peer.held_off_until_us = NowMicros() + options_.hold_off_ms * 1000;
}

bool Gossip::Accept(const std::string& from, const GossipMessage& message) {
  if (message.format() == 0 || message.from() != from) return false;
  const std::int64_t ahead_ms = message.stamp_ms() - replica_.NowMillis();
  if (ahead_ms <= options_.skew_bound_ms) return true;
  if (on_future) on_future(from, ahead_ms);
  return false;
}

void Gossip::Receive(const std::string& from, const std::string& bytes) {
  const auto at = peers_.find(from);
  if (at == peers_.end() || NowMicros() < at->second.held_off_until_us) return;
  GossipMessage message;
  if (bytes.size() > options_.message_bytes_max || !message.ParseFromString(bytes) ||
      !Accept(from, message))
    return Refuse(from);
  if (message.has_forward()) return CarryOut(from, message.forward());
  if (message.has_forwarded()) return TakeReply(message.forwarded());
  Hear(at->second, from, message);
  for (const SealedFrame& sealed : message.frames()) Take(from, sealed);
  if (message.has_digest()) CompareDigest(from, message.digest());
  for (const std::uint32_t bucket : message.repair_buckets()) {
    if (bucket > 0xff) continue;
    Command command;
    command.mutable_reassert()->set_bucket(bucket);
    replica_.Submit(std::move(command), [](const Answer&) {});
  }
}

// The peer's vector is the acknowledgement. It is taken as it is: a peer that was restored from a
// backup truly has less than before.
void Gossip::Hear(Peer& peer, const std::string& name, const GossipMessage& message) {
  const std::int64_t now_us = NowMicros();
  peer.last_heard_us = now_us;
  Vector heard;
  for (const Seen& seen : message.seen())
    heard[{seen.origin(), seen.incarnation()}] = seen.sequence();
  // Messages overtake each other: an older vector of the same peer must not undo a newer one.
  bool older = false;
  for (const auto& [stream, sequence] : peer.acknowledged) older |= At(heard, stream) < sequence;
  if (!older || now_us - peer.last_send_us > options_.resend_ms * 1000)
    peer.acknowledged = std::move(heard);
  const std::uint64_t own = At(peer.acknowledged, journal_.own());
  while (!peer.own.empty() && peer.own.front().last_sequence <= own) {
    if (on_lag) on_lag(name, (now_us - peer.own.front().made_us) / 1000);
    peer.own.pop_front();
  }
  bool behind = false;
  for (const auto& [stream, have] : durable_)
    behind |= std::max(At(peer.acknowledged, stream), At(peer.sent, stream)) < have;
  if (behind) SayNow();
}

void Gossip::Take(const std::string& from, const SealedFrame& sealed) {
  Frame frame;
  if (!frame.ParseFromString(sealed.frame()) || frame.changes_size() == 0) return Refuse(from);
  // Our own words come back through others, and repetitions are common: neither is worth a look.
  if (frame.origin() == options_.region || !journal_.IsNext(frame)) return;
  const std::int64_t latest_ms = replica_.NowMillis() + options_.skew_bound_ms;
  if (!peers_.count(frame.origin()) ||
      !verify_(frame.origin(), sealed.frame(), sealed.signature()) || !IsHonest(frame, latest_ms))
    return Refuse(from);
  Command command;
  *command.mutable_merge_frame()->mutable_frame() = frame;
  const auto merged = std::make_shared<bool>(true);
  replica_.Submit(std::move(command), [merged](const Answer& answer) {
    if (answer.kind != Answer::Kind::kDone) *merged = false;
  });
  if (*merged) journal_.Keep(frame, sealed);
}

void Gossip::CompareDigest(const std::string& from, const BucketDigest& theirs) {
  const Stream stream{from, theirs.as_of().incarnation()};
  if (theirs.as_of().origin() != from || theirs.bucket() > 0xff) return Refuse(from);
  if (At(durable_, stream) != theirs.as_of().sequence()) return;
  if (DigestOf(from, theirs.bucket(), theirs.cutoff_ms()) != theirs.digest())
    peers_[from].repair.insert(theirs.bucket());
}

std::uint64_t Gossip::DigestOf(const std::string& origin, std::uint32_t bucket,
                               std::int64_t cutoff_ms) {
  std::uint64_t digest = 0;
  replica_.tables().VisitSlots(
      static_cast<std::uint8_t>(bucket), [&](const std::string&, const Slot& slot) {
        for (const Claim& claim : slot.claims()) {
          if (claim.region() != origin || claim.expires_ms() < cutoff_ms) continue;
          // Order does not matter, so the sum of well-mixed numbers will do.
          std::uint64_t mixed = 0xcbf29ce484222325u ^ claim.version();
          for (const char c : claim.run_id())
            mixed = (mixed ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
          digest += mixed ^ mixed >> 29;
        }
      });
  return digest;
}

void Gossip::DropWhatAllHave() {
  for (const auto& [stream, have] : durable_) {
    std::uint64_t everywhere = have;
    for (const auto& [name, peer] : peers_)
      everywhere =
          std::min(everywhere, name == stream.first ? have : At(peer.acknowledged, stream));
    if (everywhere > 0) journal_.DropUpto(stream, everywhere);
  }
}

Gossip::PeerState Gossip::StateOf(const std::string& name) {
  const Peer& peer = peers_[name];
  const std::int64_t now_us = NowMicros();
  PeerState state;
  state.unacknowledged = peer.own.size();
  state.refused = peer.refused;
  std::int64_t age_us = 0;
  if (!peer.own.empty()) age_us = now_us - peer.own.front().made_us;
  const std::int64_t silent_us = now_us - peer.last_heard_us;
  if (silent_us > 2 * options_.interval_ms * 1000) age_us = std::max(age_us, silent_us);
  state.partition_seconds = static_cast<double>(age_us) / 1e6;
  return state;
}

}  // namespace once
