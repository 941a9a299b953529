#include "tests/conflict/oracle.h"

#include <algorithm>

namespace once {
namespace {

bool Final(const Claim& claim) {
  return claim.state() == COMPLETED || claim.state() == TERMINAL_FAILURE;
}

bool Touch(const Claim& a, const Claim& b) {
  const auto starts_ms = std::max(a.taken_up_ms(), b.taken_up_ms());
  const auto expires_ms = std::min(a.expires_ms(), b.expires_ms());
  return starts_ms < expires_ms;
}

/// Groups of indexes, found by relabelling until nothing changes.
std::map<int, std::vector<int>> Groups(const std::vector<Claim>& claims) {
  std::vector<int> label(claims.size());
  for (std::size_t at = 0; at < label.size(); ++at) label[at] = static_cast<int>(at);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t a = 0; a < claims.size(); ++a) {
      for (std::size_t b = 0; b < claims.size(); ++b) {
        if (a == b || !Final(claims[a]) || !Final(claims[b]) || !Touch(claims[a], claims[b]))
          continue;
        if (label[b] <= label[a]) continue;
        label[b] = label[a];
        changed = true;
      }
    }
  }
  std::map<int, std::vector<int>> groups;
  for (std::size_t at = 0; at < label.size(); ++at) {
    if (Final(claims[at])) groups[label[at]].push_back(static_cast<int>(at));
  }
  return groups;
}

std::string Winner(const std::vector<Claim>& claims, const std::vector<int>& group) {
  std::set<std::string> successes;
  std::set<std::string> failures;
  for (int at : group) {
    (claims[at].state() == COMPLETED ? successes : failures).insert(claims[at].run_id());
  }
  return successes.empty() ? *failures.begin() : *successes.begin();
}

}  // namespace

Verdict NaiveVerdict(const std::vector<Claim>& claims) {
  Verdict verdict;
  for (const auto& [label, group] : Groups(claims)) {
    const std::string winner = Winner(claims, group);
    verdict.survivors.insert(winner);
    for (int at : group) {
      const std::string& run_id = claims[at].run_id();
      if (run_id == winner) continue;
      if (claims[at].state() == COMPLETED) verdict.losers.insert(run_id);
      verdict.redirects[run_id] = winner;
    }
  }
  return verdict;
}

Verdict VerdictOf(const Slot& slot) {
  Verdict verdict;
  for (const Component& component : Components(slot)) {
    verdict.survivors.insert(component.survivor->run_id());
    for (const Claim* claim : component.losers) verdict.losers.insert(claim->run_id());
  }
  for (const Claim& claim : slot.claims()) {
    const Claim* winner = RedirectOf(slot, claim.run_id());
    if (winner) verdict.redirects[claim.run_id()] = winner->run_id();
  }
  return verdict;
}

std::string NaiveSurvivorAt(const std::vector<Claim>& claims, std::int64_t now_ms,
                            std::int64_t skew_ms) {
  std::string answer = "none";
  std::int64_t latest_ms = 0;
  for (const auto& [label, group] : Groups(claims)) {
    std::int64_t expires_ms = 0;
    for (int at : group) expires_ms = std::max(expires_ms, claims[at].expires_ms());
    if (now_ms >= expires_ms + skew_ms || expires_ms <= latest_ms) continue;
    latest_ms = expires_ms;
    answer = Winner(claims, group);
  }
  return answer;
}

}  // namespace once
