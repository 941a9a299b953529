#include "consensus/progress.h"

#include <algorithm>

namespace once {

bool Progress::MaySendEntries(std::uint64_t window_bytes_max,
                              std::uint32_t window_messages_max) const {
  switch (state_) {
    case State::kProbe:
      return !probing_;
    case State::kReplicate:
      return window_.size() < window_messages_max && window_bytes_ < window_bytes_max;
    case State::kSnapshot:
      return false;
  }
  return false;
}

void Progress::SentEntries(std::uint64_t last_index, std::uint64_t bytes) {
  if (state_ == State::kProbe) {
    probing_ = true;
    return;
  }
  next_ = last_index + 1;
  window_.push_back({last_index, bytes});
  window_bytes_ += bytes;
}

bool Progress::Accepted(std::uint64_t match) {
  const bool rose = match > match_;
  match_ = std::max(match_, match);
  next_ = std::max(next_, match_ + 1);
  while (!window_.empty() && window_.front().last_index <= match) {
    window_bytes_ -= window_.front().bytes;
    window_.pop_front();
  }
  // An acceptance below next - 1 is an old one, and tells nothing about where the logs agree.
  if (state_ == State::kProbe && match_ + 1 >= next_) {
    state_ = State::kReplicate;
    next_ = match_ + 1;
  }
  if (state_ == State::kSnapshot && sending_.begun() && match_ >= sending_.meta.index())
    BecomeProbe();
  return rose;
}

void Progress::Rejected(std::uint64_t prev_index, std::uint64_t agreed) {
  if (state_ == State::kSnapshot || prev_index <= match_) return;
  if (state_ == State::kReplicate) {
    BecomeProbe();
    return;
  }
  if (prev_index != next_ - 1) return;
  next_ = std::max(match_, std::min(agreed, prev_index - 1)) + 1;
  probing_ = false;
}

void Progress::StartSnapshot() {
  BecomeProbe();
  state_ = State::kSnapshot;
  sending_ = {};
}

void Progress::BecomeProbe() {
  state_ = State::kProbe;
  next_ = match_ + 1;
  probing_ = false;
  window_.clear();
  window_bytes_ = 0;
}

}  // namespace once
