// One node of one region: carries commands to the ledger, waits until they are durable, and lets
// everyone know who is concerned. The world comes in as three things.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "replica/clock.h"
#include "replica/config.h"
#include "replica/env/kv_store.h"
#include "replica/env/scheduler.h"
#include "replica/env/transport.h"
#include "replica/ledger/ledger.h"
#include "replica/metrics.h"
#include "replica/policies.h"
#include "replica/storage/commit.h"
#include "replica/storage/tables.h"
#include "replica/strict/strict_routes.h"
#include "replica/waiters.h"

namespace once {

class StrictGroup;

struct World {
  Scheduler& scheduler;
  KvStore& store;
  std::function<std::uint64_t()> entropy;  // unpredictable in production, seeded elsewhere
};

/// Owned by one thread; every call and callback is on it.
class Replica {
 public:
  using Done = std::function<void(const Answer&)>;
  using RunListener = std::function<void(const std::string& run_id)>;

  /// Reads what the store has. May throw KvUnreadable.
  Replica(World world, const Config& config, Metrics& metrics);
  ~Replica();

  /// Before Start: takes part in the strict group as "region/identity". Commands of strict routes
  /// go through it from then on; without it they get kUnavailable. Empty, or why the configured
  /// routes cannot take effect. May throw KvUnreadable.
  std::string Join(Transport& transport, const std::string& identity, const Config& config);

  /// Makes this boot durable, resumes unfinished runs, starts expiry. `started` gets false when the
  /// store refused.
  void Start(std::function<void(bool)> started);
  /// From now on every command is refused but those that end what was begun: settlements, renewals,
  /// and the second step of an admission. Every waiting caller looks again. `drained` is called
  /// when all that was applied is durable; what comes later is still answered when it is.
  void Stop(std::function<void()> drained);

  /// Applies the command; `done` gets the answer once all it rests on is durable. After a failed
  /// sync every command, and while the clock is unsafe or the strict rules are known to differ from
  /// the group's every begin, gets kUnavailable, unless it asks for a stored answer that is
  /// durable.
  void Submit(const Command& command, Done done);
  void Submit(Command&& command, Done done);
  /// The same, but an answer kInFlight waits up to `wait_ms` for the other caller to settle.
  void SubmitOrWait(Command command, std::int64_t wait_ms, Done done);
  /// Runs `read` when everything applied so far is durable, on that and on nothing later: it shows
  /// nothing that a crash could take back. `failed` instead, when that can no longer be known.
  void Read(std::function<void(Tables&)> read, std::function<void()> failed);
  /// The same for the domain that the claim or run belongs to. In the strict one it shows all that
  /// was acknowledged anywhere, and fails where the leader cannot be asked.
  void ReadAbout(std::string_view run_id, std::function<void(Tables&)> read,
                 std::function<void()> failed);
  /// Sets the policy for its tenant and route, or removes what was set, at run time. It is in force
  /// when `done` gets kDone, and after every restart.
  void ChangePolicy(const RoutePolicy& policy, bool remove, Done done);
  /// Sees to it that everything applied so far becomes durable, though no caller waits for it.
  void MakeDurable();

  /// Strict routes were in force at the last start on this store.
  bool WasStrict();
  /// This store has been part of a strict group. Without it the group would lack a voter, and what
  /// it holds would be out of reach, whatever the routes are now.
  bool WasMember();

  /// Called when a slot of either domain changes; see Tables::SetSlotListener.
  void SetSlotListener(std::function<void(std::string_view hash)> listener);
  /// Called after a run's change is durable.
  void SetRunListener(RunListener listener) { run_listener_ = std::move(listener); }

  /// Called after a conflict of any kind and region was listed and is durable.
  void SetConflictListener(std::function<void(const Conflict&)> listener) {
    conflict_listener_ = std::move(listener);
  }
  void SetDurableListener(std::function<void()> listener) {
    commit_.on_durable = std::move(listener);
  }
  /// Until when every other member has all that happened here; see Stamp. Not set: there are none.
  void SetCoverage(std::function<std::int64_t()> covered_ms) {
    covered_ms_ = std::move(covered_ms);
  }
  Tables& tables() { return tables_; }
  /// Null: the node is no member.
  StrictGroup* strict() { return strict_.get(); }
  const StrictRoutes& strict_routes() const { return strict_routes_; }

  /// True while all commands are taken; a stored, durable answer may then be given.
  bool Answering() const { return started_ && !stopping_; }
  /// False: what time it is, and so what has expired, is in doubt, here or in the strict group.
  bool ClockSafe();
  /// May this node promise anything? Empty, or why not.
  std::string Unready();
  const Policies& policies() const { return policies_; }
  void SetConfiguredPolicies(std::vector<RoutePolicy> configured) {
    policies_.SetConfigured(std::move(configured));
  }
  const ClaimRules& rules() const { return ledger_.rules(); }
  std::int64_t NowMillis() { return clock_.NowMillis(); }
  Scheduler& scheduler() { return scheduler_; }
  Metrics::Gauges Gauges();

 private:
  bool Takes(const Command& command) const;
  bool IsForGroup(const Command& command) const;
  Answer Apply(const Command& command);
  void Deliver(Answer answer, Done done);
  Answer Recall(const Command& command);
  void Settled(const Answer& answer);
  void CountConflict(const Conflict& conflict);
  /// The counters go on where they were before the restart.
  void TakeUpConflicts();
  void Resume(const std::string& run_id);
  void ResumeLater(const std::string& run_id);
  void ExpireSoon(std::int64_t delay_ms);
  Stamp NextStamp();  // of when the clock was last read
  void AppliedByGroup(const Answer& answer);

  Scheduler& scheduler_;
  KvStore& store_;
  std::function<std::uint64_t()> entropy_;
  Metrics& metrics_;
  Tables tables_;
  NodeClock clock_;
  Ledger ledger_;
  Commit commit_;
  Waiters waiters_;
  Policies policies_;
  const std::size_t waiters_max_;
  const std::size_t waiting_bytes_max_;
  RunListener run_listener_;
  std::function<void(const Conflict&)> conflict_listener_;
  std::function<std::int64_t()> covered_ms_;
  std::function<void(std::string_view)> slot_listener_;
  const StrictRoutes strict_routes_;
  std::unique_ptr<StrictGroup> strict_;
  bool started_ = false;
  bool stopping_ = false;
};

}  // namespace once
