// What disks hold, right and in every way wrong that the watch of disks, and the checks of records
// and of forgetting, must find.
#include "simulator/disk_watch.h"

#include "simulator/oracle.h"
#include "tests/story/story.h"

namespace once {
namespace {

using Got = Answer::Kind;

ClusterOptions ShortLived() {
  ClusterOptions options;
  options.retention_ms = 4000;
  options.forget_grace_ms = 3000;
  return options;
}

class Disks : public testing::Test {
 protected:
  explicit Disks(const ClusterOptions& options = ShortLived()) : story_(options) {}
  std::string Said() {
    std::string said;
    for (const Violation& violation : std::exchange(found_, {}))
      said += violation.checker + ": " + violation.what + "\n";
    return said;
  }
  static std::string KeyOf(const std::string& name) {
    return keys::Slot(BeginCommand("acme", name, 1, 1, 1).begin().slot().hash());
  }
  Slot Read(const std::string& region, const std::string& name) {
    Slot slot;
    slot.ParseFromString(story_.cluster.disk(region).Durable(KeyOf(name)).value_or(""));
    return slot;
  }
  /// While the region is down. No value: erased.
  void Write(const std::string& region, const std::string& key,
             const std::optional<std::string>& value) {
    MemoryStore store(story_.cluster.disk(region), story_.cluster.time());
    KvBatch batch;
    value ? batch.Put(key, *value) : batch.Delete(key);
    store.Write(std::move(batch));
    store.Sync([](KvStatus) {});
    story_.Run(1);
  }
  /// us lets a run of its own execute the key now, whatever it has heard.
  void LetExecute(const std::string& name, const std::string& run_id, std::uint64_t fence) {
    const std::int64_t now_ms = story_.cluster.replica("us").NowMillis();
    story_.cluster.Crash("us");
    Slot slot = Read("us", name);
    Claim claim;
    for (const Claim& held : slot.claims())
      if (held.run_id() == run_id) claim = held;
    claim.set_run_id(run_id);
    claim.set_region("us");
    claim.set_state(PENDING);
    claim.set_taken_up_ms(now_ms);
    claim.set_fence(fence);
    *slot.add_claims() = claim;
    Write("us", KeyOf(name), slot.SerializeAsString());
  }

  Story story_;
  Violations found_;
  DiskWatch watch_{story_.cluster, [this](const Violations& found) {
                     found_.insert(found_.end(), found.begin(), found.end());
                   }};
};

TEST_F(Disks, AKeyThatIsWorkedOnElsewhereIsExecutedWhenItsLeaseAndTheBoundAreOver) {
  const Answer owned = story_.Begin("eu", "k1");
  story_.Run(story_.cluster.options().lease_ms + 500);
  EXPECT_EQ(story_.Begin("us", "k1").kind, Got::kInFlight);
  story_.Run(600);
  EXPECT_EQ(story_.Begin("us", "k1").kind, Got::kExecute);
  story_.Run(1000);
  EXPECT_EQ(Said(), "");
}

TEST_F(Disks, WhoeverExecutesBesideAHeardLeaseIsFound) {
  const Answer owned = story_.Begin("eu", "k1");
  story_.Run(1000);
  LetExecute("k1", "R", 7);
  const std::string said = Said();
  EXPECT_TRUE(said.starts_with("heard-lease: us acme/k1 let run R execute ")) << said;
  EXPECT_NE(said.find("of eu's run " + owned.claim.run_id()), std::string::npos) << said;
}

TEST_F(Disks, ALeaseCountsAsItWasRenewed) {
  const Answer owned = story_.Begin("eu", "k1");
  Command renew;
  renew.mutable_renew()->set_tenant("acme");
  renew.mutable_renew()->set_hash(owned.hash);
  renew.mutable_renew()->set_run_id(owned.claim.run_id());
  renew.mutable_renew()->set_fence(owned.claim.fence());
  renew.mutable_renew()->set_lease_ms(60'000);
  EXPECT_EQ(story_.Do("eu", renew).kind, Got::kDone);
  story_.Run(10'000);
  EXPECT_EQ(story_.Begin("us", "k1").kind, Got::kInFlight);
  LetExecute("k1", "R", 7);
  EXPECT_TRUE(Said().starts_with("heard-lease: "));
}

TEST_F(Disks, AKeyThatWasReleasedElsewhereIsFree) {
  const Answer owned = story_.Begin("eu", "k1");
  Command release = Story::CompleteCommand(owned);
  release.mutable_settle()->set_state(RELEASED);
  release.mutable_settle()->clear_outcome();
  EXPECT_EQ(story_.Do("eu", release).kind, Got::kDone);
  story_.Run(500);
  EXPECT_EQ(story_.Begin("us", "k1").kind, Got::kExecute);
  story_.Run(500);
  EXPECT_EQ(Said(), "");
}

TEST_F(Disks, AFenceThatDoesNotRiseIsFound) {
  const Answer owned = story_.Begin("us", "k1");
  story_.Run(500);
  LetExecute("k1", owned.claim.run_id(), owned.claim.fence() - 1);
  EXPECT_TRUE(Said().starts_with("claim-fences: us acme/k1 gave run " + owned.claim.run_id()));
}

TEST_F(Disks, WhatIsForgottenInTimeIsNotFound) {
  story_.Claim("eu", "k1");
  story_.Run(20'000);
  EXPECT_EQ(story_.SlotIn("eu", "k1"), nullptr);
  EXPECT_EQ(Said(), "");
  EXPECT_TRUE(CheckForgotten(story_.cluster).empty());
}

TEST_F(Disks, WhatIsForgottenEarlyOrBeforeAllHaveHeardOfItIsFound) {
  story_.cluster.Partition({"ap"}, {"eu", "us"});
  story_.Claim("eu", "k1");
  story_.Run(500);
  story_.cluster.Crash("eu");
  Write("eu", KeyOf("k1"), std::nullopt);
  const std::string said = Said();
  EXPECT_NE(said.find(" ms early\n"), std::string::npos) << said;
  EXPECT_NE(said.find(", of which ap has not heard\n"), std::string::npos) << said;
}

TEST_F(Disks, AHeadThatCountsOtherwiseIsFound) {
  story_.Claim("eu", "k1");
  story_.Run(500);
  story_.cluster.Crash("eu");
  Head head;
  head.ParseFromString(story_.cluster.disk("eu").Durable(keys::Head()).value());
  head.set_slots(2);
  head.set_slot_bytes(head.slot_bytes() + 5);
  Write("eu", keys::Head(), head.SerializeAsString());
  const std::string said = Said();
  EXPECT_NE(said.find("eu counts 2 slots and has 1\n"), std::string::npos) << said;
  EXPECT_NE(said.find(" bytes of slots and has "), std::string::npos) << said;
}

TEST_F(Disks, WhatIsOverAndStaysIsFound) {
  story_.Claim("eu", "k1");
  story_.Run(500);
  story_.cluster.Crash("eu");
  Slot slot = Read("eu", "k1");
  slot.set_key("k2");
  Write("eu", KeyOf("k2"), slot.SerializeAsString());  // in no index
  story_.cluster.Restart("eu");
  story_.Run(30'000);
  std::string said;
  for (const Violation& violation : CheckForgotten(story_.cluster)) said += violation.what + "\n";
  EXPECT_TRUE(said.starts_with("eu keeps acme/k2, which might have gone ")) << said;
  EXPECT_NE(said.find("eu would not find acme/k2 when it is over\n"), std::string::npos) << said;
  EXPECT_NE(said.find("eu indexes 0 slots and has 1\n"), std::string::npos) << said;
}

ClusterOptions TwoSlots() {
  ClusterOptions options;
  options.regions = {"us"};
  options.slots_max = 2;
  options.forget_grace_ms = 0;
  options.evict_oldest = true;
  return options;
}

class FullDisks : public Disks {
 protected:
  FullDisks() : Disks(TwoSlots()) {
    for (const char* key : {"k1", "k2", "k3"}) {
      story_.Claim("us", key);
      story_.Run(100);
    }
  }
  /// A slot that us wrote by itself.
  std::string SlotOf(const std::string& name) {
    Slot slot = Read("us", "k3");
    slot.set_key(name);
    slot.mutable_claims(0)->set_run_id("R-" + name);
    return slot.SerializeAsString();
  }
};

TEST_F(FullDisks, WhatAFullStoreLetsGoIsAnEviction) {
  EXPECT_EQ(Said(), "");
  ASSERT_EQ(watch_.evictions().size(), 1u);
  EXPECT_EQ(watch_.evictions()[0].key, "k1");
}

TEST_F(FullDisks, WhatGoesWhileNothingIsAddedIsNone) {
  story_.cluster.Crash("us");
  Write("us", KeyOf("k2"), std::nullopt);
  const std::string said = Said();
  EXPECT_TRUE(said.starts_with("forgetting: us acme/k2 forgot run ")) << said;
  EXPECT_EQ(watch_.evictions().size(), 1u);
}

TEST_F(FullDisks, WhatIsAddedWithoutRoomIsFound) {
  story_.cluster.Crash("us");
  MemoryStore store(story_.cluster.disk("us"), story_.cluster.time());
  KvBatch batch;
  batch.Put(KeyOf("k4"), SlotOf("k4"));
  batch.Put(keys::Head(), story_.cluster.disk("us").Durable(keys::Head()).value());
  store.Write(std::move(batch));
  store.Sync([](KvStatus) {});
  story_.Run(1);
  const std::string said = Said();
  EXPECT_TRUE(
      said.starts_with("sizes: us let its callers add 1 slots beside 2 where 2 are allowed\n"))
      << said;
}

Slot OneClaim(const std::string& region, const std::string& run_id, std::size_t bytes) {
  Slot slot;
  slot.set_key(std::string(bytes, 'k'));
  slot.add_claims()->set_run_id(run_id);
  slot.mutable_claims(0)->set_region(region);
  return slot;
}

TEST(RoomOfSync, WhatOthersAdmittedIsKeptBesides) {
  const ClusterOptions bounds = TwoSlots();
  RoomOfSync others(2, 100);
  others.Change({}, OneClaim("eu", "A", 9), false);
  EXPECT_EQ(others.AddedBeyond(bounds), "");
  RoomOfSync both = others;
  both.Change({}, OneClaim("us", "B", 9), true);
  EXPECT_EQ(both.AddedBeyond(bounds), "1 slots beside 2 where 2 are allowed");
}

TEST(RoomOfSync, ASlotThatGoesMakesRoomForAnother) {
  const ClusterOptions bounds = TwoSlots();
  RoomOfSync room(2, 100);
  EXPECT_FALSE(room.MayHaveBeenFull(bounds));
  room.Change(OneClaim("us", "A", 9), {}, false);
  EXPECT_FALSE(room.MayHaveBeenFull(bounds)) << "nothing came";
  room.Change({}, OneClaim("us", "B", 9), true);
  EXPECT_TRUE(room.MayHaveBeenFull(bounds));
  EXPECT_EQ(room.AddedBeyond(bounds), "");
  RoomOfSync unseen(0, 0);
  unseen.Change({}, {}, false);
  EXPECT_TRUE(unseen.MayHaveBeenFull(bounds)) << "so many may have come and gone";
}

TEST(RoomOfSync, BytesAreBoundedToo) {
  ClusterOptions bounds;
  bounds.slot_bytes_max = 100;
  RoomOfSync room(2, 100);
  Slot grown = OneClaim("eu", "A", 9);
  room.Change(grown, grown, false);
  EXPECT_EQ(room.AddedBeyond(bounds), "");
  room.Change({}, OneClaim("us", "B", 9), true);
  EXPECT_EQ(room.AddedBeyond(bounds), "") << "the other one may have been smaller";
  RoomOfSync full(2, 100);
  full.Change({}, OneClaim("us", "B", 9), true);
  EXPECT_EQ(full.AddedBeyond(bounds), "a claim to slots of 100 bytes where 100 are allowed");
}

TEST_F(Disks, WhatIsNotSyncedIsNotDurable) {
  MemoryDisk disk;
  std::vector<std::string> durable;
  disk.on_durable = [&](const std::vector<std::string>& keys) {
    durable.insert(durable.end(), keys.begin(), keys.end());
  };
  MemoryStore store(disk, story_.cluster.time());
  for (const char* value : {"one", "two"}) {
    KvBatch batch;
    batch.Put("k", value);
    store.Write(std::move(batch));
    if (value[0] == 'o') store.Sync([](KvStatus) {});
  }
  EXPECT_EQ(disk.Durable("k"), std::nullopt);
  story_.Run(1);
  EXPECT_EQ(disk.Durable("k"), "one");
  EXPECT_EQ(durable, std::vector<std::string>{"k"});
  EXPECT_EQ(disk.visible().at("k"), "two");
}

}  // namespace
}  // namespace once
