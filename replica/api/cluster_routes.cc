// The strict group, for its operator: who is in it and how far, and the changes
// of that.
#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "replica/api/api.h"
#include "replica/api/errors.h"
#include "replica/api/json_value.h"
#include "replica/strict/strict_group.h"

namespace once {
namespace {

namespace json = boost::json;

constexpr const char* kChanges =
    R"(The body must be {"found": [members]}, or {"add" | "promote" | "remove" | )"
    R"("transfer": "region/identity"}.)";

json::object MemberJson(const EngineMember& member, const EngineStatus& status) {
  json::object shown = {{"member", member.name},
                        {"region", RegionOfMember(member.name)},
                        {"role", member.name == status.leader ? "leader"
                                 : member.voter               ? "follower"
                                                              : "learner"}};
  // Only a leader knows how far the others are.
  if (member.stored) {
    shown["index"] = *member.stored;
    shown["lag"] = status.last - std::min(status.last, *member.stored);
  }
  return shown;
}

json::object StatusJson(StrictGroup& group) {
  const EngineStatus status = group.engine().Status();
  json::array members;
  for (const EngineMember& member : status.members)
    members.emplace_back(MemberJson(member, status));
  json::array other_rules;
  for (const std::string& region : group.RegionsWithOtherRules()) other_rules.emplace_back(region);
  return {{"member", status.name},         {"role", EngineRoleName(status.role)},
          {"leader", status.leader},       {"term", status.term},
          {"index", status.last},          {"committed", status.committed},
          {"applied", status.applied},     {"refusedMessages", group.refused()},
          {"members", std::move(members)}, {"otherRulesIn", std::move(other_rules)}};
}

// A list of names, or nothing.
std::optional<std::vector<std::string>> Names(const json::value& value) {
  if (!value.is_array()) return std::nullopt;
  std::vector<std::string> names;
  for (const json::value& name : value.as_array()) {
    if (!name.is_string()) return std::nullopt;
    names.emplace_back(name.as_string());
  }
  return names;
}

// "region/identity" of a region that takes part. Only its directory knows
// whether it is the identity.
bool CanBeMember(std::string_view member, const Config& config) {
  const auto slash = member.find('/');
  if (slash == std::string_view::npos || slash + 1 == member.size()) return false;
  const std::string_view region = member.substr(0, slash);
  return region == config.region ||
         std::any_of(config.peers.begin(), config.peers.end(),
                     [region](const PeerAddress& peer) { return peer.region == region; });
}

std::string NoMember(const std::string& member) {
  return member + " is not region/identity of a region in this node's configuration";
}

// Empty, or what is wrong with the list of a new group's members.
std::string WrongFounders(const std::vector<std::string>& founders, const Config& config) {
  std::set<std::string> regions;
  for (const std::string& founder : founders) {
    if (!CanBeMember(founder, config)) return NoMember(founder);
    if (!regions.insert(RegionOfMember(founder)).second)
      return "a region has one member, and " + RegionOfMember(founder) + " is named twice";
  }
  return "";
}

// What came of a change: 202, or another status and why.
struct ChangeResult {
  int status;
  std::string why;
};

ChangeResult BeginChange(Engine& engine, const Config& config, std::string_view change,
                         const json::value& value) {
  const auto tried = [](std::string refused) {
    return ChangeResult{refused.empty() ? 202 : 409, std::move(refused)};
  };
  if (change == "found") {
    const auto founders = Names(value);
    if (!founders) return {400, kChanges};
    if (std::string wrong = WrongFounders(*founders, config); !wrong.empty()) return {400, wrong};
    return tried(engine.Found(*founders));
  }
  if (!value.is_string()) return {400, kChanges};
  const std::string member(value.as_string());
  if (change == "add" && !CanBeMember(member, config)) return {409, NoMember(member)};
  if (change == "transfer") return tried(engine.Transfer(member));
  if (change == "add") return tried(engine.Change({MemberChange::Kind::kAdd, member}));
  if (change == "promote") return tried(engine.Change({MemberChange::Kind::kPromote, member}));
  if (change == "remove") return tried(engine.Change({MemberChange::Kind::kRemove, member}));
  return {400, kChanges};
}

}  // namespace

void Api::ShowCluster(Call& call) {
  if (!replica_.strict())
    return call.Fail(404, "no_strict_group", "This node is no member of a strict group.");
  call.respond(JsonReply(200, StatusJson(*replica_.strict())));
}

void Api::ChangeCluster(Call& call) {
  if (!replica_.strict())
    return call.Fail(404, "no_strict_group", "This node is no member of a strict group.");
  std::string error;
  const auto body = ParseJson(call.request.body, error);
  const json::object* change = body ? body->if_object() : nullptr;
  ChangeResult made{400, kChanges};
  if (change && change->size() == 1)
    made = BeginChange(replica_.strict()->engine(), config_, change->begin()->key(),
                       change->begin()->value());
  if (made.status == 400) return call.Fail(400, "validation_error", made.why);
  if (made.status == 409) return call.Fail(409, "change_refused", made.why);
  log_(Severity::kInfo, "strict-group-changed", json::serialize(*change));
  call.respond(JsonReply(202, StatusJson(*replica_.strict())));
}

}  // namespace once
