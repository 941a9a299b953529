// A node's part in the strict group: commands of its callers go through the replicated log, and the
// same ledger comes out on every node.
//
//   caller -> requests -> (leader) proposals -> engine -> every node: state -> the asker's caller
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "replica/clock.h"
#include "replica/config.h"
#include "replica/env/scheduler.h"
#include "replica/env/transport.h"
#include "replica/storage/commit.h"
#include "replica/storage/tables.h"
#include "replica/strict/engine.h"
#include "replica/strict/leader_duties.h"
#include "replica/strict/leftover_sweep.h"
#include "replica/strict/member_clocks.h"
#include "replica/strict/native_engine.h"
#include "replica/strict/strict_proposals.h"
#include "replica/strict/strict_reads.h"
#include "replica/strict/strict_requests.h"
#include "replica/strict/strict_state.h"

namespace once {

struct StrictOptions {
  std::string member;             // "region/identity"
  LedgerTerms terms;              // what this node's configuration says; in force while it leads
  std::uint64_t rules = 0;        // StrictRoutes::Digest of this node's; 0: not told to others
  bool rules_changed = false;     // since its last start: they differ until a leader is heard
  std::int64_t answer_ms = 2000;  // then a caller is told kUnavailable
  std::int64_t resend_ms = 500;
  std::size_t hot_bytes_max = Config().hot_bytes_max;
  NativeEngineOptions engine;  // member and seed are filled in
};

/// What a node's part in the group came to since it started.
struct StrictCounts {
  std::uint64_t leaders = 0;      // how often another one was heard of, or became one itself
  std::uint64_t entries = 0;      // that it proposed as leader
  std::uint64_t commands = 0;     // in them
  std::uint64_t forwarded = 0;    // its callers' requests that went to a leader elsewhere
  std::uint64_t unavailable = 0;  // its callers' requests that got no answer in time
};

/// True if something may be admitted by it that was not admitted before.
bool MayAdmit(const Command& command);

/// All outlive the group.
struct StrictWorld {
  Scheduler& scheduler;
  Tables& tables;  // of the best-effort ledger: its batches carry everything
  Commit& commit;
  NodeClock& clock;
  Transport& transport;
  std::function<std::uint64_t()> entropy;
};

class StrictGroup : private StateMachine {
 public:
  using Done = std::function<void(const Answer&)>;

  /// Reads what the store has. May throw KvUnreadable.
  StrictGroup(StrictWorld world, StrictOptions options);
  ~StrictGroup() override;

  void Start();
  /// Hands leadership over, if it has it, and lets the next leader answer those who wait here;
  /// whoever is left after a second is told that there will be no answer. Then calls `stopped`.
  void Stop(std::function<void()> stopped);

  /// Carries a caller's command through the log. A stored final answer is given at once by any
  /// node. kUnavailable: there was no answer in time, and unless it was refused it may have
  /// happened; a retry with the same key is safe.
  void Submit(Command command, Done done);
  /// Runs `read` on a state that holds everything acknowledged before this call; `failed` when the
  /// leader cannot be asked in time. Calls with KvUnreadable count as failed.
  void Read(std::function<void(Tables&)> read, std::function<void()> failed);

  /// Called for every command that this node applies, whoever asked for it.
  std::function<void(const Answer&)> on_applied;

  /// Commands that may still be applied, as after a start: the log holds them.
  std::vector<Command> Unapplied() const;

  Engine& engine() { return *engine_; }
  Tables& tables() { return state_.tables(); }
  /// Requests of this node's callers that wait for their answer.
  std::size_t waiting() const { return requests_.size(); }
  StrictCounts counts() const;
  /// Regions whose rules differ from this node's, so that what is strict there may be best-effort
  /// here: of all members if this one leads, or the leader's.
  std::vector<std::string> RegionsWithOtherRules() const;
  /// This node's rules are not those in force, which are the leader's; or, where it leads, a
  /// majority of the voters has others. While no leader is heard, as it was last. Nothing that
  /// MayAdmit is then taken, in either mode: it would be taken for what it is not. Who waits for
  /// such a one is refused.
  bool RulesDiffer() const { return rules_differ_; }
  /// This node's clock differs by more than the bound from those of so many voters that it must not
  /// lead, or from the leader's. While no leader is heard, as it was last.
  bool ClockDiffers() const { return clock_differs_; }
  /// What has expired is known: a stored answer may be given.
  bool MayRecall();
  /// Everything applied so far goes into the open batch of the outer Tables.
  void Store() override { state_.Store(); }
  /// Messages that no honest node sends, of all kinds.
  std::uint64_t refused() const { return refused_ + engine_->Status().refused; }

 private:
  // StateMachine
  bool Apply(std::uint64_t index, const std::string& batch) override;
  bool ShouldStore() override { return state_.ShouldStore(); }
  std::uint64_t applied() override { return state_.applied(); }
  std::unique_ptr<FrozenState> Freeze() override { return state_.Freeze(); }
  bool Stage(const std::string& piece, bool first) override;
  bool Install(std::uint64_t index) override;
  void Unstage() override;
  void RolledBack() override;
  void LeaderChanged() override;

  Answer Recall(const Command& command);
  bool MayTake(const StrictMessage& message, const StrictRequest& request) const;
  void JudgeItself();
  void JudgeAsLeader();
  void JudgeAsFollower(const std::string& leader);
  bool MostHaveOtherRules(const std::set<std::string>& voters) const;
  void HearRules(const std::string& from, const StrictMessage& message);
  void Receive(const std::string& from, const std::string& bytes);
  void Send(const std::string& region, StrictMessage message);
  bool SendToLeader(const std::vector<const StrictRequest*>& requests);
  bool AskLeader(std::uint64_t read);
  void AnswerRead(const std::string& region, std::uint64_t read);
  void StopBy(std::int64_t deadline_us, bool led, std::function<void()> stopped);

  StrictWorld world_;
  const StrictOptions options_;
  const std::string region_;
  StrictState state_;
  LeftoverSweep sweep_;
  MemberClocks clocks_;
  std::unique_ptr<Engine> engine_;
  StrictRequests requests_;
  StrictProposals proposals_;
  StrictReads reads_;
  LeaderDuties duties_;
  ClockStanding clock_standing_ = ClockStanding::kUnheard;  // now
  bool clock_differs_ = false;  // it did when its standing was last known
  bool rules_differ_;
  bool led_ = false;
  std::uint64_t refused_ = 0;
  std::uint64_t leaders_ = 0;
  std::uint64_t forwarded_ = 0;
  std::map<std::string, std::uint64_t> rules_of_;  // by region, as last heard
  struct Speaker {
    std::string region;
    std::uint64_t rules = 0;
  };
  Speaker speaker_;                  // whose message is being received
  std::uint64_t leaders_rules_ = 0;  // of the leader that is followed; 0: not known
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace once
