// What must hold, one function and one file (check_*.cc) per promise. Each looks at what callers
// saw, at what the regions hold in the end, or at both, and says every way in which it does not
// hold. Those over a History alone also judge the recorded history of a real cluster.
//
// Times in a history are true time, and a node's clock is off by less than the skew bound: a check
// over times calls wrong only what is wrong whatever the clocks said within that bound.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "simulator/cluster.h"
#include "simulator/history.h"
#include "simulator/link_watch.h"
#include "simulator/oracle.h"
#include "simulator/run_holdings.h"

namespace once {

using Violations = std::vector<Violation>;

/// In one region at most one caller at a time holds the lease of a key, and no (run, fence) is
/// given out twice.
Violations CheckOneWinner(const History& history);
/// A region that has said a final answer does not let anybody execute before its retention is over.
Violations CheckExpiry(const History& history);
/// Retries of one request get one answer, byte for byte, until its run loses: then the winner's.
/// Another body gets neither, and an outcome that invites a retry is never replayed.
Violations CheckAnswers(const History& history);
/// A completion is accepted only under the present fence, and in best-effort mode only at home.
Violations CheckFence(const History& history);
/// Best-effort mode: the fences that a region gives for a key rise, also when its directory was
/// lost or put back. Not judged: what a start gave within the clock bound before the one that had
/// another directory (docs/CONSISTENCY.md).
Violations CheckHomeFences(const History& history);
/// What is over is not answered with again, also when a late message tells of it.
Violations CheckZombie(const History& history);
/// While its wall clock is off by more than the bound a node admits nothing new of its own.
Violations CheckClock(const History& history);

/// Whoever waits while somebody is on it is answered when that one is done.
Violations CheckWaiting(const History& history);
/// Nobody is told that somebody is on it when no lease can be held any more. Judged by the starts
/// of regions, which a recorded history does not know.
Violations CheckBlocked(const History& history);
/// A begin meets the policy that was last set at run time in its region, also after restarts.
Violations CheckPolicies(const History& history);

/// Whoever waits at a node that is told to stop is answered before it ends, which it does soon.
/// Owners' ends are not refused. A leader hands over where others can take it, and who waits for
/// the strict group is not given up within a second: the next leader may answer.
Violations CheckStopped(const History& history);

/// The recorded losers are those that callers can tell: each once, by its home, to a lower run of
/// the same key. One whose home has answered with another run while it was to be kept is recorded.
/// Presumes that records were taken after the last call. Not judged: losers whose loss no caller
/// saw at their home, for it may not have heard yet; and, where a directory was lost, what that
/// may have undone.
Violations CheckConflicts(const History& history);

/// Strict mode: what callers of a key saw is what one slot, doing one thing at a time, can have
/// said (linearizability.h).
Violations CheckLinearizable(const History& history);
/// Strict mode: the fences of a key rise, and only the highest one that is known settles.
Violations CheckFences(const History& history);
/// Strict mode: what was acknowledged is in every later answer until its retention is over.
Violations CheckAcknowledged(const History& history);

/// No key is admitted in one mode while what was admitted in the other is kept: its final answer,
/// or its lease.
Violations CheckOneMode(const History& history);
/// A region that knows that its rules are not those in force admits nothing, in either mode.
Violations CheckOtherRules(const History& history);
/// A region that knows that its clock differs from the leader's replays no strict answer by itself:
/// what it replays is not there in the same millisecond.
Violations CheckOtherClock(const History& history);

/// Strict mode: what was acknowledged is in the end in every region's state until it is over.
Violations CheckKept(Cluster& cluster, const History& history, std::int64_t now_ms);

/// A slot that went as there was no room.
struct Eviction {
  std::string tenant;
  std::string key;  // empty: it came and went between two syncs
  std::int64_t at_ms = 0;
};
/// Marks what a region that stands alone had acknowledged, of what went with these slots.
void NoteEvicted(const std::vector<Eviction>& evictions, const Slots& left, History& history);

/// A node that is well answers about a key within its time, whatever links are cut and whoever else
/// is down: a strict call by its 503 at the latest, a best-effort one when its own disk has it, and
/// not with a 503 unless rules change in this world. Not judged: calls during, and just after, any
/// fault of the node, its disk or its clock. A recorded history does not tell those.
Violations CheckAnswered(const History& history, bool rules_change);
/// After a directory was replaced: marks what was acknowledged and is in none of those left. One
/// that had been set aside may bring something back.
void NoteLost(const Holdings& left, History& history);
/// What was acknowledged in these regions is there, except what is marked as lost, and what was
/// over `grace_ms` before `now_ms`.
Violations CheckDurability(const History& history, const Holdings& holdings, std::int64_t now_ms,
                           std::int64_t grace_ms);
/// All regions hold the same claims, and name the survivor that the oracle names.
Violations CheckSurvivor(Cluster& cluster, const Holdings& holdings);
/// A claim of a region that lost its directory may be gone, or have ended otherwise, after others
/// have lost against it; they stay cancelled and counted (docs/CONSISTENCY.md).
bool WinnerMayBeUndone(const Cluster& cluster, const Conflict& conflict);
/// Every loser was recorded and its run cancelled once, by its home region; nobody else was.
Violations CheckLosers(Cluster& cluster, const Holdings& holdings, const History& history);
/// The regions' conflict counts add up to the number of losers, with those that are forgotten.
Violations CheckConflictCount(Cluster& cluster, const Holdings& holdings, std::int64_t grace_ms);
/// Every region lists the same losers and late completions, each once. A home that lost its
/// directory may have said something else of its own.
Violations CheckRecords(Cluster& cluster, const Holdings& holdings);
/// At any start, and in the end: what the region counts is what it lists of its own. At a start
/// only those are asked that list something: the page of metrics costs more than the rest.
Violations CheckCounters(Cluster& cluster, const std::string& region, bool in_the_end = true);
/// Whoever succeeded after its claim had given way, and was told so, is listed everywhere.
Violations CheckLateCompletions(Cluster& cluster, const History& history);
/// What has been over for the grace is gone from the disk, the memory and the index; of the strict
/// ledger, which knows no grace, when it is over.
Violations CheckForgotten(Cluster& cluster);
/// The same of runs that ended as long ago as runs are kept, with their events and tokens. Those
/// that are left are indexed.
Violations CheckRunsForgotten(Cluster& cluster);
/// Nothing is left to say: journals are empty, every frame is acknowledged, no peer was refused
/// but those that `started_ahead`, and all by those that `started_behind`.
Violations CheckDrained(Cluster& cluster, const std::set<std::string>& started_ahead,
                        const std::set<std::string>& started_behind);

/// What a look-up showed of a slot in best-effort mode is on the disk, and no crash can take it
/// back.
Violations CheckShown(const MemoryDisk& disk, const std::string& hash, const Slot& shown);
/// A run that lost is cancelled in its record, in every region, and says whether it had completed;
/// or a caller had cancelled it before, and it says what that caller said.
Violations CheckCancelled(const History& history, const RunHoldings& holdings);
/// A command about a run takes effect once at most, at the run's home, and not when its caller was
/// told that nothing was done; a decision that was acknowledged is there. Whoever was told 503 need
/// not fear it later than the clock bound after that, by the clock of the home.
Violations CheckRunCommands(const History& history, const RunHoldings& holdings,
                            std::int64_t start_wall_ms);
/// A command under a key is carried out once and has one answer, about its run. A run that was
/// admitted is there for its tenant, and is none for others. Its events are only added to.
/// `kept_ms`: how long runs are kept at least.
Violations CheckRunAnswers(const History& history, std::int64_t kept_ms);
/// A run that was seen at its end stays there, or is cancelled because it lost.
Violations CheckRunEnds(const History& history, const RunHoldings& holdings);
/// A run's home has its events in sequence, from its start to at most one end and one loss, as its
/// record says; other regions have none.
Violations CheckRunEvents(const RunHoldings& holdings);
/// All regions hold the same record of every run, and the token of one that waits leads to it.
Violations CheckRunRecords(const RunHoldings& holdings, std::int64_t now_ms,
                           std::int64_t retention_ms);
/// A run that is due is carried on by its home, or by whoever leads the strict group.
Violations CheckRunProgress(const RunHoldings& holdings, std::int64_t now_ms);

/// A copy of the region's directory does not start, under its own name or another's.
Violations CheckClone(const Cluster& cluster, const std::string& region);

/// At any time: a store does not grow beyond its bound of slots by what callers ask of it. (Best
/// effort with several regions, and bytes, are asked where something is added: disk_watch.h,
/// strict_room_watch.h.)
Violations CheckSizes(Cluster& cluster);
/// Nobody was refused for want of room where there was some, and no slot grew beyond what a region
/// may add to it.
Violations CheckRoom(const Cluster& cluster, const Holdings& holdings, const History& history);

/// At any time: slots in memory keep to their bound, and the strict log is cut when it has twice
/// what is kept.
Violations CheckMemory(Cluster& cluster);
/// When all is quiet: besides, nothing is kept for a caller or a peer that waits for nothing, and
/// old streams are closed.
Violations CheckMemoryAtRest(Cluster& cluster);

/// While a link and its ends are well, news crosses it within the bound, and what had piled up
/// within as much more as it takes to go through.
Violations CheckLag(const std::vector<Divergence>& divergences, std::int64_t bound_ms,
                    const RunOptions& options);
/// The partition gauge is at most `slack_ms` below the age of the oldest state that is missing.
Violations CheckGauge(const std::vector<Divergence>& divergences, std::int64_t slack_ms);

/// All that need a history only.
Violations CheckHistory(const History& history);

}  // namespace once
