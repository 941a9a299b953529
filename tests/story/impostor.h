// A region's name and key in the wrong hands: says to the others whatever a story wants.
#pragma once

#include <string>

#include "replica/gossip/journal.h"
#include "replica/ledger/run_id.h"
#include "replica/storage/keys.h"
#include "tests/story/story.h"

namespace once {

/// Stands in for a region, whose own process is gone. It has that region's key and no other.
class Impostor {
 public:
  Impostor(Story& story, std::string region) : story_(story), region_(std::move(region)) {
    story_.cluster.Crash(region_);
    transport_ = std::make_unique<SimulatedTransport>(story_.cluster.network(), region_,
                                                      story_.cluster.time());
  }

  /// A success of this region that was begun and completed now.
  once::Claim Claim(std::uint64_t entropy = 7) {
    const std::int64_t now_ms = story_.cluster.replica("eu").NowMillis();
    once::Claim claim;
    claim.set_run_id(MintRunId(now_ms, region_, entropy));
    claim.set_region(region_);
    claim.set_version(2);
    claim.set_state(COMPLETED);
    claim.set_fingerprint("fingerprint");
    claim.set_created_ms(now_ms);
    claim.set_taken_up_ms(now_ms);
    claim.set_finalised_ms(now_ms);
    claim.set_expires_ms(now_ms + 3'600'000);
    return claim;
  }
  Frame FrameOf(const once::Claim& claim, const std::string& key) {
    Frame frame;
    frame.set_format(1);
    frame.set_origin(region_);
    frame.set_incarnation(77);
    frame.set_first_sequence(1);
    frame.set_stamp_ms(story_.cluster.replica("eu").NowMillis());
    Change* change = frame.add_changes();
    change->set_surface(CLAIM);
    change->set_tenant("acme");
    change->set_endpoint("POST /pay");
    change->set_key(key);
    *change->mutable_claim() = claim;
    return frame;
  }
  GossipMessage Message() {
    GossipMessage message;
    message.set_format(1);
    message.set_from(region_);
    message.set_stamp_ms(story_.cluster.replica("eu").NowMillis());
    return message;
  }
  /// One that forwards something which it still waits for.
  GossipMessage ForwardMessage() {
    GossipMessage message = Message();
    message.mutable_forward()->set_until_ms(message.stamp_ms() + 1000);
    return message;
  }
  SealedFrame Seal(const Frame& frame) {
    SealedFrame sealed;
    sealed.set_frame(frame.SerializeAsString());
    sealed.set_signature(Signature(
        SaidBytes({frame.origin(), frame.incarnation()}, LastSequence(frame), HashOf(sealed))));
    return sealed;
  }

  void Say(const std::string& to, const std::string& bytes) {
    transport_->Send(to, bytes);
    story_.Run(50);
  }
  void Say(const std::string& to, const GossipMessage& message) {
    Say(to, message.SerializeAsString());
  }
  void Say(const std::string& to, const Frame& frame) {
    GossipMessage message = Message();
    *message.add_frames() = Seal(frame);
    Say(to, message);
  }

 private:
  // What the simulated regions take for a signature.
  std::string Signature(const std::string& bytes) const {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const std::string* part : {&region_, &bytes})
      for (const char c : *part) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
    return keys::Big64(hash);
  }

  Story& story_;
  const std::string region_;
  std::unique_ptr<SimulatedTransport> transport_;
};

}  // namespace once
