#include <algorithm>
#include <map>

#include "simulator/checks.h"
#include "simulator/run_callers.h"
#include "simulator/story_of_key.h"
#include "simulator/story_of_run.h"
#include "simulator/take_up_watch.h"

namespace once {
namespace {

/// What shows in the regions that a command was carried out.
struct EffectSeen {
  std::string region;
  std::string run_id;
  std::int64_t at_ms = 0;  // since the start of the run, by the clock of its home
};

/// By number of the command. A region of the strict group shows it like any other.
std::multimap<std::uint64_t, EffectSeen> EffectsIn(const RunHoldings& holdings,
                                                   std::int64_t start_wall_ms) {
  std::multimap<std::uint64_t, EffectSeen> effects;
  const std::string said = MarkOf(0).substr(0, MarkOf(0).size() - 1);
  for (const auto& [region, held] : holdings)
    for (const auto& [run_id, seen] : held.runs)
      for (const RunEvent& event : seen.events) {
        const auto at = event.payload().find(said);
        if (at == std::string::npos) continue;
        const std::uint64_t number = std::stoull(event.payload().substr(at + said.size()));
        effects.insert({number, {region, run_id, event.time_ms() - start_wall_ms}});
      }
  return effects;
}

// Who was told this knows that the request did nothing, and will do nothing. A message that comes
// twice may still find a run that has changed meanwhile, where no key holds it back.
bool SaysNothingWasDone(const Operation& told, const std::string& home) {
  const bool here = told.strict || told.region == home;
  if (told.refused) return true;
  if (told.answer == Operation::Answer::kFull) return here;
  if (told.answer == Operation::Answer::kMismatch) return true;
  return IsCarriedOut(told) && told.status >= 400 && (here || !told.key.empty());
}

// An ended run may be forgotten at home, and with it its events, while others still have it.
bool IsHeld(const std::string& run_id, const std::string& home, const RunHoldings& holdings) {
  return std::all_of(holdings.begin(), holdings.end(), [&](const auto& held) {
    return (home != kStrictRegion && held.first != home) || held.second.runs.count(run_id);
  });
}

class RunCommands {
 public:
  using Attempts = std::vector<const Operation*>;

  RunCommands(const History& history, const RunHoldings& holdings, std::int64_t start_wall_ms)
      : history_(history), holdings_(holdings), effects_(EffectsIn(holdings, start_wall_ms)) {}

  Violations Look() {
    for (const auto& [run_id, story] : StoriesOfRuns(history_)) {
      std::map<std::uint64_t, Attempts> commands;
      for (const Operation* call : story.calls)
        if (IsRunCommand(*call)) commands[call->body].push_back(call);
      for (const auto& [number, attempts] : commands) {
        LookAtPlace(story, attempts);
        LookAtAnswers(story, attempts);
        LookAtTime(story, attempts);
      }
    }
    LookAtWebhooks();
    return std::move(violations_);
  }

 private:
  void Say(const Operation& call, const std::string& what) {
    violations_.push_back({"run-commands", Describe(call) + " " + what, call.returned_ms});
  }

  // Once, for its run, and at home.
  void LookAtPlace(const StoryOfRun& story, const Attempts& attempts) {
    const Operation& last = *attempts.back();
    std::map<std::string, int> times;
    const auto [begin, end] = effects_.equal_range(last.body);
    for (auto at = begin; at != end; ++at) {
      const EffectSeen& effect = at->second;
      if (effect.run_id != last.run_id) Say(last, "was done to run " + effect.run_id);
      if (++times[effect.region] > 1) Say(last, "was carried out twice in " + effect.region);
      if (story.home != kStrictRegion && effect.region != story.home)
        Say(last, "was carried out in " + effect.region);
    }
  }

  // What its callers were told is so.
  void LookAtAnswers(const StoryOfRun& story, const Attempts& attempts) {
    if (MayHaveForgotten(history_, story.home, history_.safety_ms)) return;
    const Operation& last = *attempts.back();
    const bool done = effects_.count(last.body) > 0;
    const bool foreign = !story.tenant.empty() && story.tenant != last.tenant;
    const bool nothing = std::ranges::all_of(
        attempts, [&](const Operation* told) { return SaysNothingWasDone(*told, story.home); });
    if (done && (foreign || nothing)) Say(last, "was carried out, though nothing was to be done");
    for (const Operation* told : attempts) {
      const bool decided =
          told->kind != Operation::Kind::kCancel && IsCarriedOut(*told) && told->status == 200;
      if (decided && !done && IsHeld(last.run_id, story.home, holdings_))
        Say(*told, "was acknowledged and is not there");
    }
  }

  // By the home's clock, or the leader's stamp.
  void LookAtTime(const StoryOfRun& story, const Attempts& attempts) {
    const auto done = effects_.find(attempts.back()->body);
    if (done == effects_.end()) return;
    std::int64_t latest_ms = 0;
    for (const Operation* told : attempts)
      latest_ms =
          std::max(latest_ms, story.home == kStrictRegion ? LatestTakeUpMillis(history_, *told)
                                                          : LatestAtHome(*told));
    if (done->second.at_ms > latest_ms)
      Say(*attempts.back(),
          "was carried out at " + std::to_string(done->second.at_ms) + ", long after its 503");
  }

  // Its caller had given up by then.
  static std::int64_t LatestAtHome(const Operation& told) {
    const bool given_up = told.answer == Operation::Answer::kUnavailable && !told.refused;
    return given_up ? told.returned_ms + 2 * kSkewBoundMs : INT64_MAX;
  }

  void LookAtWebhooks() {
    for (const auto& [region, held] : holdings_)
      for (const auto& [address, times] : held.webhooks)
        if (times > 1)
          violations_.push_back(
              {"run-commands", region + ": " + address + " is registered twice", 0});
  }

  const History& history_;
  const RunHoldings& holdings_;
  const std::multimap<std::uint64_t, EffectSeen> effects_;
  Violations violations_;
};

}  // namespace

Violations CheckRunCommands(const History& history, const RunHoldings& holdings,
                            std::int64_t start_wall_ms) {
  return RunCommands(history, holdings, start_wall_ms).Look();
}

}  // namespace once
