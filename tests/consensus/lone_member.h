// One member alone with the test, which plays all the others.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "consensus/raft.h"

namespace once {

inline RaftEntry EntryOf(std::uint64_t index, std::uint64_t term, std::string data = "x") {
  RaftEntry entry;
  entry.set_index(index);
  entry.set_term(term);
  entry.set_data(std::move(data));
  return entry;
}

/// A disk of member a, b or c whose log has an entry for each of these terms.
inline RaftState DiskOf(std::uint64_t term, const std::vector<std::uint64_t>& log_terms) {
  Membership members;
  for (const char* name : {"a", "b", "c"}) members.add_voters(name);
  RaftState disk = BootstrapState(members);
  disk.hard_state.set_term(term);
  for (const std::uint64_t entry_term : log_terms)
    disk.entries.push_back(EntryOf(disk.entries.size() + 1, entry_term));
  return disk;
}

class LoneMember {
 public:
  explicit LoneMember(RaftState disk, std::string name = "a")
      : random_(1), raft_(std::move(name), {}, std::move(disk), random_) {}

  Raft* operator->() { return &raft_; }

  RaftMessage From(const std::string& sender, std::uint64_t term) {
    RaftMessage message;
    message.set_from(sender);
    message.set_to(raft_.name());
    message.set_term(term);
    return message;
  }
  RaftMessage VoteFor(const std::string& sender, std::uint64_t term, std::uint64_t last_index,
                      std::uint64_t last_term) {
    RaftMessage message = From(sender, term);
    message.mutable_vote_request()->set_for_term(term);
    message.mutable_vote_request()->set_last_index(last_index);
    message.mutable_vote_request()->set_last_term(last_term);
    return message;
  }
  RaftMessage AppendBy(const std::string& leader, std::uint64_t term, std::uint64_t prev_index,
                       std::uint64_t prev_term, const std::vector<RaftEntry>& entries = {},
                       std::uint64_t commit = 0) {
    RaftMessage message = From(leader, term);
    AppendRequest& append = *message.mutable_append();
    append.set_prev_index(prev_index);
    append.set_prev_term(prev_term);
    append.set_commit(commit);
    for (const RaftEntry& entry : entries) *append.add_entries() = entry;
    return message;
  }

  /// Everything it does now, with a disk that is at once done. The last message it sent is kept.
  void Work() {
    while (auto work = raft_.TakeWork()) {
      for (const auto* messages : {&work->send_at_once, &work->send_when_durable})
        for (const RaftMessage& message : *messages) said.push_back(message);
      for (const RaftEntryPtr& entry : work->apply) raft_.Applied(entry->index());
      raft_.Persisted(work->number);
    }
  }
  /// Its answer to `message`; an empty one if it says nothing.
  RaftMessage Answer(const RaftMessage& message) {
    said.clear();
    raft_.Step(message);
    Work();
    return said.empty() ? RaftMessage() : said.back();
  }
  std::string Terms() {
    std::string terms;
    for (const RaftEntryPtr& entry : raft_.log().entries()) terms += std::to_string(entry->term());
    return terms;
  }

  std::vector<RaftMessage> said;

 private:
  Random random_;
  Raft raft_;
};

}  // namespace once
