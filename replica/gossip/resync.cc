// A peer that was away for longer than the journal reaches, or comes with an empty directory.
#include "replica/gossip/gossip.h"
#include "replica/ledger/command.pb.h"

namespace once {
namespace {

constexpr std::uint32_t kBuckets = 256;
constexpr std::uint32_t kBucketsPerTick = 4;  // bounds what one interval adds to the journal

}  // namespace

void Gossip::OfferBaseline(const Stream& stream, std::uint64_t acknowledged,
                           GossipMessage& message) {
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

// Only the origin may say so of its own streams; the transport knows who speaks.
void Gossip::TakeBaseline(const std::string& from, const Seen& baseline) {
  if (baseline.origin() != from) return Refuse(from);
  const Stream stream{baseline.origin(), baseline.incarnation()};
  const auto at = journal_.applied().find(stream);
  if (at != journal_.applied().end() && at->second >= baseline.sequence()) return;
  journal_.SkipTo(stream, baseline.sequence());
  replica_.Read([](Tables&) {}, [] {});
}

void Gossip::SayAgain() {
  for (std::uint32_t i = 0; i < kBucketsPerTick && again_bucket_ < kBuckets; ++i) {
    Command command;
    command.mutable_reassert()->set_bucket(again_bucket_++);
    replica_.Submit(std::move(command), [](const Answer&) {});
  }
}

}  // namespace once
