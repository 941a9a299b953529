#include "tests/simulator/linearization_search.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "simulator/report_words.h"

namespace once {
namespace {

using Kind = Operation::Kind;
using Heard = Operation::Answer;
using Told = std::pair<std::uint32_t, std::string>;

/// One run of the slot: its highest fence, and what it came to under that.
struct RunState {
  std::uint64_t fence = 0;
  bool pending = true;
  bool settled = false;
  bool gone = false;
  bool unheard = false;  // whoever claimed it may settle it without being seen
  Told told;
  auto operator<=>(const RunState&) const = default;
};

/// The slot, exactly: the present run, and all that were.
struct SlotState {
  std::string present;  // one of
  std::map<std::string, RunState> runs;
  auto operator<=>(const SlotState&) const = default;

  RunState* Present() { return runs.empty() ? nullptr : &runs.at(present); }
  RunState* Find(const std::string& run_id, std::uint64_t fence) {
    const auto at = runs.find(run_id);
    return at != runs.end() && at->second.fence == fence ? &at->second : nullptr;
  }
  /// The run is there under that fence.
  RunState* Holds(const Operation& operation) {
    RunState* run = Find(operation.run_id, operation.fence);
    return run && !run->gone ? run : nullptr;
  }

  bool Claim(const std::string& run_id, std::uint64_t fence, bool unheard) {
    if (const RunState* run = Present()) {
      if (fence <= run->fence) return false;
      if (run_id == present && (run->gone || (run->settled && run->told.first < 500))) return false;
      if (run_id != present && (!run->gone || runs.count(run_id) > 0)) return false;
    }
    present = run_id;
    runs[run_id] = {fence, true, false, false, unheard, {}};
    return true;
  }

  bool Settle(RunState* run, const Told& told) {
    if (!run || !run->pending) return false;
    run->pending = false;
    run->settled = true;
    run->told = told;
    return true;
  }
};

Told OutcomeOf(const Operation& operation) {
  return {operation.status, operation.answer_body};
}

bool Unheard(const Operation& operation) {
  return operation.answer == Heard::kNone || operation.answer == Heard::kUnavailable;
}

std::int64_t Returned(const Operation& operation) {
  return Unheard(operation) ? std::numeric_limits<std::int64_t>::max() : operation.returned_ms;
}

class Search {
 public:
  explicit Search(const std::vector<Operation>& operations) {
    for (Operation step : operations) {
      if (step.answer == Heard::kUnavailable && step.refused) continue;
      const bool at_once = step.kind == Kind::kBegin && step.answer == Heard::kDone;
      Note(step);
      // It may be seen between its two steps.
      if (at_once) step.answer = Heard::kExecute;
      steps_.push_back(step);
      if (!at_once) continue;
      step.kind = Kind::kSettle;
      step.answer = Heard::kDone;
      steps_.push_back(step);
    }
  }

  bool Run() { return From(0, SlotState()); }

 private:
  void Note(const Operation& operation) {
    const bool renewed = operation.kind == Kind::kRenew;
    const bool told =
        !renewed && (operation.answer == Heard::kReplay || operation.answer == Heard::kDone);
    const bool shown =
        told || operation.answer == Heard::kExecute || operation.answer == Heard::kInFlight ||
        operation.answer == Heard::kMismatch || (renewed && operation.answer == Heard::kDone);
    if (operation.fence == 0 || !shown || (operation.kind == Kind::kSettle && !told)) return;
    shown_.insert({operation.run_id, operation.fence});
    if (told) told_.insert(OutcomeOf(operation));
  }

  bool From(std::uint32_t done, const SlotState& slot) {
    if (!tried_.emplace(done, slot).second) return false;
    std::int64_t first_return_ms = std::numeric_limits<std::int64_t>::max();
    bool over = true;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (done >> i & 1) continue;
      first_return_ms = std::min(first_return_ms, Returned(steps_[i]));
      over = over && Unheard(steps_[i]);
    }
    if (over) return true;
    for (const SlotState& next : ByItself(slot))
      if (From(done, next)) return true;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (done >> i & 1 || steps_[i].invoked_ms > first_return_ms) continue;
      for (const SlotState& next : After(slot, steps_[i]))
        if (From(done | 1u << i, next)) return true;
    }
    return false;
  }

  /// What the slot may do without a call: lapse, go, end a call that nobody heard of.
  std::vector<SlotState> ByItself(const SlotState& slot) const {
    std::vector<SlotState> all;
    if (slot.runs.empty() || slot.runs.at(slot.present).gone) return all;
    const RunState& run = slot.runs.at(slot.present);
    SlotState gone = slot;
    gone.Present()->pending = false;
    if (run.pending) all.push_back(gone);
    gone.Present()->gone = true;
    all.push_back(gone);
    if (!run.pending || !run.unheard) return all;
    for (const Told& told : told_) {
      SlotState settled = slot;
      settled.Settle(settled.Present(), told);
      all.push_back(std::move(settled));
    }
    return all;
  }

  std::vector<SlotState> After(const SlotState& before, const Operation& step) const {
    SlotState slot = before;
    if (step.kind == Kind::kBegin && Unheard(step)) {
      std::vector<SlotState> all;
      for (const auto& [run_id, fence] : shown_) {
        SlotState claimed = before;
        if (claimed.Claim(run_id, fence, true)) all.push_back(std::move(claimed));
      }
      return all;
    }
    const bool allowed = step.kind == Kind::kSettle  ? Settles(slot, step)
                         : step.kind == Kind::kRenew ? Renews(slot, step)
                                                     : Answers(slot, step);
    return allowed ? std::vector<SlotState>{std::move(slot)} : std::vector<SlotState>{};
  }

  bool Answers(SlotState& slot, const Operation& step) const {
    if (step.answer == Heard::kNotFound)
      return step.kind == Kind::kBegin || !slot.Present() || slot.Present()->gone;
    if (step.fence == 0) return true;
    const RunState* run = slot.Holds(step);
    switch (step.answer) {
      case Heard::kExecute:
        return slot.Claim(step.run_id, step.fence, false);
      case Heard::kInFlight:
        return run && run->pending;
      case Heard::kReplay:
        return run && run->settled && run->told == OutcomeOf(step);
      case Heard::kMismatch:
        return run;
      default:
        return true;
    }
  }

  bool Settles(SlotState& slot, const Operation& step) const {
    if (step.fence == 0) return true;
    RunState* run = slot.Find(step.run_id, step.fence);
    const auto latest = slot.runs.find(step.run_id);
    const bool shown = shown_.count({step.run_id, step.fence}) > 0;
    switch (step.answer) {
      case Heard::kNone:
      case Heard::kUnavailable:
      case Heard::kDone:
        return slot.Settle(run, OutcomeOf(step));
      case Heard::kReplay:
        return run && run->settled && run->told == OutcomeOf(step);
      case Heard::kStaleFence:
        if (!shown) return true;
        return latest != slot.runs.end() && latest->second.fence >= step.fence &&
               !(run && run->pending);
      case Heard::kNotFound:
        return !shown || (latest != slot.runs.end() && latest->second.gone);
      default:
        return true;
    }
  }

  bool Renews(SlotState& slot, const Operation& step) const {
    if (step.fence == 0 || Unheard(step)) return true;
    if (step.answer != Heard::kDone) return Settles(slot, step);
    const RunState* run = slot.Holds(step);
    return run && run->pending;
  }

  std::vector<Operation> steps_;
  std::set<std::pair<std::string, std::uint64_t>> shown_;
  std::set<Told> told_;
  std::set<std::pair<std::uint32_t, SlotState>> tried_;
};

}  // namespace

bool CanBeLinearized(const std::vector<Operation>& operations) {
  return Search(operations).Run();
}

std::string Shown(std::vector<Operation> operations) {
  std::stable_sort(operations.begin(), operations.end(),
                   [](const Operation& one, const Operation& other) {
                     return one.invoked_ms < other.invoked_ms;
                   });
  std::ostringstream text;
  for (const Operation& operation : operations) {
    text << "  [" << operation.invoked_ms << ", ";
    if (Unheard(operation))
      text << "never";
    else
      text << operation.returned_ms;
    text << "] #" << operation.id << " " << Word(operation.kind) << " -> "
         << Word(operation.answer);
    if (!operation.run_id.empty() || operation.fence > 0)
      text << " run " << operation.run_id << " fence " << operation.fence;
    if (operation.status > 0 || !operation.answer_body.empty())
      text << " " << operation.status << " '" << operation.answer_body << "'";
    text << "\n";
  }
  return text.str();
}

}  // namespace once
