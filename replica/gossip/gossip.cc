#include "replica/gossip/gossip.h"

#include <algorithm>

#include "conflict/mutation.h"
#include "replica/ledger/run_id.h"
#include "replica/limits.h"

namespace once {
namespace {

constexpr std::uint32_t kMessageFormat = 1;
constexpr int kBuckets = 256;
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

// A region may speak of its own claims and runs only, and a run id says when and where it was made:
// otherwise "the lowest wins" would be an attack.
bool IsHonest(const Frame& frame, std::int64_t latest_ms) {
  if (frame.changes_size() > static_cast<int>(kFrameChangesMax) || frame.first_sequence() == 0 ||
      frame.stamp_ms() > latest_ms)
    return false;
  const std::string code = RegionCode(frame.origin());
  const auto minted_there = [&](const std::string& run_id, std::int64_t created_ms) {
    return created_ms >= 0 && created_ms <= latest_ms && RunIdMillis(run_id) == created_ms &&
           run_id.compare(10, code.size(), code) == 0;
  };
  return std::all_of(frame.changes().begin(), frame.changes().end(), [&](const Change& change) {
    if (change.has_run() == change.has_claim()) return false;
    const Run& run = change.run();
    if (change.has_run())
      return run.region() == frame.origin() && minted_there(run.run_id(), run.created_ms());
    const Claim& claim = change.claim();
    return claim.region() == frame.origin() && claim.taken_up_ms() <= latest_ms &&
           claim.lease_until_ms() <= latest_ms + kLeaseMsMax && claim.finalised_ms() <= latest_ms &&
           minted_there(claim.run_id(), claim.created_ms());
  });
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
        if (MutationOn("told-before-durable")) durable_ = flushed_;
        PrepareDigest();
      },
      [this] { Undo(); });
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
  const std::uint64_t last = At(journal_.applied(), journal_.own());
  for (auto& [name, peer] : peers_) {
    std::deque<Unacknowledged>& own = peer.own[journal_.own()];
    while (!own.empty() && own.back().last_sequence > last) own.pop_back();
    if (own.empty()) peer.own.erase(journal_.own());
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
  // A block that cannot be read costs this round, not the node.
  try {
    SayAgain();
    if (!replica_.tables().dirty()) PrepareDigest();
    const bool tell = digest_ && digest_->as_of().sequence() <= At(durable_, journal_.own());
    for (const auto& [name, peer] : peers_) SendTo(name, tell ? &*digest_ : nullptr);
    if (tell) digest_.reset();
    DropWhatAllHave();
  } catch (const KvUnreadable&) {
    digest_.reset();
  }
}

// Only while all that was applied is in frames does a digest stand for a place in the stream.
void Gossip::PrepareDigest() {
  if (digest_ || NowMicros() < next_digest_us_ || MutationOn("lost-push")) return;
  next_digest_us_ = NowMicros() + options_.digest_interval_ms * 1000;
  next_bucket_ = (next_bucket_ + 1) & 0xff;
  BucketDigest& digest = digest_.emplace();
  digest.set_bucket(next_bucket_);
  digest.set_cutoff_ms(replica_.NowMillis());
  digest.mutable_as_of()->set_origin(options_.region);
  digest.mutable_as_of()->set_incarnation(journal_.own().second);
  digest.mutable_as_of()->set_sequence(At(journal_.applied(), journal_.own()));
  digest.set_digest(DigestOf(options_.region, next_bucket_, digest.cutoff_ms()));
}

// Fresh news goes out at once, one message for all that one sync made durable.
void Gossip::SayNow() {
  if (saying_) return;
  saying_ = true;
  replica_.scheduler().Post([this, alive = alive_] {
    if (!*alive) return;
    saying_ = false;
    try {
      for (const auto& [name, peer] : peers_) SendTo(name);
    } catch (const KvUnreadable&) {
      // The next interval says it.
    }
  });
}

GossipMessage Gossip::Compose(Peer& peer) {
  GossipMessage message;
  message.set_format(kMessageFormat);
  message.set_from(options_.region);
  message.set_stamp_ms(replica_.NowMillis());
  Put(message, durable_);
  for (const std::uint32_t bucket : peer.repair) message.add_repair_buckets(bucket);
  peer.repair.clear();
  return message;
}

void Gossip::SendTo(const std::string& name, const BucketDigest* digest) {
  Peer& peer = peers_[name];
  GossipMessage message = Compose(peer);
  if (digest) *message.mutable_digest() = *digest;
  if (transport_.Unsent(name) < options_.window_bytes) AddFrames(peer, message);
  transport_.Send(name, message.SerializeAsString());
}

void Gossip::SendWhatIsLacking(const std::string& name) {
  if (transport_.Unsent(name) >= options_.window_bytes) return;
  Peer& peer = peers_[name];
  GossipMessage frames;
  AddFrames(peer, frames);
  if (frames.frames_size() == 0) return;
  GossipMessage message = Compose(peer);
  message.mutable_frames()->Swap(frames.mutable_frames());
  transport_.Send(name, message.SerializeAsString());
}

// What the peer lacks of each stream. Frames that were sent and brought no progress in time are
// sent again from where the peer says it is.
void Gossip::AddFrames(Peer& peer, GossipMessage& message) {
  const std::int64_t now_us = NowMicros();
  std::size_t room = options_.window_bytes;
  for (const auto& [stream, have] : durable_) {
    const std::uint64_t acknowledged = At(peer.acknowledged, stream);
    if (acknowledged >= have) {
      peer.behind_since_us.erase(stream);
      peer.sent.erase(stream);
      continue;
    }
    const auto [since, fresh] = peer.behind_since_us.try_emplace(stream, now_us);
    const bool own = stream.first == options_.region;
    if (!own && now_us - since->second < options_.relay_ms * 1000) continue;
    Sent& sent = peer.sent[stream];
    if (sent.sequence <= acknowledged ||
        (now_us - sent.since_us > options_.resend_ms * 1000 && !MutationOn("never-sent-again")))
      sent = {acknowledged, now_us};
    if (sent.sequence >= have) continue;
    std::vector<SealedFrame> frames = journal_.After(stream, sent.sequence, room);
    if (frames.empty() && own && !IsSilent(peer) &&
        now_us - since->second > options_.baseline_ms * 1000)
      OfferBaseline(stream, acknowledged, message);
    for (SealedFrame& sealed : frames) {
      Frame frame;
      frame.ParseFromString(sealed.frame());
      const std::uint64_t last =
          frame.first_sequence() + static_cast<std::uint64_t>(frame.changes_size()) - 1;
      if (last > have) break;  // not durable yet
      sent.sequence = last;
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
  try {
    Heed(at->second, from, message);
  } catch (const KvUnreadable&) {
    // Not acknowledged, so it comes again.
  }
}

void Gossip::Heed(Peer& peer, const std::string& from, const GossipMessage& message) {
  if (message.repair_buckets_size() > kBuckets) return Refuse(from);
  Hear(peer, from, message);
  for (const Seen& baseline : message.baselines()) TakeBaseline(from, baseline);
  for (const SealedFrame& sealed : message.frames()) Take(from, sealed);
  if (message.has_digest()) CompareDigest(from, message);
  for (const std::uint32_t bucket : message.repair_buckets()) {
    if (bucket > 0xff) continue;
    Command command;
    command.mutable_reassert()->set_bucket(bucket);
    replica_.Submit(std::move(command), [](const Answer&) {});
  }
}

bool Gossip::IsSilent(const Peer& peer) const {
  return NowMicros() - peer.last_heard_us > 5 * options_.interval_ms * 1000;
}

void Gossip::Hear(Peer& peer, const std::string& name, const GossipMessage& message) {
  // What was sent into a silence is most likely lost: go on from what the peer says it has.
  // What it lacked before counts from now on, too: it may have got it from somebody else.
  if (IsSilent(peer)) {
    peer.sent.clear();
    peer.behind_since_us.clear();
  }
  peer.last_heard_us = NowMicros();
  Vector heard;
  for (const Seen& seen : message.seen())
    heard[{seen.origin(), seen.incarnation()}] = seen.sequence();
  Acknowledge(peer, name, std::move(heard));
  SendWhatIsLacking(name);
}

// The peer's vector is the acknowledgement. Messages overtake each other, so one that says less
// than an earlier one is passed over; a peer that goes on saying less was restored from a backup
// and truly has less.
void Gossip::Acknowledge(Peer& peer, const std::string& name, Vector heard) {
  const std::int64_t now_us = NowMicros();
  bool less = false;
  for (const auto& [stream, sequence] : peer.acknowledged) less |= At(heard, stream) < sequence;
  if (!less) peer.behind_us = 0;
  if (less && peer.behind_us == 0) peer.behind_us = now_us;
  if (less && now_us - peer.behind_us < 2 * options_.resend_ms * 1000) return;
  for (auto& [stream, sent] : peer.sent)
    if (At(heard, stream) > At(peer.acknowledged, stream)) sent.since_us = now_us;
  peer.acknowledged = std::move(heard);
  for (auto own = peer.own.begin(); own != peer.own.end();) {
    auto& [stream, waiting] = *own;
    while (!waiting.empty() && waiting.front().last_sequence <= At(peer.acknowledged, stream)) {
      if (on_lag) on_lag(name, (now_us - waiting.front().made_us) / 1000);
      waiting.pop_front();
    }
    own = waiting.empty() ? peer.own.erase(own) : std::next(own);
  }
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
  // Also a frame that changes no claim moves the vector: that alone is worth a batch.
  replica_.tables().TouchHead();
  const auto merged = std::make_shared<bool>(true);
  replica_.Submit(std::move(command), [merged](const Answer& answer) {
    if (answer.kind != Answer::Kind::kDone) *merged = false;
  });
  if (*merged) journal_.Keep(frame, sealed);
}

void Gossip::CompareDigest(const std::string& from, const GossipMessage& message) {
  const BucketDigest& theirs = message.digest();
  if (theirs.as_of().origin() != from || theirs.bucket() > 0xff) return Refuse(from);
  // Comparable only by one who knows exactly what it had said by then, in all its incarnations.
  Vector then;
  for (const Seen& seen : message.seen())
    if (seen.origin() == from) then[{from, seen.incarnation()}] = seen.sequence();
  then[{from, theirs.as_of().incarnation()}] = theirs.as_of().sequence();
  for (const auto& [stream, sequence] : then)
    if (At(journal_.applied(), stream) != sequence) return;
  for (const auto& [stream, sequence] : journal_.applied())
    if (stream.first == from && At(then, stream) != sequence) return;
  if (DigestOf(from, theirs.bucket(), theirs.cutoff_ms()) == theirs.digest()) return;
  Peer& peer = peers_[from];
  peer.repair.insert(theirs.bucket());
  ++peer.repaired;
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
    // Beyond the bound a peer that comes back hears everything again instead.
    if (have > options_.journal_changes_max)
      everywhere = std::max(everywhere, have - options_.journal_changes_max);
    if (everywhere > 0) journal_.DropUpto(stream, everywhere);
  }
}

Gossip::PeerState Gossip::StateOf(const std::string& name) {
  const Peer& peer = peers_[name];
  const std::int64_t now_us = NowMicros();
  PeerState state;
  state.refused = peer.refused;
  state.repaired = peer.repaired;
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
