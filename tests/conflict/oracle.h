// The conflict rule again, as naively as it can be said: transitive closure of the pairs that
// overlap.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "conflict/claim.pb.h"
#include "conflict/survivor.h"

namespace once {

/// What the rule decides about each run.
struct Verdict {
  std::set<std::string> survivors;
  std::set<std::string> losers;
  std::map<std::string, std::string> redirects;  // of losers, and of failures that yielded

  bool operator==(const Verdict&) const = default;
};

/// By the naive rule.
Verdict NaiveVerdict(const std::vector<Claim>& claims);

/// By the code under test, from Components and RedirectOf.
Verdict VerdictOf(const Slot& slot);

/// The naive answer at a time.
std::string NaiveSurvivorAt(const std::vector<Claim>& claims, std::int64_t now_ms,
                            std::int64_t skew_ms);

}  // namespace once
