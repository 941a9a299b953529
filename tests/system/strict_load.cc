#include "tests/system/strict_load.h"

#include <algorithm>

namespace once {
namespace {

constexpr unsigned kBeginsPerKey = 3;
constexpr std::uint64_t kBody = 1;
constexpr std::uint32_t kSuccess = 201;

bool Unanswered(const Operation& operation) {
  return operation.answer == Operation::Answer::kNone ||
         operation.answer == Operation::Answer::kUnavailable;
}

}  // namespace

StrictLoad::StrictLoad(ClusterProcess& cluster, HistoryRecorder& recorder, Regions regions,
                       int callers)
    : regions_(std::move(regions)) {
  for (int i = 0; i < callers; ++i)
    callers_.push_back(std::make_unique<RecordedCaller>(
        recorder, cluster, regions_[static_cast<std::size_t>(i) % regions_.size()]));
  for (const auto& caller : callers_)
    threads_.emplace_back([this, caller = caller.get()] { Work(*caller); });
}

void StrictLoad::Finish() {
  stop_ = true;
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void StrictLoad::Work(RecordedCaller& caller) {
  while (!stop_) {
    const std::string key = "key-" + std::to_string(next_++ / kBeginsPerKey);
    const Operation begun = Insist(caller, [&] { return caller.Begin(key, kBody); });
    if (begun.answer == Operation::Answer::kMismatch) Fail("a key of equal requests mismatched");
    if (begun.answer != Operation::Answer::kExecute) continue;
    ++admitted_;
    const Operation ended = Insist(caller, [&] { return caller.Settle(begun, kSuccess); });
    if (ended.answer != Operation::Answer::kDone && ended.answer != Operation::Answer::kReplay)
      continue;
    const std::lock_guard lock(mutex_);
    settled_.emplace(key, begun.run_id);
  }
}

Operation StrictLoad::Insist(RecordedCaller& caller, const std::function<Operation()>& ask) {
  Operation answered;
  const bool in_time = WaitUntil([&] {
    answered = ask();
    if (!Unanswered(answered)) return true;
    ++(answered.answer != Operation::Answer::kNone ? refused_
       : caller.loss() == HttpLoss::kNotTaken      ? not_taken_
                                                   : lost_);
    const auto at = std::find(regions_.begin(), regions_.end(), caller.region());
    caller.GoTo(at + 1 == regions_.end() ? regions_.front() : *(at + 1));
    return false;
  });
  if (!in_time) Fail("nobody answered about " + answered.key);
  if (answered.answer == Operation::Answer::kNotFound ||
      answered.answer == Operation::Answer::kFull)
    Fail("a claim of " + answered.key + " is not there, or has no room");
  return answered;
}

void StrictLoad::Fail(const std::string& what) {
  const std::lock_guard lock(mutex_);
  failures_.push_back(what);
}

bool StrictLoad::AwaitAdmissions(std::size_t count) {
  return WaitUntil([this, enough = admitted() + count] { return admitted() >= enough; });
}

std::vector<std::string> StrictLoad::failures() {
  const std::lock_guard lock(mutex_);
  return failures_;
}

std::set<std::pair<std::string, std::string>> StrictLoad::settled() {
  const std::lock_guard lock(mutex_);
  return settled_;
}

}  // namespace once
