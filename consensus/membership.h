// Who belongs to the group, and the steps by which that may change. Members are compared by their
// whole name, "region/identity".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "consensus/raft.pb.h"

namespace once {

struct MembershipChange {
  enum class Kind {
    kAddLearner,  // a new member, receiving the log
    kPromote,     // a learner that has caught up becomes a voter
    kRemove,      // a voter or learner
  };
  Kind kind = Kind::kAddLearner;
  std::string member;
};

bool IsVoter(const Membership& membership, std::string_view member);
bool IsLearner(const Membership& membership, std::string_view member);
bool IsMember(const Membership& membership, std::string_view member);

/// `membership` after `change`; nothing if the change makes no sense there: no such member, one
/// that is so already, no name, or the last voter. The result has at most one voter more or less,
/// so that its majorities and the old ones overlap.
std::optional<Membership> Changed(const Membership& membership, const MembershipChange& change);

/// True if every majority of one shares a voter with every majority of the other, by the
/// sufficient rule that they differ by at most one voter.
bool MajoritiesOverlap(const Membership& a, const Membership& b);

}  // namespace once
