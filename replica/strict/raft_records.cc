#include "replica/strict/raft_records.h"

#include <algorithm>
#include <utility>

#include "conflict/mutation.h"

namespace once {
namespace {

template <typename Record>
Record ParseLogged(std::string_view bytes) {
  Record record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw KvUnreadable("a record of the strict group's log does not parse");
  return record;
}

}  // namespace

RaftState RaftRecords::Load(std::uint64_t applied) {
  RaftState state;
  state.applied = applied;
  if (const auto bytes = tables_.ReadRaw(keys::LogPromises()))
    state.hard_state = ParseLogged<HardState>(*bytes);
  if (MutationOn("vote-forgotten")) state.hard_state.clear_voted_for();
  if (const auto bytes = tables_.ReadRaw(keys::LogBeginning()))
    state.snapshot = ParseLogged<SnapshotMeta>(*bytes);
  first_ = state.snapshot.index() + 1;
  last_ = state.snapshot.index();
  std::uint64_t term = state.snapshot.term();
  bool whole = true;
  const std::string from = keys::LogEntry(0);
  tables_.ScanRaw(from, keys::After("L"), [&](std::string_view, std::string_view value) {
    RaftEntry entry = ParseLogged<RaftEntry>(value);
    whole = entry.index() == last_ + 1 && entry.term() >= term;
    if (!whole) return false;
    last_ = entry.index();
    term = entry.term();
    state.entries.push_back(std::move(entry));
    return true;
  });
  if (!whole || applied < state.snapshot.index() || applied > last_ ||
      state.hard_state.commit() > last_)
    throw KvUnreadable("the strict group's log has a gap, or ends before what was decided");
  return state;
}

void RaftRecords::Put(const RaftWork& work) {
  if (work.install) {
    EraseEntries(first_, last_);
    tables_.PutRaw(keys::LogBeginning(), work.install->SerializeAsString());
    last_ = work.install->index();
    first_ = last_ + 1;
  }
  for (const RaftEntryPtr& entry : work.entries)
    tables_.PutRaw(keys::LogEntry(entry->index()), entry->SerializeAsString());
  if (!work.entries.empty()) {
    const std::uint64_t end = work.entries.back()->index();
    // The tail that another leader's entries replace.
    if (!MutationOn("tail-left-on-disk")) EraseEntries(end + 1, last_);
    last_ = end;
  }
  if (work.hard_state) tables_.PutRaw(keys::LogPromises(), work.hard_state->SerializeAsString());
  if (work.compact) {
    tables_.PutRaw(keys::LogBeginning(), work.compact->SerializeAsString());
    EraseEntries(first_, work.compact->index());
    first_ = std::max(first_, work.compact->index() + 1);
  }
}

void RaftRecords::PutFounding(const RaftState& state) {
  tables_.PutRaw(keys::LogPromises(), state.hard_state.SerializeAsString());
  tables_.PutRaw(keys::LogBeginning(), state.snapshot.SerializeAsString());
}

void RaftRecords::EraseEntries(std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t index = first; index <= last; ++index) tables_.EraseRaw(keys::LogEntry(index));
}

}  // namespace once
