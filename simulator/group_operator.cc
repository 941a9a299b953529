#include "simulator/group_operator.h"

#include <algorithm>
#include <vector>

#include "conflict/probe.h"

namespace once {
namespace {

constexpr std::int64_t kOperatorMs = 500;

const EngineMember* Find(const EngineStatus& status, const std::string& name) {
  const auto at = std::find_if(status.members.begin(), status.members.end(),
                               [&name](const EngineMember& member) { return member.name == name; });
  return at == status.members.end() ? nullptr : &*at;
}

}  // namespace

void GroupOperator::Start() {
  cluster_.time().After(kOperatorMs, [this] {
    Look();
    Start();
  });
}

bool GroupOperator::Leads(const std::string& region) {
  StrictGroup* const group = cluster_.group(region);
  return group && group->engine().Leads();
}

std::string GroupOperator::Leader() {
  std::vector<std::string> leaders;
  for (const std::string& region : cluster_.regions())
    if (Leads(region)) leaders.push_back(region);
  return leaders.empty() ? "" : leaders[random_.Below(leaders.size())];
}

bool GroupOperator::IsLost(const std::string& member) {
  return member != cluster_.Member(RegionOfMember(member));
}

bool GroupOperator::IsUnwanted(const std::string& member) {
  return dismissed_.count(RegionOfMember(member)) > 0 || IsLost(member);
}

void GroupOperator::Look() {
  LookAt(Leader());
}

// New ones come before old ones go, and vote when those are gone: of three voters, two of which are
// well, two are needed at every moment. Whose directory is lost goes before anybody else does: no
// vote of it will come, and it must stay a minority. For the same reason nobody is dismissed while
// no more vote than must when a directory is lost: those who came back may not vote yet.
void GroupOperator::LookAt(const std::string& leader) {
  if (leader.empty() || cluster_.IsPaused(leader)) return;
  const EngineStatus status = cluster_.group(leader)->engine().Status();
  for (const std::string& region : cluster_.regions())
    if (!dismissed_.count(region) && !Find(status, cluster_.Member(region)))
      Ask(leader, {MemberChange::Kind::kAdd, cluster_.Member(region)});
  const bool lost = std::any_of(status.members.begin(), status.members.end(),
                                [this](const EngineMember& member) { return IsLost(member.name); });
  const auto voters = std::count_if(status.members.begin(), status.members.end(),
                                    [](const EngineMember& member) { return member.voter; });
  bool tidy = true;
  for (const EngineMember& member : status.members) {
    if (!IsUnwanted(member.name)) continue;
    if (!IsLost(member.name) && member.voter && voters <= voters_min_) continue;
    tidy = false;
    if (!lost || IsLost(member.name)) Ask(leader, {MemberChange::Kind::kRemove, member.name});
  }
  for (const EngineMember& member : status.members)
    if (tidy && !member.voter) Ask(leader, {MemberChange::Kind::kPromote, member.name});
}

bool GroupOperator::IsCutOff(const std::string& region) {
  return std::any_of(
      cluster_.regions().begin(), cluster_.regions().end(), [&](const std::string& other) {
        return cluster_.network().IsCut(region, other) || cluster_.network().IsCut(other, region);
      });
}

void GroupOperator::Ask(const std::string& leader, const MemberChange& change) {
  const Raft* const raft = cluster_.raft(leader);
  const bool pending = raft && raft->log().membership_index() > raft->commit();
  const bool refused = !cluster_.group(leader)->engine().Change(change).empty();
  if (pending && refused) ++refused_;
  if (!refused && IsCutOff(leader)) Reached("members changed while their leader was cut off");
  if (!refused && change.member == cluster_.Member(leader))
    Reached("a leader was asked to remove itself");
  if (!refused && change.kind == MemberChange::Kind::kPromote)
    Reached("a learner was made a voter");
  if (cluster_.on_step) cluster_.on_step(leader);
}

void GroupOperator::Transfer(const std::string& region) {
  const std::string leader = Leader();
  if (leader.empty() || cluster_.IsPaused(leader)) return;
  cluster_.group(leader)->engine().Transfer(cluster_.Member(region));
  if (cluster_.on_step) cluster_.on_step(leader);
}

std::string GroupOperator::Missing(const std::string& leader) {
  const EngineStatus status = cluster_.group(leader)->engine().Status();
  for (const EngineMember& member : status.members) {
    if (IsUnwanted(member.name)) return member.name + " is still a member";
    if (!member.voter) return member.name + " does not vote yet";
  }
  for (const std::string& region : cluster_.regions())
    if (!dismissed_.count(region) && !Find(status, cluster_.Member(region)))
      return cluster_.Member(region) + " is no member";
  return "";
}

}  // namespace once
