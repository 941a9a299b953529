// What goes wrong, and when.
//
// The promise that is respected, so that whatever breaks is a fault of the product:
//   - The network may lose, delay, repeat and reorder messages and cut any direction for as long as
//     the safety phase lasts; a message that arrives is whole and its sender is true.
//   - A crash loses writes that no sync has reported, always a suffix of them. A sync that fails
//     leaves the process without a disk; somebody starts it again after a while.
//   - A full disk refuses whole batches.
//   - Any two wall clocks of nodes that start differ by less than the skew bound. A running node's
//     wall clock may jump anywhere: its stamps must not follow, and it must refuse new claims.
//     Where everything is strict, one region at a time may start with its wall clock 4 to 8 s
//     ahead or behind, and may then be cut off. Its clock is put right while it is down, for as
//     long as it was ahead.
//   - Monotonic clocks run at one rate, also while a process stands still.
//   - A directory is emptied, or replaced by an older copy of itself, only while its process is
//     down. That may happen to any region, again and again, also before an earlier loss is mended.
//     What no other directory holds durably at that moment is lost, and so is the region's word on
//     what it acknowledged before: it may admit again until the others have told it. Whatever
//     another directory does hold then is not lost, unless that one is replaced too before it could
//     be given back: in the end it is with its home again, and with everybody else.
//   - That also happens twice within the clock bound, the second time with the region's clock back
//   by
//     less than the bound. What the first start gave as fences the second may then undercut
//     (docs/CONSISTENCY.md).
//   - An operator stops a node at any time, and waits until it has ended. One that has not ended
//     after so long is killed.
//   - A sender's link may take only so much. What waits for it goes later, or is dropped where the
//     queue is full; a cut keeps what waits.
//   - A copy of a directory is started, beside the original or in another region's name: it must
//     refuse. It is also adopted while the original is set aside, which later comes back in its
//     place: each is then a directory that replaces the other.
//
// What the strict group is promised, and must survive:
//   - The same of network, disks and clocks, for any number of members at once, also for whoever
//     leads. Without a majority it may stand still until it is well again, never be wrong.
//   - A directory that was replaced is another member (docs/decisions/0010-membership.md). In
//     random worlds one is lost, while every membership that anybody holds has three voters or
//     more: a minority. An operator replaces it.
//   - An operator changes the [[strict]] rules, of one node after another or of one alone, for a
//     tenant whose callers have stopped, and starts a node that refuses the new rules with the old
//     ones. He goes on until all nodes have the same rules; only then do those callers come back.
//   - An operator takes members out and in again and hands leadership over at any time, and may ask
//     a leader that is deposed. Where a directory may be lost, three voters are left; elsewhere
//     one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "replica/env/random.h"
#include "simulator/cluster.h"
#include "simulator/group_operator.h"
#include "simulator/history.h"
#include "simulator/moment.h"
#include "simulator/run_options.h"

namespace once {

class Faults {
 public:
  /// `keeper` looks after the strict group, if there is one. All outlive it.
  Faults(Cluster& cluster, GroupOperator& keeper, FaultOptions options, std::uint64_t seed,
         History& history);

  /// Schedules faults for the next `duration_ms`, and starts nodes again that have failed.
  void Start(std::int64_t duration_ms);
  /// Ends every fault there is. Nodes that have failed are still started again.
  void Stop();

  /// A moment of the region's in the strict group that it must remember, or others must. As often
  /// and as soon as the options say, it dies, or is cut off with what is on its way.
  void Strike(const std::string& region, Moment moment);

  /// The region has just begun to lead: as often as the options say, it is asked at once for a
  /// change of members.
  void ChangeEarly(const std::string& leader);

  /// Called when callers of the tenant whose mode changes must stop, and may go on.
  std::function<void(bool may_go_on)> on_rules_change;

  /// Since when the two regions and the links between them have been well; now, if they are not.
  std::int64_t CleanSinceMillis(const std::string& one, const std::string& other) const;
  /// Regions that at some time started with their wall clock ahead of others' by more than the
  /// bound.
  const std::set<std::string>& started_ahead() const { return started_ahead_; }
  /// The same, behind.
  const std::set<std::string>& started_behind() const { return started_behind_; }
  /// Not all regions have the same rules yet.
  bool changing_rules() const { return changing_rules_; }
  /// The region whose clock is off since it started; empty: none.
  const std::string& off() const { return off_; }

 private:
  static constexpr std::int64_t kPauseMsMax = 6000;
  using Begin = void (Faults::*)(std::int64_t for_ms);

  void Repeat(std::int64_t gap_ms, std::int64_t longest_ms, Begin begin);
  void CutSome(std::int64_t for_ms);
  void CutOne(const std::string& from, const std::string& to, std::int64_t for_ms);
  void FlapSome(std::int64_t for_ms);
  void ClogSome(std::int64_t for_ms);
  void CrashSome(std::int64_t for_ms);
  void PauseSome(std::int64_t for_ms);
  void SlowSome(std::int64_t for_ms);
  void FailSome(std::int64_t for_ms);
  void FillSome(std::int64_t for_ms);
  void JumpSome(std::int64_t for_ms);
  void JumpWildly(std::int64_t for_ms);
  void StartSomeOff(std::int64_t for_ms);
  void EmptySome(std::int64_t for_ms);
  void RestoreSome(std::int64_t for_ms);
  void StepSome(std::int64_t for_ms);
  void StopSome(std::int64_t for_ms);
  void TransferSome(std::int64_t for_ms);
  void DismissSome(std::int64_t for_ms);
  void CloneSome(std::int64_t for_ms);
  /// Some or all regions, one after another, are started with other [[strict]] rules. Those that
  /// refuse them go on with the old ones, and the others are given these again.
  void ChangeRules(std::int64_t for_ms);
  void StartRules();
  /// So many as are left in `order` from `at` on.
  void GiveRules(std::vector<std::string> order, std::size_t at, std::vector<StrictRoute> rules);
  void StartWith(const std::string& region, const std::vector<StrictRoute>& rules);
  /// From then on all get back what they began with, and nobody calls for the tenant any more.
  std::int64_t LastRulesMillis() const { return 2 * until_ms_ / 3; }
  bool HasRules(const std::string& region, const std::vector<StrictRoute>& rules) const;
  bool HaveRules(const std::vector<StrictRoute>& rules) const;
  /// Until all have one set of rules.
  void EndRules(const std::vector<StrictRoute>& wanted);
  void CutFor(const std::string& from, const std::string& to, std::int64_t for_ms);
  void CrashFor(const std::string& region, std::int64_t for_ms);
  /// It dies and comes back with another directory, which `replace` puts there. False: not now.
  bool ReplaceFor(Fault::Kind kind, const std::string& region, std::int64_t age_ms,
                  const std::function<void()>& replace, std::int64_t for_ms);
  void EmptyFor(const std::string& region, std::int64_t for_ms);
  void RestoreFor(const std::string& region, std::int64_t age_ms, std::int64_t for_ms);
  /// It starts twice within that time, each time with another directory, and the second time with
  /// its clock back by up to twice `step_ms`. See start_faults.cc.
  void StepFor(const std::string& region, std::int64_t step_ms, std::int64_t for_ms);
  /// It is told to stop, as an operator does, and started again for_ms after its end.
  void StopFor(const std::string& region, std::int64_t for_ms);
  void HasEnded(std::size_t stop, std::size_t fault, std::int64_t for_ms);
  /// Whoever looks after it loses patience.
  void KillUnlessEnded(std::size_t stop, std::size_t fault, std::uint64_t start,
                       std::int64_t for_ms);
  void EndStopped(std::size_t fault, std::int64_t for_ms);
  /// It leads, and has been well with most others for so long that one of them can take over soon.
  bool MustHandOver(const std::string& region) const;
  /// Somebody starts a copy, in vain. When it is so old it is adopted, and takes the place of its
  /// original for a while.
  void CloneFor(const std::string& region, std::int64_t age_ms, std::int64_t for_ms);
  void PauseFor(const std::string& region, std::int64_t for_ms);
  void JumpFor(const std::string& region, std::int64_t amount_ms, std::int64_t for_ms);
  /// It starts anew with its wall clock ahead, and is asked to lead. One at a time.
  void StartAheadFor(const std::string& region, std::int64_t amount_ms, std::int64_t for_ms);
  void EndAhead(std::int64_t amount_ms);
  /// It is down for as long as its wall clock is then behind, so that nothing tells it.
  void StartBehindFor(const std::string& region, std::int64_t amount_ms, std::int64_t for_ms);
  void EndBehind();
  /// Dead for good, or as good as that. False: later.
  bool EndOff();
  /// The leader is cut off, and asked to take all others out before it knows.
  void DismissOthers(std::int64_t for_ms);
  void TransferTo(const std::string& region);
  void DismissFor(const std::string& region, std::int64_t for_ms);
  void BeginFault(Fault fault);
  void Drift();
  void Supervise();
  void StartAgain(const std::string& region);
  void SetOffset(const std::string& region, std::int64_t offset_ms);
  void EndWildJump(const std::string& region);

  std::size_t Open(Fault::Kind kind, const std::string& region, const std::string& other = "",
                   std::int64_t amount = 0);
  void Close(std::size_t fault);
  bool IsOver(std::size_t fault) const { return history_.faults[fault].to_ms >= 0; }
  /// It was told to stop, has callers to answer, and takes nothing from its peers any more. That is
  /// over when it was started again.
  bool IsStopping(const Fault& fault) const;
  /// Runs `end` and closes the fault, unless it is over by then.
  void CloseAfter(std::int64_t delay_ms, std::size_t fault, std::function<void()> end);
  std::string AnyRegion();
  /// Any region, or the one that leads, as often as the options say.
  std::string Victim();
  /// "leader" and "follower" are whoever is that now; other names stay.
  std::string Resolve(const std::string& region);
  std::int64_t NowMillis() const;
  std::int64_t Below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(bound)));
  }

  Cluster& cluster_;
  GroupOperator& keeper_;
  const FaultOptions options_;
  Random random_;
  History& history_;
  bool stopped_ = false;
  std::int64_t start_us_;
  std::int64_t until_ms_ = 0;
  std::map<std::string, std::int64_t> offset_ms_;  // of the wall clock, within the bound
  std::map<std::string, std::size_t> crash_;       // open faults
  std::map<std::string, std::size_t> wild_;
  std::map<std::string, std::int64_t> wild_ms_;
  std::string off_;
  std::set<std::string> started_ahead_;
  std::set<std::string> started_behind_;
  std::uint32_t replacements_ = 0;
  std::vector<StrictRoute> rules_;  // that all regions had last
  bool changing_rules_ = false;
};

}  // namespace once
