// Moments of a member of the strict group at which a fault does most harm.
#pragma once

namespace once {

enum class Moment {
  kLeads,     // it has begun to lead
  kVoted,     // it has given its vote to another
  kHalfSaid,  // it leads, and another holds what earlier leaders left but nothing of its own term
};

}  // namespace once
