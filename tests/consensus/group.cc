#include "tests/consensus/group.h"

#include <algorithm>

#include "replica/env/check.h"

namespace once {
void Machine::Apply(const RaftEntry& entry) {
  Check(entry.index() == applied + 1, "entries are applied in order, once");
  applied = entry.index();
  std::string text = entry.data() + std::to_string(entry.kind()) + std::to_string(entry.term());
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
}

std::string Machine::Save() const {
  return std::to_string(applied) + " " + std::to_string(digest);
}

Machine Machine::Load(const std::string& saved) {
  const std::size_t space = saved.find(' ');
  Check(space != std::string::npos, "a saved machine is whole");
  return {std::stoull(saved.substr(0, space)), std::stoull(saved.substr(space + 1))};
}

Group::Group(std::uint64_t seed, RaftOptions options) : seed_(seed), options_(options) {}

void Group::Found(const std::vector<std::string>& voters,
                  const std::vector<std::string>& learners) {
  Membership founders;
  for (const auto& name : voters) founders.add_voters(name);
  for (const auto& name : learners) founders.add_learners(name);
  for (const auto* names : {&voters, &learners})
    for (const std::string& name : *names) StartWith(name, BootstrapState(founders));
}

void Group::Join(const std::string& name) {
  StartWith(name, {});
}

void Group::StartWith(const std::string& name, RaftState disk) {
  auto& member = members_[RegionOf(name)];
  if (member) invariants.Restarted(member->name);
  member = std::make_unique<Member>(seed_ * 1000 + members_.size());
  member->name = name;
  member->disk_machine.applied = disk.applied;
  member->disk = std::move(disk);
  Start(*member);
}

void Group::Start(Member& member) {
  member.writing.clear();
  member.staged.clear();
  member.open_snapshots.clear();
  member.applied.clear();
  member.reads.clear();
  member.machine = member.disk_machine;
  member.raft = std::make_unique<Raft>(member.name, options_, member.disk, member.random);
  invariants.Restarted(member.name);
  TakeWork(member);
}

Group::Member& Group::At(const std::string& name) {
  return *members_.at(RegionOf(name));
}

std::vector<Group::Member*> Group::Up() {
  std::vector<Member*> up;
  for (auto& [region, member] : members_)
    if (member->raft) up.push_back(member.get());
  return up;
}

Raft* Group::Leader() {
  Raft* leader = nullptr;
  for (Member* member : Up())
    if (member->raft->role() == RaftRole::kLeader &&
        (!leader || member->raft->term() > leader->term()))
      leader = member->raft.get();
  return leader;
}

void Group::Tick(const std::string& name, int times) {
  for (int i = 0; i < times; ++i) {
    At(name).raft->Tick();
    TakeWork(At(name));
  }
}

void Group::TickAll(int times) {
  for (int i = 0; i < times; ++i)
    for (Member* member : Up()) Tick(member->name);
}

RaftVerdict Group::Propose(const std::string& name, const std::string& data) {
  RaftVerdict verdict = At(name).raft->Propose(data);
  TakeWork(At(name));
  return verdict;
}

RaftVerdict Group::Read(const std::string& name, const std::string& context) {
  reads_[context] = invariants.committed();
  RaftVerdict verdict = At(name).raft->ReadIndex(context);
  TakeWork(At(name));
  return verdict;
}

RaftVerdict Group::Change(const std::string& name, MembershipChange::Kind kind,
                          const std::string& who) {
  RaftVerdict verdict = At(name).raft->ProposeMembership({kind, who});
  TakeWork(At(name));
  return verdict;
}

RaftVerdict Group::Transfer(const std::string& name, const std::string& to) {
  RaftVerdict verdict = At(name).raft->TransferLeadership(to);
  TakeWork(At(name));
  return verdict;
}

void Group::GiveWay(const std::string& name) {
  At(name).raft->GiveWay();
  TakeWork(At(name));
}

void Group::Compact(const std::string& name, std::uint64_t index) {
  At(name).raft->Compact(index);
  TakeWork(At(name));
}

void Group::Inject(const RaftMessage& message) {
  const auto found = members_.find(RegionOf(message.to()));
  if (found == members_.end() || !found->second->raft) return;
  found->second->raft->Step(message);
  TakeWork(*found->second);
}

void Group::Crash(const std::string& name) {
  At(name).raft.reset();
}

void Group::Restart(const std::string& name) {
  Start(At(name));
}

void Group::Isolate(const std::string& name) {
  for (const auto& [region, member] : members_)
    if (region != RegionOf(name)) Cut(RegionOf(name), region);
}

void Group::Deliver(std::size_t at) {
  RaftMessage message = std::move(wire[at]);
  wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(at));
  if (lose && lose(message)) return;
  if (!cut_.count(std::minmax(RegionOf(message.from()), RegionOf(message.to())))) Inject(message);
}

void Group::Settle() {
  while (!wire.empty() && broken.empty()) Deliver(0);
}

void Group::Elect(const std::string& name) {
  for (Member* member : Up())
    if (member->name != name && member->raft->role() != RaftRole::kLeader) Restart(member->name);
  for (int i = 0; i < 100 && At(name).raft->role() != RaftRole::kLeader && broken.empty(); ++i) {
    Tick(name);
    Settle();
  }
}

void Group::Observe(Member& member) {
  if (broken.empty()) broken = invariants.Observe(*member.raft);
}

void Group::TakeWork(Member& member) {
  Observe(member);
  while (broken.empty()) {
    auto work = member.raft->TakeWork();
    if (!work) return;
    Send(work->send_at_once);
    Stage(member, *work);
    Apply(member, *work);
    Answer(member, *work);
    for (const std::string& to : work->snapshots_released) member.open_snapshots.erase(to);
    for (const RaftChunkWanted& wanted : work->chunks_wanted) Provide(member, wanted);
    member.writing.push_back({std::move(*work), member.machine});
    while (sync_at_once && !hangs.count(member.name) && !member.writing.empty()) Sync(member.name);
    if (broken.empty()) Observe(member);
  }
}

void Group::Stage(Member& member, const RaftWork& work) {
  for (const SnapshotChunk& chunk : work.stage) {
    if (chunk.offset() == 0) member.staged.clear();
    Check(chunk.offset() == member.staged.size(), "pieces are staged without gaps");
    member.staged += chunk.data();
  }
  if (!work.install) return;
  member.machine = Machine::Load(member.staged);
  Check(member.machine.applied == work.install->index(), "a snapshot is what it says");
  if (trace)
    *trace += "  " + member.name + " installs " + std::to_string(work.install->index()) + "\n";
}

void Group::Apply(Member& member, const RaftWork& work) {
  for (const RaftEntryPtr& entry : work.apply) {
    member.machine.Apply(*entry);
    if (entry->kind() == PROPOSAL) member.applied.push_back(entry->data());
    if (trace) *trace += "  " + member.name + " applies " + Describe(*entry) + "\n";
  }
  member.raft->Applied(member.machine.applied);
  const auto [known, first] = digests_.try_emplace(member.machine.applied, member.machine.digest);
  if (known->second != member.machine.digest)
    broken = "state machines differ at " + std::to_string(member.machine.applied);
}

void Group::Answer(Member& member, const RaftWork& work) {
  for (const RaftRead& read : work.reads) {
    member.reads.push_back(read);
    if (read.confirmed && read.index < reads_[read.context]) broken = "stale read " + read.context;
    if (trace)
      *trace += "  " + member.name + " read " + read.context +
                (read.confirmed ? " at " + std::to_string(read.index) : " refused") + "\n";
  }
}

void Group::Provide(Member& member, const RaftChunkWanted& wanted) {
  auto& [index, saved] = member.open_snapshots[wanted.to];
  const std::uint64_t offset = std::exchange(snapshot_lost, false) ? 0 : wanted.offset;
  if (offset == 0) {
    index = member.machine.applied;
    saved = member.machine.Save();
  }
  Check(offset == 0 || wanted.index == index, "the piece is of the snapshot begun");
  const std::string data = saved.substr(std::min(offset, saved.size()), chunk_bytes);
  member.raft->ProvideChunk(wanted.to, index, offset, data, offset + data.size() >= saved.size());
}

void Group::Send(const std::vector<RaftMessage>& messages) {
  for (const RaftMessage& message : messages) {
    wire.push_back(message);
    if (trace) *trace += "  " + Describe(message) + "\n";
  }
}

void Group::Sync(const std::string& name) {
  Member& member = At(name);
  Check(!member.writing.empty(), "there is something to sync");
  Write write = std::move(member.writing.front());
  member.writing.pop_front();
  Store(member, write);
  Send(write.work.send_when_durable);
  member.raft->Persisted(write.work.number);
  if (!sync_at_once) TakeWork(member);
}

void Group::Store(Member& member, Write& write) {
  RaftState& disk = member.disk;
  const RaftWork& work = write.work;
  if (work.install) {
    disk.snapshot = *work.install;
    disk.entries.clear();
  }
  for (const RaftEntryPtr& entry : work.entries) {
    Check(entry->index() > disk.snapshot.index(), "what is compacted is not written again");
    const std::size_t at = entry->index() - disk.snapshot.index() - 1;
    Check(at <= disk.entries.size(), "entries are stored without gaps");
    disk.entries.resize(at);
    disk.entries.push_back(*entry);
  }
  if (work.hard_state) disk.hard_state = *work.hard_state;
  if (work.compact) {
    const auto count = static_cast<std::ptrdiff_t>(work.compact->index() - disk.snapshot.index());
    disk.entries.erase(disk.entries.begin(), disk.entries.begin() + count);
    disk.snapshot = *work.compact;
  }
  member.disk_machine = write.machine;
  disk.applied = write.machine.applied;
}

}  // namespace once
