// The arithmetic of majorities. Everything the group decides is decided by one of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace once {

/// More than half of `voters`. Any two majorities of one set share a voter, and so do majorities of
/// two sets that differ by one voter: the reason why membership changes one at a time.
constexpr std::size_t MajorityOf(std::size_t voters) {
  return voters / 2 + 1;
}

/// The largest value that a majority has reached, given what each voter has reached; 0 for no
/// voters, who can decide nothing.
std::uint64_t MajorityReached(std::vector<std::uint64_t> reached);

enum class VoteOutcome { kOpen, kWon, kLost };

/// Of `voters`, so many said yes and so many no; the rest has not answered. No voters elect nobody.
VoteOutcome OutcomeOf(std::size_t voters, std::size_t yes, std::size_t no);

}  // namespace once
