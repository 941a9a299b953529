// Compaction, and the snapshots that followers need because of it.
#include <algorithm>
#include <utility>

#include "conflict/probe.h"
#include "consensus/raft.h"
#include "replica/env/check.h"

namespace once {

std::uint64_t Raft::CompactableUpto() const {
  std::uint64_t index = applied_;
  // A follower that has just been given a snapshot must find the entries after it, or it would need
  // the next snapshot, and so on for ever. One that is silent holds nothing back.
  for (const auto& [member, progress] : progress_)
    if (progress.state() == Progress::State::kSnapshot && IsHeard(progress) &&
        progress.sending().begun())
      index = std::min(index, progress.sending().meta.index());
  return index;
}

std::uint64_t Raft::everywhere() const {
  if (role_ != RaftRole::kLeader) return everywhere_;
  std::uint64_t index = log_.durable_index();
  for (const auto& [member, progress] : progress_) index = std::min(index, progress.match());
  return index;
}

void Raft::Compact(std::uint64_t index) {
  Check(index <= applied_, "only what is applied is compacted");
  index = std::min(index, CompactableUpto());
  if (index > log_.snapshot_index()) next_.compact = log_.Compact(index);
}

std::size_t Raft::GiveUpSnapshots(std::uint64_t index) {
  std::size_t given_up = 0;
  for (auto& [to, progress] : progress_) {
    if (progress.state() != Progress::State::kSnapshot || !progress.sending().begun() ||
        progress.sending().meta.index() >= index)
      continue;
    Reached("a snapshot was given up for a newer one");
    progress.StartSnapshot();
    ReleaseSnapshot(to);
    ++given_up;
  }
  return given_up;
}

void Raft::WantChunk(const std::string& to, Progress& progress) {
  Progress::Sending& sending = progress.sending();
  sending.awaiting_driver = true;
  sending.ticks = 0;
  if (sending.offset == 0) sending.meta.Clear();
  next_.chunks_wanted.push_back({to, sending.meta.index(), sending.offset});
}

void Raft::ReleaseSnapshot(const std::string& to) {
  std::erase_if(next_.chunks_wanted,
                [&](const RaftChunkWanted& wanted) { return wanted.to == to; });
  next_.snapshots_released.push_back(to);
}

void Raft::ProvideChunk(const std::string& to, std::uint64_t index, std::uint64_t offset,
                        std::string data, bool last) {
  Check(index <= applied_, "a snapshot holds what is applied");
  Check(last || !data.empty(), "every piece but the last moves the snapshot on");
  const auto found = progress_.find(to);
  if (found == progress_.end() || found->second.state() != Progress::State::kSnapshot) return;
  Progress::Sending& sending = found->second.sending();
  if (!sending.awaiting_driver || (offset != sending.offset && offset != 0)) return;
  sending.offset = offset;
  if (offset == 0) {
    // It may have been begun so long ago that the log no longer continues it.
    if (index < log_.snapshot_index()) return WantChunk(to, found->second);
    sending.meta = log_.MetaAt(index);
  }
  if (index != sending.meta.index()) return;
  sending.awaiting_driver = false;
  sending.ticks = 0;

  SnapshotChunk& chunk = *Say(next_.send_at_once, to).mutable_snapshot_chunk();
  *chunk.mutable_meta() = sending.meta;
  chunk.set_offset(offset);
  chunk.set_data(std::move(data));
  chunk.set_last(last);
}

}  // namespace once
