// What callers of a real cluster asked and got, in the form that once-sim check-history judges.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "simulator/history.h"
#include "tests/system/cluster_process.h"

namespace once {

/// Shared by all callers of one cluster; safe from any thread.
class HistoryRecorder {
 public:
  enum class Slots { kBestEffort, kStrict };

  explicit HistoryRecorder(const Regions& regions, Slots slots = Slots::kBestEffort)
      : strict_(slots == Slots::kStrict) {
    history_.regions = regions;
  }

  /// Since the recorder was made; the same clock for all.
  std::int64_t NowMillis() const;
  void Add(Operation operation);
  /// No message passes between the two sides from now until Heal.
  void Cut(const Regions& one, const Regions& other);
  void Heal();
  /// The losers of a page of GET /v1/conflicts.
  void AddLost(const std::string& conflicts_page);

  /// All of it, operations in the order in which they were asked.
  History Take();

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const bool strict_;
  std::mutex mutex_;
  History history_;
};

/// What `once-sim check-history` says about it.
ProgramResult JudgeHistory(const History& history);

/// A caller in one region whose begins and settles are recorded. One per thread.
class RecordedCaller {
 public:
  RecordedCaller(HistoryRecorder& recorder, ClusterProcess& cluster, std::string region);

  const std::string& region() const { return region_; }
  /// From now on it asks that region, on a connection of its own. Claims go with it.
  void GoTo(const std::string& region);

  /// `body` says what is asked: equal numbers are equal requests.
  Operation Begin(const std::string& key, std::uint64_t body);
  /// For a begin that was answered with `execute`. Each run has its own answer.
  Operation Settle(const Operation& begun, std::uint32_t status);
  /// Why the last of them had no answer.
  HttpLoss loss() const { return loss_; }

 private:
  Operation Ask(Operation operation, const std::function<HttpResult()>& request);

  HistoryRecorder& recorder_;
  ClusterProcess& cluster_;
  std::string region_;
  std::unique_ptr<Caller> caller_;
  HttpLoss loss_ = HttpLoss::kNone;
  std::map<std::string, BegunClaim> owned_;  // by run id
};

}  // namespace once
