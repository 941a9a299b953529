#include "simulator/report_figures.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace once {
namespace {

std::string ShellWord(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=+,@%";
  if (word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::int64_t LatestOf(const History& history) {
  std::int64_t latest = std::max<std::int64_t>({1, history.end_ms, history.safety_ms});
  for (const Operation& operation : history.operations)
    latest = std::max({latest, operation.invoked_ms, operation.returned_ms});
  for (const Fault& fault : history.faults) latest = std::max({latest, fault.from_ms, fault.to_ms});
  for (const LostRun& lost : history.lost) latest = std::max(latest, lost.detected_ms);
  for (const LagSample& sample : history.lags) latest = std::max(latest, sample.at_ms);
  for (const Violation& violation : history.violations) latest = std::max(latest, violation.at_ms);
  return latest;
}

void CountOperations(const History& history, Figures& figures) {
  for (const std::string& region : history.regions) figures.by_region[region];
  for (const Operation& operation : history.operations) {
    ++figures.by_kind[operation.kind];
    ++figures.by_answer[operation.answer];
    ++figures.by_meaning[MeaningOf(operation)];
    ++figures.by_region[operation.region][operation.answer];
  }
}

void MeasureTimes(const History& history, Figures& figures) {
  std::vector<std::int64_t> took;
  for (const Convergence& convergence : history.convergences) {
    took.push_back(convergence.took_ms);
    if (convergence.took_ms > history.lag_bound_ms) ++figures.convergence_over_bound;
  }
  figures.convergence = QuantilesOf(std::move(took));

  std::vector<std::int64_t> lags;
  std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> by_link;
  for (const LagSample& sample : history.lags) {
    lags.push_back(sample.lag_ms);
    by_link[{sample.from, sample.to}].push_back(sample.lag_ms);
    if (sample.lag_ms > history.lag_bound_ms) ++figures.lag_over_bound;
  }
  figures.lag = QuantilesOf(std::move(lags));
  for (auto& [link, values] : by_link) figures.lag_by_link[link] = QuantilesOf(std::move(values));
}

}  // namespace

Quantiles QuantilesOf(std::vector<std::int64_t> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto rank = [&values](std::size_t percent) {
    return values[(values.size() * percent + 99) / 100 - 1];
  };
  return {values.size(), rank(50), rank(90), rank(99), values.back()};
}

std::string ReproduceCommand(std::uint64_t seed, const std::string& scenario, bool strict) {
  std::string command = "once-sim run --seed " + std::to_string(seed);
  if (strict) command += " --strict";
  if (!scenario.empty()) command += " --scenario " + ShellWord(scenario);
  return command;
}

Figures FiguresOf(const History& history) {
  Figures figures;
  figures.passed = history.violations.empty();
  figures.reproduce = ReproduceCommand(history.seed, history.scenario, history.strict);
  figures.end_ms = LatestOf(history);
  CountOperations(history, figures);
  for (const LostRun& lost : history.lost) {
    ++figures.lost_by_pair[lost.region_pair];
    figures.payload_divergent += lost.payload_divergent;
    figures.loser_had_completed += lost.loser_had_completed;
  }
  for (const Fault& fault : history.faults) ++figures.faults[fault.kind];
  MeasureTimes(history, figures);
  return figures;
}

}  // namespace once
