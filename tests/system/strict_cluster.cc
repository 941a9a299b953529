#include "tests/system/strict_cluster.h"

#include <algorithm>
#include <boost/json.hpp>

namespace once {
namespace {

namespace json = boost::json;

constexpr const char* kRules = "[[strict]]\ntenant = \"acme\"\n";

}  // namespace

StrictCluster::StrictCluster(std::unique_ptr<RegionNetwork> network, bool fault_injection)
    : nodes_(std::move(network)) {
  nodes_.SetFaultInjection(fault_injection);
  for (const std::string& region : regions()) nodes_.node(region).setup.settings += kRules;
}

Regions StrictCluster::OthersThan(const std::string& region) const {
  Regions others = regions();
  std::erase(others, region);
  return others;
}

testing::AssertionResult StrictCluster::Start() {
  if (const auto started = nodes_.StartAll(); !started) return started;
  json::array founders;
  for (const std::string& region : regions()) founders.emplace_back(View(region).member);
  const std::string change = json::serialize(json::object{{"found", founders}});
  for (const std::string& region : regions())
    if (const HttpResult founded = Change(region, change); founded.status != 202)
      return testing::AssertionFailure() << region << ": " << founded.body;
  if (!AwaitAgreement(regions())) return testing::AssertionFailure() << "no leader was elected";
  return testing::AssertionSuccess();
}

GroupView StrictCluster::View(const std::string& region) {
  const HttpResult shown = nodes_.Admin(region).Get("/v1/cluster");
  if (shown.status != 200) return {};
  const json::value body = json::parse(shown.body);
  const auto text = [&](const char* name) { return std::string(body.at(name).as_string()); };
  const auto number = [&](const char* name) { return body.at(name).to_number<std::uint64_t>(); };
  GroupView view{text("member"),
                 text("role"),
                 text("leader"),
                 number("term"),
                 number("index"),
                 number("applied"),
                 {}};
  for (const json::value& member : body.at("members").as_array())
    if (member.at("role").as_string() != "learner")
      view.voters.emplace_back(member.at("member").as_string());
  return view;
}

std::string StrictCluster::LeaderAmong(const Regions& regions) {
  std::string leader;
  std::uint64_t term = 0;
  for (const std::string& region : regions) {
    const GroupView view = View(region);
    if (view.role != "leader" || view.term <= term) continue;
    leader = region;
    term = view.term;
  }
  return leader;
}

std::string StrictCluster::AwaitLeaderAmong(const Regions& regions) {
  std::string leader;
  WaitUntil([&] { return !(leader = LeaderAmong(regions)).empty(); });
  return leader;
}

bool StrictCluster::AwaitAgreement(const Regions& regions) {
  const auto all = [&](const auto& good) {
    return WaitUntil([&] { return std::all_of(regions.begin(), regions.end(), good); });
  };
  GroupView first;
  const bool agreed = all([&](const std::string& region) {
    const GroupView view = View(region);
    if (region == regions.front()) first = view;
    return !view.leader.empty() && view.leader == first.leader && view.term == first.term;
  });
  return agreed &&
         all([&](const std::string& region) { return View(region).applied >= first.index; });
}

HttpResult StrictCluster::Change(const std::string& region, const std::string& change) {
  Caller admin = nodes_.Admin(region);
  return admin.Post("/v1/cluster", change);
}

bool StrictCluster::ChangeByLeader(const std::string& kind, const std::string& member) {
  const std::string change = json::serialize(json::object{{kind, member}});
  return WaitUntil([&] {
    const std::string leader = LeaderAmong(regions());
    return !leader.empty() && Change(leader, change).status == 202;
  });
}

}  // namespace once
