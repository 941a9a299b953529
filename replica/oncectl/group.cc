#include "replica/oncectl/group.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <iomanip>
#include <iostream>
#include <memory>
#include <set>

#include "replica/io/http_call.h"
#include "replica/oncectl/development.h"
#include "replica/oncectl/fail.h"

namespace once {
namespace {

namespace json = boost::json;

constexpr const char* kPath = "/v1/cluster";

struct GroupOptions {
  std::vector<std::string> urls;
  std::string key;
  std::string ca_file;
  std::string member;
};

/// One node, and the group as it sees it; `error` when it could not be asked, or said no.
struct View {
  std::string url;
  json::object group;
  std::string error;
  int refused = 0;  // the status it said no with

  std::string Text(const char* name) const {
    const json::value* value = group.if_contains(name);
    return value && value->is_string() ? std::string(value->as_string()) : "";
  }
  std::int64_t Number(const char* name) const {
    const json::value* value = group.if_contains(name);
    return value && value->is_int64() ? value->as_int64() : 0;
  }
  json::array Members() const {
    const json::value* members = group.if_contains("members");
    return members && members->is_array() ? members->as_array() : json::array();
  }
};

// Without --url, the development cluster, whose administrator's key serves where none is given.
// Empty, or what is missing.
std::string FindNodes(GroupOptions& options) {
  if (!options.urls.empty()) return "";
  auto found = FindDevelopment(".");
  if (auto* error = std::get_if<std::string>(&found)) return *error;
  const auto& cluster = std::get<Development>(found);
  for (const auto& [region, url] : cluster.urls) options.urls.push_back(url);
  if (options.key.empty()) options.key = cluster.admin_key;
  return "";
}

View Ask(const std::string& url, const GroupOptions& options, const std::string& change = "") {
  View view{url, {}, ""};
  const auto result =
      CallHttp(url, change.empty() ? "GET" : "POST", kPath, options.key, change, options.ca_file);
  if (const auto* error = std::get_if<std::string>(&result)) {
    view.error = *error;  // begins with the URL
    return view;
  }
  const auto& answer = std::get<HttpCallResult>(result);
  json::error_code failed;
  const json::value body = json::parse(answer.body, failed);
  if (answer.status >= 300 || failed || !body.is_object()) {
    view.refused = answer.status;
    view.error = url + " answered " + std::to_string(answer.status) + ": " + answer.body;
  } else {
    view.group = body.as_object();
  }
  return view;
}

std::vector<View> AskAll(const GroupOptions& options) {
  std::vector<View> views;
  for (const std::string& url : options.urls) views.push_back(Ask(url, options));
  return views;
}

// Of those that say they lead, the one of the highest term; null: none does.
const View* FindLeader(const std::vector<View>& views) {
  const View* leader = nullptr;
  for (const View& view : views)
    if (view.Text("role") == "leader" && (!leader || view.Number("term") > leader->Number("term")))
      leader = &view;
  return leader;
}

// Who is removed is not told, so the leader's list decides, where there is one. A learner takes
// part like a follower, and is called one only there.
std::string RoleOf(const View& view, const View* leader) {
  const std::string own = view.Text("role");
  if (!leader && own == "stopped") return own;
  for (const json::value& member : (leader ? leader : &view)->Members())
    if (member.at("member").as_string() == view.Text("member"))
      return own != "stopped" && member.at("role").as_string() == "learner" ? "learner" : own;
  return "no member";
}

void WarnOfOtherRules(const View& view) {
  const json::value* regions = view.group.if_contains("otherRulesIn");
  if (!regions || !regions->is_array()) return;
  for (const json::value& region : regions->as_array())
    std::cout << view.Text("member") << " has other [[strict]] rules than "
              << region.as_string().c_str() << "\n";
}

// Of the members that the leader knows, those whose nodes are not among the ones that were asked.
json::array NotAsked(const View* leader, const std::vector<View>& asked) {
  json::array others;
  if (!leader) return others;
  for (const json::value& member : leader->Members())
    if (std::none_of(asked.begin(), asked.end(), [&member](const View& view) {
          return view.Text("member") == member.at("member").as_string();
        }))
      others.push_back(member);
  return others;
}

// Not one of them told what it sees.
int NoView(const std::vector<View>& views) {
  int refused = 0;
  for (const View& view : views) {
    std::cerr << view.error << "\n";
    if (view.refused) refused = view.refused;
  }
  if (refused == 401 || refused == 403)
    return Fail("the key was refused (" + std::to_string(refused) +
                "): --key or ONCE_KEY must be an administrator's");
  if (refused == 404)
    return Fail(
        "there is no strict group: its nodes have a [[strict]] rule in their configuration");
  if (refused) return Fail("no node told what it sees");
  return Fail("no node could be reached: are they up, and is this where and how they listen?");
}

bool NoneTold(const std::vector<View>& views) {
  return std::all_of(views.begin(), views.end(),
                     [](const View& view) { return !view.error.empty(); });
}

// A line for each node, under its member's name or its region's.
int ShowNodes(GroupOptions& options, bool names) {
  if (const std::string error = FindNodes(options); !error.empty()) return Fail(error);
  const std::vector<View> views = AskAll(options);
  if (NoneTold(views)) return NoView(views);
  const View* const leader = FindLeader(views);
  std::int64_t last = 0;
  for (const View& view : views) last = std::max(last, view.Number("index"));
  const auto row = [names](const auto& who, const auto& role, const auto& term, const auto& index,
                           const auto& applied, const auto& lag) {
    std::cout << std::left << std::setw(names ? 44 : 12) << who << std::setw(11) << role
              << std::right << std::setw(6) << term << std::setw(10) << index << std::setw(10)
              << applied << std::setw(8) << lag << "\n";
  };
  row(names ? "MEMBER" : "REGION", "ROLE", "TERM", "INDEX", "APPLIED", "LAG");
  for (const View& view : views) {
    const std::string member = view.Text("member");
    if (view.error.empty())
      row(names ? member : member.substr(0, member.find('/')), RoleOf(view, leader),
          view.Number("term"), view.Number("index"), view.Number("applied"),
          last - view.Number("applied"));
    else
      std::cout << view.error << "\n";
  }
  if (names)
    for (const json::value& member : NotAsked(leader, views))
      row(member.at("member").as_string().c_str(), member.at("role").as_string().c_str(), "-", "-",
          "-", member.as_object().contains("lag") ? json::serialize(member.at("lag")) : "-");
  if (!leader)
    std::cerr << "oncectl: none of these nodes leads: a role is what the node last knew, and one "
                 "that was removed may not know it\n";
  for (const View& view : views) WarnOfOtherRules(view);
  return 0;
}

std::set<std::string> NamesOf(const View& view) {
  std::set<std::string> names;
  for (const json::value& member : view.Members()) names.emplace(member.at("member").as_string());
  return names;
}

int Found(GroupOptions& options) {
  if (const std::string error = FindNodes(options); !error.empty()) return Fail(error);
  const std::vector<View> views = AskAll(options);
  if (NoneTold(views)) return NoView(views);
  json::array founders;
  std::set<std::string> names;
  for (const View& view : views) {
    if (!view.error.empty()) return Fail(view.error + ": all must be up to found the group");
    founders.emplace_back(view.Text("member"));
    names.insert(view.Text("member"));
  }
  // A founding that failed half-way is ended by another with the same members. One that was emptied
  // has another name: it would found a second group beside the first.
  for (const View& view : views)
    if (!view.Members().empty() && NamesOf(view) != names)
      return Fail(view.Text("member") +
                  " belongs to a group already: see oncectl members; others join by oncectl add");
  const std::string change = json::serialize(json::object{{"found", founders}});
  for (const std::string& url : options.urls)
    if (const View view = Ask(url, options, change); !view.error.empty()) return Fail(view.error);
  std::cout << "Founded: " << json::serialize(founders) << "\n";
  return 0;
}

// The members that a region alone may stand for: the leader's, or for one that is to be added the
// nodes that the leader does not have.
std::set<std::string> MembersIn(const std::string& region, bool to_add, const View& leader,
                                const std::vector<View>& views) {
  std::set<std::string> had = NamesOf(leader), names;
  if (to_add)
    for (const View& view : views)
      if (!had.count(view.Text("member"))) names.insert(view.Text("member"));
  if (!to_add) names = std::move(had);
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(region + "/"); });
  return names;
}

// Only the leader changes the group.
int Change(GroupOptions& options, const std::string& kind) {
  if (const std::string error = FindNodes(options); !error.empty()) return Fail(error);
  const std::vector<View> views = AskAll(options);
  if (NoneTold(views)) return NoView(views);
  const View* const leader = FindLeader(views);
  if (!leader)
    return Fail(
        "none of these nodes leads: name the leader's too with --url, or wait until there "
        "is one; see oncectl members");
  std::string member = options.member;
  if (member.find('/') == std::string::npos) {
    const auto names = MembersIn(member, kind == "add", *leader, views);
    if (names.size() != 1)
      return Fail(std::string(names.empty() ? "nothing" : "more than one") + " to " + kind +
                  " in region " + member + ": MEMBER is region/identity, see oncectl members");
    member = *names.begin();
  }
  const View changed = Ask(leader->url, options, json::serialize(json::object{{kind, member}}));
  if (!changed.error.empty()) return Fail(changed.error);
  std::cout << "Begun: " << kind << " " << member << "\n";
  return 0;
}

}  // namespace

void AddGroup(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<GroupOptions>();
  const auto add = [&app, options](const char* name, const char* text) {
    CLI::App* command = app.add_subcommand(name, text);
    command
        ->add_option("--url", options->urls,
                     "A node, as http://ADDRESS:PORT or https://; more than one may be given")
        ->check(WrongUrl);
    command
        ->add_option("--ca", options->ca_file,
                     "The authority of the nodes' certificates, a PEM file; without it, those that "
                     "this machine trusts")
        ->check(CLI::ExistingFile);
    command
        ->add_option("--key", options->key,
                     "An administrator's key; the development cluster has one of its own")
        ->envname("ONCE_KEY");
    return command;
  };
  add("members", "Show the strict group, a line for each node, by the members' names")
      ->callback([options, &exit_code] { exit_code = ShowNodes(*options, true); });
  add("status", "Show how far each region is in the strict group")->callback([options, &exit_code] {
    exit_code = ShowNodes(*options, false);
  });
  add("found", "Found the strict group of all these nodes: once")->callback([options, &exit_code] {
    exit_code = Found(*options);
  });
  for (const auto& [kind, text] : {std::pair{"add", "Let a new member learn"},
                                   {"promote", "Let a learner vote"},
                                   {"remove", "End a membership"},
                                   {"transfer", "Hand leadership to that member"}}) {
    CLI::App* command = add(kind, text);
    command
        ->add_option("member", options->member,
                     "region/identity; the region alone where it says enough")
        ->required();
    command->callback(
        [options, &exit_code, name = std::string(kind)] { exit_code = Change(*options, name); });
  }
}

}  // namespace once
