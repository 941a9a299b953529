// The numbers of a run, computed once for all files of its report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulator/history.h"
#include "simulator/report_words.h"

namespace once {

/// By nearest rank, so each is a value that really occurred. All 0 when there are no values.
struct Quantiles {
  std::size_t count = 0;
  std::int64_t p50 = 0;
  std::int64_t p90 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;
};
Quantiles QuantilesOf(std::vector<std::int64_t> values);

/// The command that runs a seed again, safe to paste in a shell.
std::string ReproduceCommand(std::uint64_t seed, const std::string& scenario, bool strict);

struct Figures {
  bool passed = true;       // no violation
  std::string reproduce;    // ReproduceCommand
  std::int64_t end_ms = 1;  // at least every time in the history
  std::map<Operation::Kind, std::size_t> by_kind;
  std::map<Operation::Answer, std::size_t> by_answer;
  std::map<Meaning, std::size_t> by_meaning;
  std::map<std::string, std::map<Operation::Answer, std::size_t>> by_region;  // every region
  std::map<std::string, std::size_t> lost_by_pair;
  std::size_t payload_divergent = 0;
  std::size_t loser_had_completed = 0;
  std::map<Fault::Kind, std::size_t> faults;
  Quantiles convergence;
  std::size_t convergence_over_bound = 0;
  std::map<std::pair<std::string, std::string>, Quantiles> lag_by_link;  // (from, to)
  Quantiles lag;
  std::size_t lag_over_bound = 0;
};
Figures FiguresOf(const History& history);

/// The value of a count that may be absent.
template <class Counts>
std::size_t CountOf(const Counts& counts, const typename Counts::key_type& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace once
