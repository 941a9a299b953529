#include "replica/strict/raft_message_check.h"

#include "replica/strict/engine.h"

namespace once {
namespace {

constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 62;
constexpr int kMembersMax = 64;

bool IsSound(const Membership& membership) {
  return membership.voters_size() > 0 && membership.voters_size() <= kMembersMax &&
         membership.learners_size() <= kMembersMax;
}

bool IsSound(const Raft& raft, const RaftMessage& message, const AppendRequest& append) {
  if (append.prev_index() >= kNumberMax || append.prev_term() > message.term()) return false;
  std::uint64_t index = append.prev_index();
  std::uint64_t term = append.prev_term();
  for (const RaftEntry& entry : append.entries()) {
    if (entry.index() != index + 1 || entry.term() < term || entry.term() > message.term())
      return false;
    if (entry.kind() == MEMBERSHIP && !IsSound(entry.membership())) return false;
    // What is decided here is not compared any more; what follows it must still continue it.
    if (index == raft.commit() && entry.term() < raft.log().TermAt(index).value_or(0)) return false;
    index = entry.index();
    term = entry.term();
  }
  return true;
}

bool IsSound(const SnapshotChunk& chunk) {
  const SnapshotMeta& meta = chunk.meta();
  return meta.index() > 0 && meta.index() < kNumberMax && chunk.offset() < kNumberMax &&
         IsSound(meta.membership());
}

}  // namespace

bool IsAcceptable(const Raft& raft, const std::string& from_region, const RaftMessage& message) {
  if (message.format() == 0 || message.term() >= kNumberMax ||
      message.from().find('/') == std::string::npos || message.from() == raft.name() ||
      RegionOfMember(message.from()) != from_region)
    return false;
  const bool leads = message.has_append() || message.has_snapshot_chunk();
  if (leads && raft.role() == RaftRole::kLeader && message.term() == raft.term()) return false;
  if (message.has_append()) return IsSound(raft, message, message.append());
  if (message.has_snapshot_chunk())
    return message.snapshot_chunk().meta().term() <= message.term() &&
           IsSound(message.snapshot_chunk());
  if (message.has_append_reply()) return message.append_reply().match() < kNumberMax;
  return true;
}

}  // namespace once
