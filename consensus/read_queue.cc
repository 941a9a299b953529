#include "consensus/read_queue.h"

#include <utility>

#include "conflict/probe.h"

namespace once {

void ReadQueue::StartRound(std::uint64_t commit) {
  ++round_;
  for (std::string& context : waiting_)
    asked_.push_back({round_, {std::move(context), false, commit}});
  waiting_.clear();
}

std::vector<RaftRead> ReadQueue::Confirm(std::uint64_t round) {
  std::vector<RaftRead> confirmed;
  while (!asked_.empty() && asked_.front().round <= round) {
    confirmed.push_back(std::move(asked_.front().read));
    confirmed.back().confirmed = true;
    confirmed_ = asked_.front().round;
    asked_.pop_front();
  }
  return confirmed;
}

std::vector<RaftRead> ReadQueue::Abandon() {
  if (HasWaiting()) Reached("a leader stepped down before reads had got a round");
  if (!asked_.empty()) Reached("a leader stepped down with a round of reads on its way");
  std::vector<RaftRead> abandoned;
  for (Asked& asked : asked_) abandoned.push_back({std::move(asked.read.context), false, 0});
  for (std::string& context : waiting_) abandoned.push_back({std::move(context), false, 0});
  asked_.clear();
  waiting_.clear();
  return abandoned;
}

}  // namespace once
