#include "tests/consensus/chaos.h"

#include <algorithm>

#include "tests/consensus/group.h"

namespace once {
namespace {

RaftOptions DrawOptions(Random& random) {
  RaftOptions options;
  options.election_ticks = 4 + static_cast<std::uint32_t>(random.Below(4));
  options.window_messages_max = 1 + static_cast<std::uint32_t>(random.Below(4));
  options.append_bytes_max = random.OneIn(2) ? 1 : 1 + random.Below(64);
  options.promotion_entries_max = random.Below(8);
  return options;
}

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed)
      : random_(seed), group_(seed, options_ = DrawOptions(random_)) {
    group_.sync_at_once = false;
    group_.Found({"a/1", "b/1", "c/1"});
    if (random_.OneIn(4)) group_.Join(left_out_ = "c/1");
    if (random_.OneIn(3)) regions_.resize(3);
    for (std::size_t i = 3; i < regions_.size(); ++i) group_.Join(regions_[i] + "/1");
    if (random_.OneIn(2)) group_.chunk_bytes = 100;
    empties_ = random_.OneIn(2);
    stormy_ = random_.OneIn(3);
    trouble_ = random_.Below(9);
    ticks_ = 20 + random_.Below(60);
  }

  std::string Run(int steps) {
    for (int i = 0; i < steps && group_.broken.empty(); ++i) Step();
    if (group_.broken.empty()) RunUntilWell();
    return group_.broken;
  }

  std::uint64_t Digest() {
    std::uint64_t digest = random_.Next();
    for (Group::Member* member : group_.Up())
      digest = digest * 31 + member->machine.digest + member->raft->term();
    return digest;
  }

 private:
  void Step() {
    const std::uint64_t dice = random_.Below(1000);
    if (dice < 580) return DeliverOne();
    if (dice < 800) return SyncOne();
    if (dice < 800 + ticks_) return TickOne();
    if (dice < 910) return ProposeOne();
    if (dice < 925) return ReadOne();
    if (dice < 940) return ChangeGroup();
    if (dice < 953) return Compact();
    // Swarm: each seed has its own kinds of trouble, so that no kind hides another.
    if (stormy_ && random_.OneIn(2)) return ChangeLeader();
    if (random_.Below(8) >= trouble_) return;
    if (dice < 990) return DisturbWire();
    DisturbMembers();
  }

  Group::Member& Any() {
    const auto up = group_.Up();
    return *up[random_.Below(up.size())];
  }

  void DeliverOne() {
    if (group_.wire.empty()) return;
    if (group_.wire.size() > 200) group_.wire.erase(group_.wire.begin(), group_.wire.begin() + 100);
    const std::size_t reach = random_.OneIn(4) ? group_.wire.size() : 1;
    group_.Deliver(random_.Below(reach));
  }

  void SyncOne() {
    Group::Member& member = Any();
    while (!member.writing.empty() && group_.broken.empty()) {
      group_.Sync(member.name);
      if (random_.OneIn(4)) return;
    }
  }

  void TickOne() { group_.Tick(Any().name); }

  // A caller goes to a leader, perhaps to one that does not know that it is deposed.
  Raft* SomeLeader() {
    std::vector<Raft*> leaders;
    for (Group::Member* member : group_.Up())
      if (member->raft->role() == RaftRole::kLeader) leaders.push_back(member->raft.get());
    return leaders.empty() ? nullptr : leaders[random_.Below(leaders.size())];
  }

  void ProposeOne() {
    if (Raft* leader = SomeLeader())
      group_.Propose(leader->name(), "p" + std::to_string(++proposals_));
  }

  void ReadOne() {
    if (Raft* leader = SomeLeader())
      group_.Read(leader->name(), "r" + std::to_string(++proposals_));
  }

  void DisturbWire() {
    if (random_.OneIn(10)) return group_.Heal();
    if (Raft* leader = SomeLeader(); leader && random_.OneIn(40))
      return group_.Isolate(leader->name());
    if (random_.OneIn(40)) return group_.Isolate(Any().name);
    if (random_.OneIn(40)) return group_.Cut(RegionOf(Any().name), RegionOf(Any().name));
    if (group_.wire.empty()) return;
    const std::size_t at = random_.Below(group_.wire.size());
    // Held back for long, and then perhaps delivered more than once.
    if (random_.OneIn(4)) held_.push_back(group_.wire[at]);
    if (!held_.empty() && random_.OneIn(4))
      group_.wire.push_back(held_[random_.Below(held_.size())]);
    if (random_.OneIn(2)) return void(group_.wire.erase(group_.wire.begin() + long(at)));
    group_.wire.push_back(group_.wire[at]);
  }

  void ChangeGroup() {
    using Kind = MembershipChange::Kind;
    Raft* leader = SomeLeader();
    if (!leader) return;
    const Membership members = leader->membership();
    const std::string who = Any().name;
    if (random_.OneIn(4)) return void(group_.Transfer(leader->name(), who));
    if (random_.OneIn(8)) return group_.GiveWay(leader->name());
    // A disk that is lost for good: the others are needed until its member is removed,
    // and no operator would promote it.
    if (!emptied_.empty() && IsMember(members, emptied_))
      return void(group_.Change(leader->name(), Kind::kRemove, emptied_));
    if (!members.learners().empty() && random_.OneIn(2))
      return void(group_.Change(leader->name(), Kind::kPromote, members.learners(0)));
    const bool may_shrink = AllFounded() && (members.voters_size() > 3 || random_.OneIn(4));
    if (IsMember(members, who) && may_shrink)
      return void(group_.Change(leader->name(), Kind::kRemove, who));
    group_.Change(leader->name(), Kind::kAddLearner, who);
  }

  void Compact() {
    Group::Member& member = Any();
    const std::uint64_t keep = random_.Below(4);
    if (member.machine.applied > keep) group_.Compact(member.name, member.machine.applied - keep);
  }

  void DisturbMembers() {
    const std::string region = regions_[random_.Below(regions_.size())];
    Group::Member& member = group_.At(region);
    if (!member.raft) return group_.Restart(region);
    if (group_.Up().size() == 1) return;
    if (empties_ && emptied_.empty() && random_.OneIn(4) && CanSpare(member.name)) {
      emptied_ = member.name;
      return group_.Join(region + "/2");
    }
    // Writes reach the disk in order, and some may have got there unnoticed.
    while (!member.writing.empty() && random_.OneIn(2)) group_.Sync(region);
    group_.Crash(region);
    if (random_.OneIn(2)) group_.Restart(region);
  }

  // The leader crashes and its messages are lost, or some of them, and another one is impatient.
  void ChangeLeader() {
    Raft* leader = SomeLeader();
    if (!leader) return group_.Tick(Any().name, static_cast<int>(options_.election_ticks));
    const std::string name = leader->name();
    std::erase_if(group_.wire, [&](const RaftMessage& message) {
      return message.from() == name && random_.OneIn(2);
    });
    group_.Crash(name);
    group_.Restart(name);
    for (Group::Member* member : group_.Up())
      group_.Tick(member->name, static_cast<int>(random_.Below(2 * options_.election_ticks)));
  }

  // A founder that was left out is as good as lost until the log has come to it.
  bool AllFounded() {
    if (left_out_.empty()) return true;
    const RaftState& disk = group_.At(left_out_).disk;
    return !disk.entries.empty() || disk.snapshot.index() > 0;
  }

  // By every membership that anyone holds, or may still be sent: without `name`, and with nobody
  // else lost, there is a majority.
  bool CanSpare(const std::string& name) {
    if (!AllFounded()) return false;
    const auto spares = [&](const Membership& held) {
      return !IsVoter(held, name) || held.voters_size() >= 3;
    };
    for (const std::string& region : regions_) {
      Group::Member& member = group_.At(region);
      const RaftLog log(member.disk.snapshot, member.disk.entries);
      if (!spares(log.membership())) return false;
      if (member.raft && !spares(member.raft->membership())) return false;
    }
    for (const auto* messages : {&group_.wire, &held_})
      for (const RaftMessage& message : *messages)
        for (const RaftEntry& entry : message.append().entries())
          if (entry.kind() == MEMBERSHIP && !spares(entry.membership())) return false;
    return true;
  }

  void RunUntilWell() {
    group_.Heal();
    group_.sync_at_once = true;
    for (const std::string& region : regions_) {
      Group::Member& member = group_.At(region);
      while (member.raft && !member.writing.empty()) group_.Sync(region);
      group_.Restart(region);
    }
    group_.wire.clear();
    for (std::uint32_t i = 0; i < 40 * options_.election_ticks && group_.broken.empty(); ++i) {
      group_.TickAll();
      group_.Settle();
      Raft* leader = group_.Leader();
      if (leader && i % 8 == 0) group_.Propose(leader->name(), "well");
      group_.Settle();
      if (leader && leader->role() == RaftRole::kLeader && IsWell(*leader)) return;
    }
    if (group_.broken.empty()) group_.broken = "the healed group does not work";
  }

  bool IsWell(const Raft& leader) {
    if (leader.commit() != leader.log().last_index() || leader.log().last_term() != leader.term())
      return false;
    for (Group::Member* member : group_.Up())
      if (IsMember(leader.membership(), member->name) && member->name != leader.name() &&
          member->machine.applied != leader.commit())
        return false;
    return true;
  }

  Random random_;
  RaftOptions options_;
  Group group_;
  std::vector<std::string> regions_ = {"a", "b", "c", "d", "e"};
  std::vector<RaftMessage> held_;
  bool empties_ = false;
  bool stormy_ = false;        // leaders do not live long
  std::uint64_t trouble_ = 0;  // of 8 occasions, so many are used
  std::uint64_t ticks_ = 0;    // of 1000 steps
  std::string emptied_;        // whose disk is lost for good
  std::string left_out_;       // of the founders
  int proposals_ = 0;
};

}  // namespace

std::string RunChaos(std::uint64_t seed, int steps, std::uint64_t* digest) {
  Chaos chaos(seed);
  std::string broken = chaos.Run(steps);
  if (digest) *digest = chaos.Digest();
  return broken;
}

}  // namespace once
