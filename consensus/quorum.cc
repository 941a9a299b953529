#include "consensus/quorum.h"

#include <algorithm>
#include <functional>

#include "conflict/mutation.h"

namespace once {

std::uint64_t MajorityReached(std::vector<std::uint64_t> reached) {
  if (reached.empty()) return 0;
  const std::size_t rank = MutationOn("commit-without-quorum") ? 0 : MajorityOf(reached.size()) - 1;
  const auto nth = reached.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(reached.begin(), nth, reached.end(), std::greater<>());
  return *nth;
}

VoteOutcome OutcomeOf(std::size_t voters, std::size_t yes, std::size_t no) {
  if (voters == 0) return VoteOutcome::kLost;
  if (yes >= MajorityOf(voters)) return VoteOutcome::kWon;
  return voters - no < MajorityOf(voters) ? VoteOutcome::kLost : VoteOutcome::kOpen;
}

}  // namespace once
