#include "consensus/quorum.h"

#include <algorithm>
#include <functional>

#include "conflict/mutation.h"

namespace once {

std::uint64_t MajorityReached(std::vector<std::uint64_t> reached) {
  if (reached.empty()) return 0;
  std::size_t rank = MajorityOf(reached.size()) - 1;
  if (MutationOn("commit-without-quorum")) rank = 0;
  if (reached.size() % 2 == 0 && MutationOn("half-decides")) --rank;
  const auto nth = reached.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(reached.begin(), nth, reached.end(), std::greater<>());
  return *nth;
}

VoteOutcome OutcomeOf(std::size_t voters, std::size_t yes, std::size_t no) {
  if (voters == 0) return VoteOutcome::kLost;
  const bool half = voters % 2 == 0 && 2 * yes == voters;
  if (yes >= MajorityOf(voters) || (half && MutationOn("half-elects"))) return VoteOutcome::kWon;
  return voters - no < MajorityOf(voters) ? VoteOutcome::kLost : VoteOutcome::kOpen;
}

}  // namespace once
