// Callers of a strict tenant who do not give up: what fails here is a promise of the group.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/system/history_recorder.h"

namespace once {

/// Begins and settles claims under keys that several callers use at the same time. A request that
/// is answered 503, or not at all, is taken to the next region, under the same key or fence, until
/// it is answered. Everything is recorded.
class StrictLoad {
 public:
  /// Callers start in `regions` in turn and stay among them. Both others outlive it.
  StrictLoad(ClusterProcess& cluster, HistoryRecorder& recorder, Regions regions, int callers = 6);
  ~StrictLoad() { Finish(); }

  /// Lets every caller end its request, and waits for them.
  void Finish();

  std::size_t callers() const { return callers_.size(); }
  std::size_t admitted() const { return admitted_; }
  /// True as soon as `count` more claims have been given than now.
  bool AwaitAdmissions(std::size_t count);

  /// How often a request had to be taken elsewhere.
  std::size_t refused() const { return refused_; }      // 503
  std::size_t not_taken() const { return not_taken_; }  // no node read it
  std::size_t lost() const { return lost_; }            // a node read it and did not answer
  /// Requests that got what no group may answer, or nothing at all for longer than kPatience.
  std::vector<std::string> failures();
  /// Keys whose claims were settled with success, and the runs that were.
  std::set<std::pair<std::string, std::string>> settled();

 private:
  void Work(RecordedCaller& caller);
  /// Asks until it is answered; kNone when it never was.
  Operation Insist(RecordedCaller& caller, const std::function<Operation()>& ask);
  void Fail(const std::string& what);

  const Regions regions_;
  std::atomic<bool> stop_ = false;
  std::atomic<unsigned> next_ = 0;
  std::atomic<std::size_t> admitted_ = 0;
  std::atomic<std::size_t> refused_ = 0;
  std::atomic<std::size_t> not_taken_ = 0;
  std::atomic<std::size_t> lost_ = 0;
  std::mutex mutex_;  // guards the next two
  std::vector<std::string> failures_;
  std::set<std::pair<std::string, std::string>> settled_;
  std::vector<std::unique_ptr<RecordedCaller>> callers_;
  std::vector<std::thread> threads_;
};

}  // namespace once
