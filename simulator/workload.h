// Seeded callers. Each call is one caller's whole story with one key: it begins, works, settles,
// and asks again with the same key for as long as it does not know the result. Every operation is
// written into the history as the caller saw it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "replica/env/random.h"
#include "simulator/checks.h"
#include "simulator/cluster.h"
#include "simulator/history.h"
#include "simulator/run_options.h"

namespace once {

/// What a caller was told.
Operation::Answer AnswerHeard(Answer::Kind kind);
void Note(Operation& heard, const Answer& answer);

inline constexpr std::uint64_t kDayMs = 24ull * 3600 * 1000;

/// What its owners do is in owners.cc.
class Workload {
 public:
  /// All must outlive the workload, and the workload every task of the cluster's scheduler.
  Workload(Cluster& cluster, WorkloadOptions options, std::uint64_t seed, History& history);

  /// Schedules all calls over the next `duration_ms`.
  void Start(std::int64_t duration_ms);
  /// From now on nobody starts or repeats anything; what is under way may finish.
  void Stop() { stopped_ = true; }
  /// Calls that come from now on are made again.
  void GoOn() { stopped_ = false; }
  /// Operations whose callers still wait.
  std::size_t waiting() const { return waiting_; }

  /// Asks for every key in `region`, as a patient caller would: who gets to execute settles at
  /// once. After Stop only.
  void Probe(const std::string& region);

 private:
  /// What is asked for under one key: fixed, so that a retry is a retry.
  struct Key {
    std::string tenant;
    std::string name;
    std::uint64_t body = 0;
    std::uint64_t retention_ms = 0;
    bool run = false;
    std::uint32_t workflow = 0;
  };
  struct Call {
    std::size_t key = 0;
    std::string region;
    std::uint64_t body = 0;
    std::uint32_t tries_left = 3;
    bool probe = false;
    std::uint32_t give_back = 0;  // so many times more, at once
  };
  /// How an owner's work ends: what it sends, and what its caller will be told.
  struct Ending {
    std::string region;
    std::string run_id;
    std::uint64_t fence = 0;
    std::uint32_t status = 0;
    std::string answer_body;
    Command command;
    bool admission = false;  // the second step of one that takes time
    int tries_left = 0;      // of the owner, who knows that it may settle twice
  };
  /// Work that takes longer than its lease: renewals, then the ending.
  struct Renewal {
    Ending ending;
    std::string hash;
    std::uint64_t lease_ms = 0;  // of the last one
    int times_left = 0;
    bool late = false;  // each when the lease is over, and another may have taken up the key
  };

  void ScheduleCalls(std::int64_t at_ms);
  void Begin(const Call& call);
  void HearBegin(const Call& call, std::size_t operation, const Answer& answer);
  void Execute(const Call& call, const Operation& owned, const std::string& hash);
  void Admit(const Call& call, const Operation& reserved);
  void End(const Call& call, const Ending& ending);
  static Ending EndingOf(const Operation& owned, std::uint32_t status);
  /// The same with the command of a settlement.
  static Ending SettlementOf(const Operation& owned, const std::string& hash, std::uint32_t status);
  void GiveBack(const Call& call, const Operation& owned, const std::string& hash);
  void RenewLater(const Call& call, Renewal renewal);
  void Renew(const Call& call, Renewal renewal);
  void ChangePolicy();
  /// There is room for some more slots.
  bool HasRoom(const Operation& operation) const;
  Operation::Mismatch MismatchIn(const std::string& region, const Key& key);
  std::int64_t WorkMillis(const Call& call);
  /// Reads the claim in some region, later.
  void LookUpLater(const Call& call, const Operation& begun, const std::string& hash);
  void LookUp(const Call& call, const std::string& region, const std::string& run_id,
              const std::string& hash);
  void Report(Violations found);
  void Again(Call call, std::int64_t delay_ms);
  Command MakeCommand(const Call& call) const;
  /// A new operation about the call's key.
  Operation About(Operation::Kind kind, const Call& call, const std::string& region) const;
  /// Waits for an answer; true for whoever comes first of that answer and the caller's patience,
  /// after which `unheard` runs.
  std::function<bool()> Await(std::function<void()> unheard);
  /// Sends it; `hear` gets the answer unless the caller has given up or the process died, and
  /// `unheard` runs in that case.
  void Send(std::size_t operation, const std::string& region, Command command,
            std::function<void(const Answer&)> hear, std::function<void()> unheard);
  /// Writes down what the caller hears, if it still waits.
  Replica::Done Heard(std::size_t operation, std::function<bool()> over,
                      std::function<void(const Answer&)> hear);
  std::size_t Record(Operation operation);
  std::int64_t NowMillis() const;
  std::string AnyRegion();
  bool Chance(std::uint32_t percent) { return random_.Below(100) < percent; }

  Cluster& cluster_;
  const WorkloadOptions options_;
  Random random_;
  History& history_;
  std::vector<Key> keys_;
  std::map<std::pair<std::size_t, std::uint64_t>, Command> commands_;  // by key and body
  bool stopped_ = false;
  std::size_t waiting_ = 0;
  std::int64_t start_us_;
};

}  // namespace once
