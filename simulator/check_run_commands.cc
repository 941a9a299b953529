#include <algorithm>
#include <map>

#include "simulator/checks.h"
#include "simulator/run_callers.h"
#include "simulator/story_of_key.h"
#include "simulator/story_of_run.h"

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

}  // namespace

Violations CheckRunCommands(const History& history, const RunHoldings& holdings,
                            std::int64_t start_wall_ms) {
  Violations violations;
  const auto effects = EffectsIn(holdings, start_wall_ms);
  for (const auto& [run_id, story] : StoriesOfRuns(history)) {
    std::map<std::uint64_t, std::vector<const Operation*>> commands;
    for (const Operation* call : story.calls)
      if (IsRunCommand(*call)) commands[call->body].push_back(call);
    const bool forgotten = MayHaveForgotten(history, story.home, history.safety_ms);
    for (const auto& [number, attempts] : commands) {
      const Operation& last = *attempts.back();
      const auto say = [&](const Operation& call, const std::string& what) {
        violations.push_back({"run-commands", Describe(call) + " " + what, call.returned_ms});
      };
      std::map<std::string, int> times;
      const auto [begin, end] = effects.equal_range(number);
      for (auto at = begin; at != end; ++at) {
        const EffectSeen& effect = at->second;
        if (effect.run_id != run_id) say(last, "was done to run " + effect.run_id);
        if (++times[effect.region] > 1) say(last, "was carried out twice in " + effect.region);
        if (story.home != kStrictRegion && effect.region != story.home)
          say(last, "was carried out in " + effect.region);
      }
      const bool foreign = !story.tenant.empty() && story.tenant != last.tenant;
      const bool nothing =
          std::all_of(attempts.begin(), attempts.end(),
                      [&](const Operation* told) { return SaysNothingWasDone(*told, story.home); });
      if (begin != end && (foreign || nothing) && !forgotten)
        say(last, "was carried out, though nothing was to be done");
      for (const Operation* told : attempts) {
        const bool decided =
            told->kind != Operation::Kind::kCancel && IsCarriedOut(*told) && told->status == 200;
        if (decided && begin == end && !forgotten && IsHeld(run_id, story.home, holdings))
          say(*told, "was acknowledged and is not there");
      }
      // All of them have given up: by the home's clock none is taken up later.
      if (begin == end || story.home == kStrictRegion) continue;
      std::int64_t latest_ms = 0;
      for (const Operation* told : attempts) {
        const bool given_up = told->answer == Operation::Answer::kUnavailable && !told->refused;
        latest_ms =
            given_up ? std::max(latest_ms, told->returned_ms + 2 * kSkewBoundMs) : INT64_MAX;
        if (!given_up) break;
      }
      if (begin->second.at_ms > latest_ms)
        say(last,
            "was carried out at " + std::to_string(begin->second.at_ms) + ", long after its 503");
    }
  }
  for (const auto& [region, held] : holdings)
    for (const auto& [address, times] : held.webhooks)
      if (times > 1)
        violations.push_back({"run-commands", region + ": " + address + " is registered twice", 0});
  return violations;
}

}  // namespace once
