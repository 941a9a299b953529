#include "consensus/membership.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace once {
namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;

bool Has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void Insert(Names& names, const std::string& name) {
  *names.Add() = name;
  std::sort(names.begin(), names.end());
}

void Erase(Names& names, std::string_view name) {
  names.erase(std::remove(names.begin(), names.end(), name), names.end());
}

}  // namespace

bool IsVoter(const Membership& membership, std::string_view member) {
  return Has(membership.voters(), member);
}

bool IsLearner(const Membership& membership, std::string_view member) {
  return Has(membership.learners(), member);
}

bool IsMember(const Membership& membership, std::string_view member) {
  return IsVoter(membership, member) || IsLearner(membership, member);
}

std::optional<Membership> Changed(const Membership& membership, const MembershipChange& change) {
  Membership next = membership;
  switch (change.kind) {
    case MembershipChange::Kind::kAddLearner:
      if (change.member.empty() || IsMember(membership, change.member)) return std::nullopt;
      Insert(*next.mutable_learners(), change.member);
      break;
    case MembershipChange::Kind::kPromote:
      if (!IsLearner(membership, change.member)) return std::nullopt;
      Erase(*next.mutable_learners(), change.member);
      Insert(*next.mutable_voters(), change.member);
      break;
    case MembershipChange::Kind::kRemove:
      if (!IsMember(membership, change.member)) return std::nullopt;
      Erase(*next.mutable_learners(), change.member);
      Erase(*next.mutable_voters(), change.member);
      break;
  }
  if (next.voters().empty()) return std::nullopt;
  return next;
}

bool MajoritiesOverlap(const Membership& a, const Membership& b) {
  std::vector<std::string> different;
  std::set_symmetric_difference(a.voters().begin(), a.voters().end(), b.voters().begin(),
                                b.voters().end(), std::back_inserter(different));
  return different.size() <= 1;
}

}  // namespace once
