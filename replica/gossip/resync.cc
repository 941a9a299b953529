// Who comes back with less than it had: a peer that was away for longer than the journal reaches,
// or whose directory was emptied or restored from a backup.
#include <algorithm>

#include "replica/gossip/gossip.h"
#include "replica/ledger/command.pb.h"

namespace once {
namespace {

constexpr std::uint32_t kBuckets = 256;
constexpr std::uint32_t kBucketsPerTick = 4;  // bounds what one interval adds to the journal

}  // namespace

void Gossip::OfferBaseline(const Stream& stream, std::uint64_t acknowledged,
                           GossipMessage& message) {
  // It only has to hear that these are closed, and then closes them too.
  const bool closing = !EntriesUpto(durable_, stream.first, KnownUpto(durable_, stream)).empty();
  if (stream.second == 0 && closing && acknowledged == journal_.closes_after()) return;
  // What the journal still has is sent as it is; a peer that is further than it last said is not
  // moved by this.
  const std::uint64_t sequence = journal_.KeptFrom(stream) - 1;
  if (sequence <= acknowledged) return;
  Seen* baseline = message.add_baselines();
  baseline->set_origin(stream.first);
  baseline->set_incarnation(stream.second);
  baseline->set_sequence(sequence);
  // Once for all that lack something: a round that is under way would miss what it has passed.
  again_bucket_ = 0;
}

// Only the origin may say so of its own streams, or whoever gave ours back to us of ours; the
// transport knows who speaks.
void Gossip::TakeBaseline(const std::string& from, const Seen& baseline) {
  const Stream stream{baseline.origin(), baseline.incarnation()};
  const bool ours = stream.first == options_.region;
  if (!ours && stream.first != from) return Refuse(from);
  if (KnownUpto(journal_.applied(), stream) >= baseline.sequence()) return;
  const std::uint64_t upto = stream.second == 0 ? baseline.sequence() : stream.second;
  if (ours && upto >= journal_.own().second) return;
  if (stream.second == 0)
    journal_.Close(stream.first, baseline.sequence());
  else
    journal_.SkipTo(stream, baseline.sequence());
  replica_.Read([](Tables&) {}, [] {});
}

void Gossip::HearOfOurselves(const std::string& from, const Vector& heard) {
  const std::uint64_t present = journal_.own().second;
  std::uint64_t highest = KnownUpto(heard, {options_.region, 0});
  for (const auto& [stream, sequence] : EntriesUpto(heard, options_.region, UINT64_MAX))
    if (stream.second != present) highest = std::max(highest, stream.second);
  if (highest < present) return;
  // Our clock was behind when we started, on a directory that did not know better. What we said
  // since may pass for something old, so it is said again under a number that is above all.
  const auto latest_ms =
      static_cast<std::uint64_t>(replica_.NowMillis() + options_.skew_bound_ms + 1);
  if (highest >> kIncarnationShift > latest_ms) return Refuse(from);
  journal_.Reincarnate(highest + 1);
  digest_.reset();
  again_bucket_ = 0;
}

void Gossip::Return(const Stream& stream, std::uint64_t acknowledged, Peer& peer,
                    GossipMessage& message) {
  if (!peer.give_back) {
    peer.give_back = std::make_shared<GiveBack>();
    peer.give_back->held = EntriesUpto(durable_, stream.first, UINT64_MAX);
    peer.give_back->held[{stream.first, 0}] = KnownUpto(durable_, {stream.first, 0});
  }
  const GiveBack& back = *peer.give_back;
  const std::uint64_t sequence =
      std::min(KnownUpto(back.held, stream), journal_.KeptFrom(stream) - 1);
  if (!back.last_said || sequence <= acknowledged ||
      KnownUpto(peer.acknowledged, *back.last_said) < back.last_sequence)
    return;
  Seen* baseline = message.add_baselines();
  baseline->set_origin(stream.first);
  baseline->set_incarnation(stream.second);
  baseline->set_sequence(sequence);
}

void Gossip::SayBack(const std::string& name, Peer& peer) {
  const std::shared_ptr<GiveBack> back = peer.give_back;
  if (!back || back->under_way) return;
  if (std::all_of(back->held.begin(), back->held.end(), [&peer](const auto& known) {
        return KnownUpto(peer.acknowledged, known.first) >= known.second;
      }))
    return peer.give_back.reset();
  if (back->last_said) return;
  back->under_way = true;
  for (std::uint32_t i = 1; i <= kBucketsPerTick && peer.give_back == back; ++i) {
    Command command;
    command.mutable_reassert()->set_bucket(back->next_bucket++);
    command.mutable_reassert()->set_region(name);
    const bool last = i == kBucketsPerTick;
    replica_.Submit(command, [this, &peer, back, last, alive = alive_](const Answer& answer) {
      if (!*alive || peer.give_back != back) return;
      if (answer.kind != Answer::Kind::kDone) return peer.give_back.reset();
      if (!last) return;
      back->under_way = false;
      if (back->next_bucket < kBuckets) return;
      back->last_said = journal_.own();
      back->last_sequence = KnownUpto(durable_, journal_.own());
    });
  }
}

void Gossip::SayAgain() {
  for (std::uint32_t i = 0; i < kBucketsPerTick && again_bucket_ < kBuckets; ++i) {
    Command command;
    command.mutable_reassert()->set_bucket(again_bucket_++);
    replica_.Submit(command, [](const Answer&) {});
  }
}

}  // namespace once
