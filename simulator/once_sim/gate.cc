#include "simulator/once_sim/gate.h"

#include <algorithm>
#include <cstdio>

#include "conflict/mutation.h"
#include "simulator/once_sim/swarm.h"

namespace once {

#ifdef ONCE_MUTATIONS
namespace {

struct Seeded {
  const char* name;  // where it is: grep for it
  bool strict = false;
  const char* checker = "";    // what it was made for; empty: any
  std::uint64_t patience = 1;  // so many times as many seeds: docs/SIMULATION.md says why
};

constexpr Seeded kSeeded[] = {
    {"pairwise-merge"},
    {"highest-run-id"},
    {"counter-without-dedup"},
    {"losses-not-persisted"},
    {"cancel-twice"},
    {"supersede-forgotten"},
    {"early-expiry"},
    {"retryable-replayed"},
    {"mismatch-ignored"},
    {"lease-ignored-after-restart"},
    {"stale-fence-accepted"},
    {"settled-abroad"},
    {"abandoned-completed"},
    {"forgotten-sync"},
    {"acknowledged-before-durable"},
    {"told-before-durable"},
    {"lost-push"},
    {"frame-over-gap"},
    {"never-sent-again"},
    {"undo-forgotten"},
    {"incarnation-reused"},
    {"second-try-refused"},
    {"gauge-forgets"},
    {"clock-unchecked"},
    {"hot-slots-stay"},
    {"slot-not-in-filter"},
    {"followed-for-ever"},
    {"streams-never-closed"},
    {"copy-not-noticed"},
    // Of renewals, waiting callers, policies and size bounds.
    {"renewed-by-late-owner", false, "fence"},
    {"renewal-without-effect", false, "one-winner"},
    {"abandoned-renewed", false},
    {"claims-left-open", false},
    {"work-before-answers", false, "answers"},
    {"nobody-woken", false, "waiting"},
    {"policies-forgotten", false, "policies"},
    {"one-slot-too-many", false, "sizes"},
    {"byte-bound-ignored", false, "sizes"},
    {"byte-bound-ignored", true, "sizes"},
    {"worked-on-evicted", false},
    {"slots-without-bound", false, "sizes"},
    {"open-batch-read", false, "shown"},
    // The process dies.
    {"claim-taken-for-granted", false},
    // What regions know, keep, count and forget.
    {"hint-without-bound", false, "heard-lease"},
    {"hint-forgotten-at-start", false, "heard-lease"},
    {"hint-by-first-lease", false, "heard-lease"},
    {"hint-for-ever", false, "blocked"},
    {"replayed-when-over", false, "zombie"},
    {"failure-loses"},
    {"second-end-stands"},
    {"ended-reopened"},
    {"losers-forgotten", false, "records"},
    {"fence-floor-dropped", false, "home-fences"},
    {"returned-fence-ignored"},
    {"record-not-shipped", false, "records"},
    {"record-without-kind"},
    {"late-completion-twice", false, "records"},
    {"late-completions-forgotten", false, "records"},
    {"late-completion-unlisted", false, "late-completions"},
    {"forgotten-uncovered", false, "forgetting"},
    {"never-forgotten"},
    {"index-entry-stays", false, "forgetting"},
    {"erased-bytes-stay", false, "forgetting"},
    {"frame-over-window-stays"},
    {"relayed-over-gap"},
    {"baseline-too-early"},
    {"retold-by-halves"},
    // Of runs.
    {"given-up-carried-out", false, "run-commands"},
    {"reply-to-former-self"},
    {"forwarded-without-key"},
    {"unknown-run-is-nobodys", false, "run-answers"},
    {"foreign-run-shown"},
    {"ended-run-cancelled"},
    {"decided-twice"},
    {"due-not-looked-at", false, "run-events"},
    {"copy-advanced-abroad"},
    {"step-not-compared", true, "run-events", 3},
    {"claim-before-run", false, "cancelled"},
    {"completed-before-forgotten", false, "cancelled"},
    {"loss-without-reason"},
    {"keyless-runs-forgotten"},
    {"token-not-indexed", false, "run-records"},
    {"live-run-expires", false, "run-records"},
    {"returned-run-not-resumed", false, "run-progress"},
    {"run-index-entry-lost", false, "run-forgetting"},
    {"long-runs-forgotten", true, "run-progress"},
    // The node is told to stop.
    {"owners-turned-away", false, "stopped"},
    {"stopped-without-handover", true, "stopped"},
    {"waiters-given-up-at-stop", true, "stopped"},
    {"stop-waits-for-majority", true, "stopped"},
    // Of the Raft core.
    {"old-term-commit", true},
    {"commit-without-quorum", true},
    {"self-counted-early", true},
    {"append-acknowledged-early", true},
    {"vote-not-durable", true},
    {"commit-beyond-match", true},
    {"prev-term-ignored", true},
    {"skipped-truncation", true},
    {"snapshot-over-newer-log", true},
    {"read-without-round", true},
    {"no-pre-vote", true},
    {"hung-leader-stays", true},
    {"filter-outlives-store", true},
    {"emptied-voter-votes", true},
    {"membership-without-overlap", true},
    {"read-before-first-commit", true, "first-commit"},
    {"changed-before-first-commit", true, "first-commit"},
    {"promoted-behind", true, "caught-up"},
    {"transfer-to-learner", true, "voters-lead"},
    {"half-decides", true, "commit-quorum"},
    {"half-elects", true, "election-quorum"},
    {"decided-by-old-members", true, "commit-quorum"},
    {"unheard-leader-stays", true, "leader-quorum"},
    {"snapshot-without-members", true, "snapshot-membership"},
    // Of its driver, and of the strict ledger.
    {"vote-forgotten", true},
    {"tail-left-on-disk", true},
    {"applied-twice-after-restart", true},
    {"request-carried-out-twice", true},
    {"requests-kept-over-snapshot", true},
    {"late-request-taken", true, "take-up"},
    {"sent-forgotten", true, "take-up"},
    {"wait-begins-anew", false, "answered"},
    {"deadline-begins-anew", true, "answered"},
    {"reads-never-give-up", true, "answered"},
    {"unheard-rules-differ", true, "answered"},
    {"sent-called-refused", true},
    {"entropy-of-its-own", true, "equal-states"},
    {"rules-move-claims", true, "one-mode", 2},
    {"other-rules-admit", true, "other-rules"},
    {"changed-rules-unnoticed", true, "other-rules"},
    {"rules-forgotten-unheard", true, "other-rules"},
    {"former-leader-believed", true, "other-rules", 2},
    {"outvoted-rules-lead", true, "other-rules"},
    {"clock-forgotten-unheard", true, "other-clock"},
    {"recalled-while-unsafe", true, "other-clock"},
    {"pieces-of-two-snapshots", true},
    {"request-numbers-reused", true},
    {"read-before-applied", true},
    {"recalled-for-ever", true},
    {"fence-not-rising", true},
    {"leader-clock-unchecked", true},
};

Search SearchFor(const Seeded& seeded, const std::string& without, const GateArguments& arguments) {
  ActiveMutation() = seeded.name;
  SwarmArguments swarm;
  swarm.seeds = (seeded.strict ? arguments.seeds / 2 : arguments.seeds) * seeded.patience;
  swarm.first = arguments.first;
  swarm.jobs = arguments.jobs;
  swarm.strict = seeded.strict;
  swarm.without = without;
  Search search = SearchForFailure(swarm);
  ActiveMutation().clear();
  return search;
}

// The checker that it was made for; for any, the one that finds it first. Empty: nobody finds it.
std::string CheckerOf(const Seeded& seeded, const GateArguments& arguments) {
  if (seeded.checker[0] != 0) return seeded.checker;
  const Search search = SearchFor(seeded, "", arguments);
  return search.failure ? search.failure->why.substr(0, search.failure->why.find(':')) : "";
}

void Tell(const Seeded& seeded, const std::string& without, const Search& search) {
  const auto seeds = static_cast<unsigned long long>(search.seeds);
  std::printf("%-32s ", seeded.name);
  if (!without.empty()) std::printf("without %s ", without.c_str());
  if (search.failure)
    std::printf("found after %4llu seeds: %s\n", seeds, search.failure->why.c_str());
  else if (search.reached > 0)
    std::printf("NOT FOUND, reached in %llu of %llu seeds\n",
                static_cast<unsigned long long>(search.reached), seeds);
  else
    std::printf("NOT REACHED in %llu seeds\n", seeds);
  std::fflush(stdout);
}

}  // namespace

bool HasMutations() {
  return true;
}

bool TurnOn(const std::string& mutation) {
  ActiveMutation() = mutation;
  return std::ranges::any_of(kSeeded,
                             [&](const Seeded& seeded) { return mutation == seeded.name; });
}

int RunGate(const GateArguments& arguments) {
  int found = 0;
  int found_by_others = 0;  // though a checker was made for them
  int tried = 0;
  for (const Seeded& seeded : kSeeded) {
    if (!arguments.only.empty() && arguments.only != seeded.name) continue;
    if (arguments.strict && !seeded.strict) continue;
    ++tried;
    const std::string without = arguments.without ? CheckerOf(seeded, arguments) : "";
    const Search search = SearchFor(seeded, without, arguments);
    Tell(seeded, without, search);
    if (!search.failure) continue;
    ++found;
    found_by_others += seeded.checker[0] != 0;
  }
  std::printf("%d of %d found\n", found, tried);
  if (tried == 0) return 2;
  if (arguments.without) return found_by_others == 0 ? 0 : 1;
  return found == tried ? 0 : 1;
}
#else
bool HasMutations() {
  return false;
}

bool TurnOn(const std::string&) {
  return false;
}

int RunGate(const GateArguments&) {
  return 2;
}
#endif

}  // namespace once
