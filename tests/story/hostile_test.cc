// Stories of a region that lies: what it says wrongly is refused and counted, it is held off for a
// while, and nobody else notices.
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/story/impostor.h"

namespace once {
namespace {

class Hostile : public testing::Test {
 protected:
  /// `say` is refused by eu, counted once, and the speaker is not listened to for a while.
  void ExpectRefused(const std::function<void()>& say) {
    const std::uint64_t before = Refused();
    std::vector<std::string> told;
    story_.cluster.gossip("eu").on_refused = [&told](const std::string& peer) {
      told.push_back(peer);
    };
    say();
    EXPECT_EQ(Refused(), before + 1);
    EXPECT_EQ(told, std::vector<std::string>{"ap"}) << "for the log";
    story_.cluster.gossip("eu").on_refused = nullptr;
    // Held off: even the truth is not heard now ...
    ap_.Say("eu", ap_.FrameOf(ap_.Claim(1), "held-off"));
    EXPECT_EQ(story_.SlotIn("eu", "held-off"), nullptr);
    EXPECT_EQ(Refused(), before + 1);
    // ... while others are.
    const std::string key = "meanwhile" + std::to_string(before);
    const std::string run = story_.Claim("us", key);
    story_.Run(100);
    EXPECT_EQ(story_.Begin("eu", key).claim.run_id(), run);
    EXPECT_EQ(story_.cluster.gossip("eu").StateOf("us").refused, 0u);
    story_.Run(story_.cluster.options().gossip.hold_off_ms);
  }
  std::uint64_t Refused() { return story_.cluster.gossip("eu").StateOf("ap").refused; }
  void ExpectFrameRefused(const Frame& frame, const std::string& key) {
    ExpectRefused([&] { ap_.Say("eu", frame); });
    EXPECT_EQ(story_.SlotIn("eu", key), nullptr);
  }

  Story story_;
  Impostor ap_{story_, "ap"};
};

TEST_F(Hostile, TheTruthIsHeard) {
  const Claim claim = ap_.Claim();
  ap_.Say("eu", ap_.FrameOf(claim, "k1"));
  EXPECT_EQ(Refused(), 0u);
  EXPECT_EQ(story_.Begin("eu", "k1").claim.run_id(), claim.run_id());
}

TEST_F(Hostile, S_15_APeerThatAnswersWithAnotherRegionsNameIsRefused) {
  ExpectRefused([&] {
    GossipMessage message = ap_.Message();
    message.set_from("us");
    ap_.Say("eu", message);
  });
}

TEST_F(Hostile, S_57_ClaimsOfAnotherRegionCannotBeAsserted) {
  Claim claim = ap_.Claim();
  claim.set_region("us");
  ExpectFrameRefused(ap_.FrameOf(claim, "k1"), "k1");
  Frame frame = ap_.FrameOf(claim, "k2");
  frame.set_origin("us");  // signed with ap's key
  ExpectFrameRefused(frame, "k2");
  claim.set_run_id(MintRunId(claim.created_ms(), "us", 7));
  ExpectFrameRefused(ap_.FrameOf(claim, "k3"), "k3");
  claim = ap_.Claim();
  claim.set_run_id(MintRunId(claim.created_ms(), "us", 7));
  ExpectFrameRefused(ap_.FrameOf(claim, "k4"), "k4");
}

TEST_F(Hostile, S_57_RunsOfAnotherRegionCannotBeAsserted) {
  const std::string run_id = story_.Run("us", "k1", "delay");
  story_.Run(100);
  once::Run run = story_.RunIn("eu", run_id);
  ASSERT_EQ(run.region(), "us");
  run.set_version(1000);
  run.set_status(RUN_CANCELLED);
  const auto frame = [&] {
    Frame changed = ap_.FrameOf(ap_.Claim(), "k1");
    changed.mutable_changes(0)->Clear();
    *changed.mutable_changes(0)->mutable_run() = run;
    return changed;
  };
  ExpectRefused([&] { ap_.Say("eu", frame()); });
  run.set_region("ap");
  ExpectRefused([&] { ap_.Say("eu", frame()); });
  // Nor does a run of its own carry another region's claim along.
  Claim claim = ap_.Claim();
  run.set_run_id(claim.run_id());
  claim.set_region("us");
  Frame both = ap_.FrameOf(claim, "k2");
  *both.mutable_changes(0)->mutable_run() = run;
  ExpectFrameRefused(both, "k2");
  EXPECT_EQ(story_.RunIn("eu", run_id).status(), RUNNING);
}

TEST_F(Hostile, S_57_ARunIdChosenToAlwaysWinIsRefused) {
  Claim claim = ap_.Claim();
  claim.set_run_id(std::string(26, '0'));
  ExpectFrameRefused(ap_.FrameOf(claim, "k1"), "k1");
  claim.set_run_id(MintRunId(1, "ap", 7));  // older than the claim says it is
  ExpectFrameRefused(ap_.FrameOf(claim, "k2"), "k2");
  claim.set_run_id("");
  ExpectFrameRefused(ap_.FrameOf(claim, "k3"), "k3");
}

TEST_F(Hostile, S_57_ABadSignatureIsRefused) {
  ExpectRefused([&] {
    GossipMessage message = ap_.Message();
    SealedFrame sealed = ap_.Seal(ap_.FrameOf(ap_.Claim(), "k1"));
    sealed.mutable_signature()->back() ^= 1;
    *message.add_frames() = sealed;
    ap_.Say("eu", message);
  });
  EXPECT_EQ(story_.SlotIn("eu", "k1"), nullptr);
}

TEST_F(Hostile, S_57_WhoIsNoMemberIsNotHeard) {
  SimulatedTransport stranger(story_.cluster.network(), "xx", story_.cluster.time());
  GossipMessage message = ap_.Message();
  message.set_from("xx");
  *message.add_frames() = ap_.Seal(ap_.FrameOf(ap_.Claim(), "k1"));
  stranger.Send("eu", message.SerializeAsString());
  story_.Run(50);
  EXPECT_EQ(story_.SlotIn("eu", "k1"), nullptr);
  EXPECT_EQ(Refused(), 0u);
}

TEST_F(Hostile, S_58_WhatComesFromTheFutureIsRefused) {
  const std::int64_t beyond_ms = story_.cluster.options().gossip.skew_bound_ms + 500;
  std::int64_t told_ms = 0;
  story_.cluster.gossip("eu").on_future = [&](const std::string& peer, std::int64_t ahead_ms) {
    EXPECT_EQ(peer, "ap");
    told_ms = ahead_ms;
  };
  ExpectRefused([&] {
    GossipMessage message = ap_.Message();
    message.set_stamp_ms(message.stamp_ms() + beyond_ms);
    ap_.Say("eu", message);
  });
  EXPECT_GT(told_ms, story_.cluster.options().gossip.skew_bound_ms) << "the operator hears of it";
  Frame frame = ap_.FrameOf(ap_.Claim(), "k1");
  frame.set_stamp_ms(frame.stamp_ms() + beyond_ms);
  ExpectFrameRefused(frame, "k1");
  Claim claim = ap_.Claim();
  claim.set_created_ms(claim.created_ms() + beyond_ms);
  claim.set_run_id(MintRunId(claim.created_ms(), "ap", 7));
  ExpectFrameRefused(ap_.FrameOf(claim, "k2"), "k2");
  claim = ap_.Claim();
  claim.set_finalised_ms(claim.finalised_ms() + beyond_ms);
  ExpectFrameRefused(ap_.FrameOf(claim, "k3"), "k3");
}

TEST_F(Hostile, S_58_GarbageIsRefused) {
  ExpectRefused([&] { ap_.Say("eu", std::string("\xff\xff\xff\xff not a message")); });
  ExpectRefused([&] {
    const std::string whole = ap_.Message().SerializeAsString();
    ap_.Say("eu", whole.substr(0, whole.size() - 1));
  });
  ExpectRefused([&] { ap_.Say("eu", std::string()); });
  ExpectRefused([&] {
    GossipMessage message = ap_.Message();
    message.add_frames()->set_frame("\xff\xff garbage");
    ap_.Say("eu", message);
  });
  ExpectRefused([&] {
    GossipMessage message = ap_.ForwardMessage();
    message.mutable_forward()->set_command("\xff\xff garbage");
    ap_.Say("eu", message);
  });
  Frame empty = ap_.FrameOf(ap_.Claim(), "k1");
  empty.clear_changes();
  ExpectRefused([&] { ap_.Say("eu", empty); });
}

TEST_F(Hostile, S_58_HugeIsRefused) {
  ExpectRefused([&] {
    ap_.Say("eu", std::string(story_.cluster.options().gossip.message_bytes_max + 1, 'x'));
  });
  Frame frame = ap_.FrameOf(ap_.Claim(), "k1");
  while (frame.changes_size() <= static_cast<int>(kFrameChangesMax))
    *frame.add_changes() = frame.changes(0);
  ExpectFrameRefused(frame, "k1");
}

TEST_F(Hostile, S_58_OnlyCommandsAboutRunsAreCarriedOutForOthers) {
  ExpectRefused([&] {
    GossipMessage message = ap_.ForwardMessage();
    Command command;
    *command.mutable_merge_frame()->mutable_frame() = ap_.FrameOf(ap_.Claim(), "k1");
    message.mutable_forward()->set_command(command.SerializeAsString());
    ap_.Say("eu", message);
  });
  EXPECT_EQ(story_.SlotIn("eu", "k1"), nullptr);
}

TEST_F(Hostile, S_57_ARunFromBeforeTimeBeganIsRefused) {
  Frame frame = ap_.FrameOf(ap_.Claim(), "k1");
  Change& change = *frame.mutable_changes(0);
  change.Clear();
  change.mutable_run()->set_run_id("");  // whose time reads as -1
  change.mutable_run()->set_region("ap");
  change.mutable_run()->set_created_ms(-1);
  ExpectRefused([&] { ap_.Say("eu", frame); });
  Claim claim = ap_.Claim();
  claim.set_run_id("");
  claim.set_created_ms(-1);
  ExpectFrameRefused(ap_.FrameOf(claim, "k1"), "k1");
}

TEST_F(Hostile, S_58_ALeaseWithoutEndIsRefused) {
  Claim claim = ap_.Claim();
  claim.set_state(PENDING);
  claim.set_lease_until_ms(std::numeric_limits<std::int64_t>::max());
  ExpectFrameRefused(ap_.FrameOf(claim, "k1"), "k1");
}

TEST_F(Hostile, S_58_SequencesThatRunOverAreRefused) {
  Frame frame = ap_.FrameOf(ap_.Claim(), "k1");
  ap_.Say("eu", frame);
  frame = ap_.FrameOf(ap_.Claim(8), "k2");
  frame.set_first_sequence(std::numeric_limits<std::uint64_t>::max());
  *frame.add_changes() = frame.changes(0);
  ap_.Say("eu", frame);
  EXPECT_EQ(story_.SlotIn("eu", "k2"), nullptr);
}

TEST_F(Hostile, S_58_MoreRepairsThanThereArePartsAreRefused) {
  const std::string ours = story_.Claim("eu", "ours");
  ExpectRefused([&] {
    GossipMessage message = ap_.Message();
    for (std::uint32_t bucket = 0; bucket < 257; ++bucket) message.add_repair_buckets(bucket % 256);
    ap_.Say("eu", message);
  });
  GossipMessage message = ap_.Message();
  message.add_repair_buckets(256);  // there is none of that number
  const auto before = story_.cluster.gossip("eu").journal().applied();
  ap_.Say("eu", message);
  EXPECT_EQ(story_.cluster.gossip("eu").journal().applied(), before);
}

TEST_F(Hostile, S_58_ACommandForASlotThatIsNotItsOwnIsNotCarriedOut) {
  const std::string run = story_.Run("eu", "k1", "delay");
  const auto forward = [&](const std::function<void(Mutation&)>& bend) {
    Command command = Story::CancelCommand(run);
    Mutation& mutation = *command.mutable_mutation();
    *mutation.mutable_begin() = BeginCommand("acme", "cancel", 1, 1000, 60'000).begin();
    bend(mutation);
    GossipMessage message = ap_.ForwardMessage();
    message.mutable_forward()->set_command(command.SerializeAsString());
    ap_.Say("eu", message);
  };
  ExpectRefused([&] {
    forward([](Mutation& mutation) {
      mutation.mutable_begin()->mutable_slot()->set_hash(SlotKey(ROUTE, "other", "POST /pay", "k"));
    });
  });
  ExpectRefused([&] { forward([](Mutation& mutation) { mutation.set_tenant("other"); }); });
  ExpectRefused([&] { forward([](Mutation& mutation) { mutation.set_admitted_fence(1); }); });
  EXPECT_EQ(story_.RunIn("eu", run).status(), RUNNING);
  forward([](Mutation&) {});
  EXPECT_EQ(story_.RunIn("eu", run).status(), RUN_CANCELLED);
}

TEST_F(Hostile, AFrameOfAnUnknownRegionIsIgnoredAndItsRelayHeard) {
  Frame frame = ap_.FrameOf(ap_.Claim(), "k1");
  frame.set_origin("sa");  // being added; ap knows it already
  ap_.Say("eu", frame);
  EXPECT_EQ(Refused(), 0u);
  EXPECT_EQ(story_.cluster.gossip("eu").StateOf("ap").ignored, 1u);
  EXPECT_EQ(story_.SlotIn("eu", "k1"), nullptr);
  const Claim claim = ap_.Claim();
  ap_.Say("eu", ap_.FrameOf(claim, "k2"));
  EXPECT_EQ(story_.Begin("eu", "k2").claim.run_id(), claim.run_id());
}

TEST_F(Hostile, S_57_WhatIsGivenBackIsForItsHomeAlone) {
  Claim claim = ap_.Claim();
  claim.set_region("us");
  claim.set_run_id(MintRunId(claim.created_ms(), "us", 7));
  Frame frame = ap_.FrameOf(claim, "k1");
  frame.set_home("us");
  ap_.Say("eu", frame);
  EXPECT_EQ(Refused(), 0u);
  EXPECT_EQ(story_.SlotIn("eu", "k1"), nullptr) << "not from a third region";
  *frame.add_changes() = ap_.FrameOf(ap_.Claim(), "k2").changes(0);
  frame.set_first_sequence(2);
  ExpectFrameRefused(frame, "k2");
}

TEST_F(Hostile, S_57_ARegionThatLostNothingTakesNothingBack) {
  story_.Claim("eu", "k1");
  story_.Run(500);
  const Journal& journal = story_.cluster.gossip("eu").journal();
  const Seen had = story_.cluster.gossip("us").journal().EntryOf(journal.own());
  ASSERT_EQ(had.sequence(), KnownUpto(journal.applied(), journal.own()));
  Seen more = had;  // as if it had said more than it signed
  more.set_sequence(had.sequence() + 1);
  Seen forged = more;
  forged.mutable_said()->set_sequence(more.sequence());
  Seen earlier = had;  // a stream that it does not know
  earlier.set_incarnation(had.incarnation() - 1);
  Claim claim = ap_.Claim();
  claim.set_region("eu");
  claim.set_run_id(MintRunId(claim.created_ms(), "eu", 7));
  Frame frame = ap_.FrameOf(claim, "planted");
  frame.set_home("eu");
  for (const Seen& held : {had, more, forged, earlier}) *frame.add_held() = held;
  GossipMessage message = ap_.Message();
  *message.add_frames() = ap_.Seal(frame);
  *message.add_baselines() = earlier;
  ap_.Say("eu", message);
  EXPECT_EQ(Refused(), 0u);
  EXPECT_EQ(story_.cluster.gossip("eu").StateOf("ap").ignored, 1u);
  EXPECT_EQ(story_.SlotIn("eu", "planted"), nullptr);
  EXPECT_EQ(KnownUpto(journal.applied(), {"eu", earlier.incarnation()}), 0u);
  EXPECT_EQ(KnownUpto(journal.applied(), {"ap", frame.incarnation()}), 1u)
      << "heard, and passed on";
}

TEST_F(Hostile, S_58_AFloorFromTheFutureIsRefused) {
  ExpectRefused([&] {
    GossipMessage message = ap_.Message();
    Seen* seen = message.add_seen();
    seen->set_origin("eu");
    seen->set_sequence(std::numeric_limits<std::uint64_t>::max());
    ap_.Say("eu", message);
  });
}

TEST_F(Hostile, S_39_ARunIdUsedTwiceIsOneClaimAndTheSameEverywhere) {
  const Claim first = ap_.Claim();
  Claim second = first;
  second.set_fingerprint("another");
  ap_.Say("eu", ap_.FrameOf(first, "k1"));
  ap_.Say("us", ap_.FrameOf(second, "k1"));  // under the same number: eu and us differ
  Frame again = ap_.FrameOf(second, "k1");
  again.set_first_sequence(2);
  ap_.Say("eu", again);
  again = ap_.FrameOf(first, "k1");
  again.set_first_sequence(2);
  ap_.Say("us", again);
  for (const char* region : {"eu", "us"}) {
    const Slot* slot = story_.SlotIn(region, "k1");
    ASSERT_NE(slot, nullptr);
    ASSERT_EQ(slot->claims_size(), 1);
    EXPECT_EQ(slot->claims(0).fingerprint(), "another") << "the lower one, whoever came first";
  }
  EXPECT_EQ(story_.ConflictsCountedIn({"eu", "us"}), 0u);
  for (const char* region : {"eu", "us"}) {
    ASSERT_EQ(story_.Listed(region).size(), 1u) << region;
    const Conflict evidence = story_.Listed(region)[0];
    EXPECT_EQ(evidence.kind(), RUN_ID_COLLISION);
    EXPECT_EQ(evidence.region(), "ap");
    EXPECT_EQ(evidence.loser(), first.run_id());
    ASSERT_EQ(evidence.fingerprints_size(), 2);
    EXPECT_EQ(std::set({evidence.fingerprints(0), evidence.fingerprints(1)}),
              std::set({first.fingerprint(), second.fingerprint()}));
  }
}

TEST_F(Hostile, S_39_ARegionThatCollidesWithoutEndFillsNoDisk) {
  std::uint64_t sequence = 1;
  for (std::uint64_t i = 0; i < 1100; ++i) {
    Claim claim = ap_.Claim(i);
    for (const char* fingerprint : {"one", "two", "three"}) {
      claim.set_fingerprint(fingerprint);
      Frame frame = ap_.FrameOf(claim, "k" + std::to_string(i));
      frame.set_first_sequence(sequence++);
      ap_.Say("eu", frame);
    }
  }
  EXPECT_EQ(story_.Listed("eu").size(), 1000u) << "each run id once, and no more than that";
  EXPECT_EQ(Refused(), 0u);
}

TEST_F(Hostile, S_57_ConflictsOfAnotherRegionCannotBeAsserted) {
  const Claim claim = ap_.Claim();
  const auto frame = [&](const std::function<void(Conflict&)>& change) {
    Frame said = ap_.FrameOf(claim, "k1");
    Conflict& conflict = *said.mutable_changes(0)->mutable_conflict();
    conflict.set_loser(claim.run_id());
    conflict.set_region("ap");
    change(conflict);
    return said;
  };
  ExpectFrameRefused(frame([](Conflict& conflict) { conflict.set_region("us"); }), "k1");
  ExpectFrameRefused(frame([](Conflict& conflict) { conflict.set_loser("another"); }), "k1");
  ExpectFrameRefused(frame([](Conflict& conflict) { conflict.set_kind(RUN_ID_COLLISION); }), "k1");
  ExpectFrameRefused(frame([](Conflict& conflict) { conflict.set_detected_ms(INT64_MAX); }), "k1");
  EXPECT_EQ(story_.Listed("eu").size(), 0u);
  ap_.Say("eu", frame([](Conflict&) {}));
  EXPECT_EQ(story_.Listed("eu").size(), 1u);
}

TEST_F(Hostile, S_31_UnknownFieldsOfANewerRegionSurviveAnOlderRelay) {
  story_.cluster.Partition({"ap"}, {"us"});
  Claim claim = ap_.Claim();
  claim.GetReflection()->MutableUnknownFields(&claim)->AddLengthDelimited(1000, "from tomorrow");
  Frame frame = ap_.FrameOf(claim, "k1");
  frame.GetReflection()->MutableUnknownFields(&frame)->AddVarint(1001, 42);
  const std::string said = frame.SerializeAsString();
  bool relayed = false;
  story_.cluster.network().on_deliver = [&](const std::string& from, const std::string& to,
                                            const std::string& bytes) {
    GossipMessage message;
    if (from != "eu" || to != "us" || !message.ParseFromString(bytes)) return;
    for (const SealedFrame& sealed : message.frames()) relayed |= sealed.frame() == said;
  };
  ap_.Say("eu", frame);
  story_.Run(2000);
  EXPECT_TRUE(relayed) << "byte for byte, or the signature would not hold";
  story_.cluster.Crash("us");
  story_.cluster.Restart("us");
  const Slot* slot = story_.SlotIn("us", "k1");
  ASSERT_NE(slot, nullptr);
  const auto& unknown = slot->claims(0).GetReflection()->GetUnknownFields(slot->claims(0));
  ASSERT_EQ(unknown.field_count(), 1);
  EXPECT_EQ(unknown.field(0).length_delimited(), "from tomorrow") << "on disk too";
}

TEST_F(Hostile, S_31_AMessageAndAFrameOfAHigherFormatAreHeededForWhatIsKnownOfThem) {
  Frame frame = ap_.FrameOf(ap_.Claim(), "k1");
  frame.set_format(2);
  GossipMessage message = ap_.Message();
  message.set_format(2);
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(1002, "news");
  *message.add_frames() = ap_.Seal(frame);
  ap_.Say("eu", message);
  story_.Run(1000);
  EXPECT_NE(story_.SlotIn("eu", "k1"), nullptr);
  EXPECT_NE(story_.SlotIn("us", "k1"), nullptr) << "relayed";
  EXPECT_EQ(story_.cluster.gossip("eu").StateOf("ap").refused, 0u);
  EXPECT_EQ(story_.cluster.gossip("us").StateOf("eu").refused, 0u);
}

TEST_F(Hostile, S_57_ARelayIsNotBlamedForWhatAnotherRegionSigned) {
  Impostor us(story_, "us");
  Frame frame = ap_.FrameOf(ap_.Claim(), "k1");
  frame.set_stamp_ms(frame.stamp_ms() + 2 * story_.cluster.options().gossip.skew_bound_ms);
  GossipMessage relayed = us.Message();
  *relayed.add_frames() = ap_.Seal(frame);
  us.Say("eu", relayed);
  EXPECT_EQ(story_.SlotIn("eu", "k1"), nullptr);
  EXPECT_EQ(Refused(), 1u) << "ap signed it";
  EXPECT_EQ(story_.cluster.gossip("eu").StateOf("us").refused, 0u);
  EXPECT_EQ(story_.cluster.gossip("eu").StateOf("us").ignored, 1u);
  us.Say("eu", us.FrameOf(us.Claim(), "k2"));
  EXPECT_NE(story_.SlotIn("eu", "k2"), nullptr) << "us is heard all the same";
}

TEST_F(Hostile, S_57_OnlyTheHomeThatWasAskedAnswersAForwardedCommand) {
  story_.cluster.network().Cut("us", "eu");
  std::optional<Answer> answer;
  ForwardRequest request;
  request.set_command(Story::CancelCommand("run").SerializeAsString());
  story_.cluster.gossip("us").Forward("eu", request, 2000, [&](const Answer& a) { answer = a; });
  GossipMessage forged = ap_.Message();
  forged.mutable_forwarded()->set_id(1);
  forged.mutable_forwarded()->set_incarnation(story_.cluster.gossip("us").journal().own().second);
  forged.mutable_forwarded()->mutable_outcome()->set_status(200);
  ap_.Say("us", forged);
  EXPECT_FALSE(answer.has_value());
  EXPECT_EQ(story_.cluster.gossip("us").StateOf("ap").refused, 1u);
  story_.Run(2000);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->kind, Answer::Kind::kUnavailable);
}

}  // namespace
}  // namespace once
