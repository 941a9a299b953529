#include "simulator/probes.h"

#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "conflict/probe.h"

namespace once {
namespace {

// What is expected where: in best-effort worlds, in strict worlds.
constexpr Probe kProbes[] = {
    // The life of a claim.
    {"a claim was superseded while its completion was on the way", true, false},
    {"an owner renewed after the end of its lease", true, true},
    {"an open claim made room for another request", true, true},
    // Bounds.
    {"a slot held as many claims of a region as it may", true, false},
    {"eviction passed over a claim that somebody worked on", true, false},
    {"a loser's survivor lost to a lower run", true, false},
    {"a claim came that may have been forgotten here", true, false},
    {"a region executed a key when the lease of another region's claim was over", true, false},
    // What regions tell each other.
    {"a frame over a gap came from a relay", true, false},
    {"a frame was larger than the window", true, false},
    {"a digest came so late that it may stand for what was forgotten", true, false},
    {"a message found the queue to a peer full", true, true},
    {"a peer lacked what the journal had dropped", true, false},
    {"a peer was held back because something was unsent", true, false},
    // Regions that lost their data.
    {"a region started twice within the clock bound", true, false},
    {"a region heard that it had spoken under a higher number", true, false},
    {"a region got its own claim back", true, false},
    {"a region got a claim back that somebody may still work on", true, false},
    {"a region got the record of its own loser back", true, false},
    {"a region got the record of its own late completion back", true, false},
    {"a baseline stood for dropped frames", true, false},
    // Runs: what is forwarded to their home.
    {"somebody asked about a run that is not known here yet", true, true},
    {"a forwarded command came after its caller had given up", true, true},
    {"a reply came when nobody waited for it any more", true, true},
    {"a reply came to a later start of its asker", true, false},
    // What becomes of them.
    {"a cancellation met a run that had ended", true, true},
    {"an approval met a run that was cancelled meanwhile", true, true},
    {"an approval met a run that does not wait for it", false, true},
    {"the step of a run came before it was due", true, true},
    {"a run is due later than the leader's next look", false, true},
    {"a run came due when its leader led no more", false, true},
    {"a read waited, and others changed meanwhile what it shows", true, true},
    {"a run was forgotten", true, true},
    {"a run had another end when its first was to be forgotten", true, false},
    {"a node was started to keep runs for longer than last time", true, true},
    // Losers, and homes that lost their directory.
    {"a loser had completed before it was cancelled", true, true},
    {"a loser was waiting for an approval", true, true},
    {"a loser had been cancelled by its caller", true, false},
    {"a run came back to a home that had lost it and goes on", true, true},

    // Members of the strict group, and who leads it.
    {"a membership change was asked of a leader before its term had committed", false, true},
    {"members changed while their leader was cut off", false, true},
    {"a leader was asked to remove itself", false, true},
    {"a leader that was removed stepped down", false, true},
    {"a learner was made a voter", false, true},
    {"a member was removed while it was sent a snapshot", false, true},
    {"leadership was to be handed to a learner", false, true},
    {"a leader stepped down before reads had got a round", false, true},
    {"a leader stepped down with a round of reads on its way", false, true},
    {"a divergent tail was cut off", false, true},
    {"a change of members was cut off with a divergent tail", false, true},
    {"a snapshot was given up for a newer one", false, true},

    // Nodes that are told to stop.
    {"a node ended as it was told", true, true},
    {"a leader was told to stop", false, true},

    // Requests on their way to it.
    {"a request of an earlier start came through the log", false, true},
    {"a request was taken up after its caller had got its 503", false, true},
    {"a request came so late that nobody waits for it", false, true},

    // Rules that differ.
    {"a node refused rules that would move a claim", false, true},
    {"a node was started with other rules than last time", false, true},
    {"all nodes have other rules than at the beginning", false, true},
    {"a leader's rules were not those of most voters", false, true},
    {"the rules of an earlier start of a node were heard late", false, true},
    {"a leader was asked by a node with other rules", false, true},
    {"the rules of who is taken for the leader are not those that it led with", false, true},

    // Clocks that differ.
    {"a leader gave way because its clock differs from most", false, true},
    {"a node that knew that its clock differs had no answer", false, true},
    {"a node whose clock was behind, and was not told, replayed by itself", false, true},
};

ProbeCounts& Counts() {
  static ProbeCounts counts(std::size(kProbes));
  return counts;
}

void Count(std::string_view state) {
  static const auto places = [] {
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < std::size(kProbes); ++i) places.emplace(kProbes[i].state, i);
    return places;
  }();
  const auto at = places.find(state);
  if (at == places.end()) std::abort();  // a test compares the list with the code
  ++Counts()[at->second];
}

}  // namespace

std::span<const Probe> Probes() {
  return kProbes;
}

void CountProbes() {
  probe_listener = Count;
}

ProbeCounts TakeProbeCounts() {
  return std::exchange(Counts(), ProbeCounts(std::size(kProbes)));
}

}  // namespace once
