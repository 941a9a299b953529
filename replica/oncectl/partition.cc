#include "replica/oncectl/partition.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <iostream>
#include <memory>
#include <set>

#include "replica/io/http_call.h"
#include "replica/oncectl/development.h"
#include "replica/oncectl/fail.h"

namespace once {
namespace {

namespace json = boost::json;

struct PartitionOptions {
  std::vector<std::string> one;
  std::vector<std::string> other;
};

/// The regions that a node does not hear; `error` when it could not be asked or told.
struct CutSet {
  std::set<std::string> from;
  std::string error;
};

std::string Join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

int NoSuchRegion(const std::string& name, const Development& cluster) {
  std::vector<std::string> names;
  for (const auto& [region, url] : cluster.urls) names.push_back(region);
  return Fail("the development cluster has no region " + name + ", only " + Join(names));
}

// With an empty body a question, otherwise what shall hold from now on.
CutSet AskCut(const Development& cluster, const std::string& region, const std::string& body) {
  const auto result = CallHttp(cluster.urls.at(region), body.empty() ? "GET" : "PUT",
                               "/v1/admin/cut", cluster.admin_key, body);
  if (const auto* error = std::get_if<std::string>(&result)) return {{}, *error};
  const auto& answer = std::get<HttpCallResult>(result);
  json::error_code failed;
  const json::value state = json::parse(answer.body, failed);
  const json::value* list = state.is_object() ? state.as_object().if_contains("cutFrom") : nullptr;
  if (answer.status != 200 || !list || !list->is_array())
    return {{}, "it answered " + std::to_string(answer.status) + ": " + answer.body};
  CutSet cut;
  for (const json::value& name : list->as_array())
    if (name.is_string()) cut.from.emplace(name.as_string());
  return cut;
}

// Empty for all well, otherwise the reason.
std::string SetCut(const Development& cluster, const std::string& region,
                   const std::set<std::string>& from) {
  const json::object body{{"regions", json::array(from.begin(), from.end())}};
  return AskCut(cluster, region, json::serialize(body)).error;
}

// What was cut before stays so.
std::string AddCut(const Development& cluster, const std::string& region,
                   const std::vector<std::string>& from) {
  CutSet cut = AskCut(cluster, region, "");
  if (!cut.error.empty()) return cut.error;
  cut.from.insert(from.begin(), from.end());
  return SetCut(cluster, region, cut.from);
}

int Partition(const PartitionOptions& options) {
  auto found = FindDevelopment(".");
  if (auto* error = std::get_if<std::string>(&found)) return Fail(*error);
  const auto& cluster = std::get<Development>(found);
  for (const auto* side : {&options.one, &options.other})
    for (const std::string& name : *side)
      if (!cluster.urls.count(name)) return NoSuchRegion(name, cluster);
  for (const std::string& name : options.one)
    if (std::find(options.other.begin(), options.other.end(), name) != options.other.end())
      return Fail(name + " cannot be on both sides");
  int failed = 0;
  for (const auto& [side, other] :
       {std::pair(&options.one, &options.other), {&options.other, &options.one}})
    for (const std::string& region : *side)
      if (const std::string why = AddCut(cluster, region, *other); !why.empty())
        failed = Fail(region + " was not told: " + why);
  if (failed) return failed;
  std::cout << "Cut: " << Join(options.one) << " and " << Join(options.other)
            << " no longer hear each other. Mend it with: oncectl heal\n";
  return 0;
}

int Heal() {
  auto found = FindDevelopment(".");
  if (auto* error = std::get_if<std::string>(&found)) return Fail(*error);
  const auto& cluster = std::get<Development>(found);
  int failed = 0;
  for (const auto& [region, url] : cluster.urls)
    if (const std::string why = SetCut(cluster, region, {}); !why.empty())
      failed = Fail(region + " was not told: " + why);
  if (!failed) std::cout << "Healed: every region hears every other again.\n";
  return failed;
}

}  // namespace

void AddPartition(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PartitionOptions>();
  CLI::App* partition =
      app.add_subcommand("partition",
                         "Cut the development cluster of this folder, besides what is cut already: "
                         "oncectl partition us --from eu,ap");
  partition->add_option("regions", options->one, "One side, as a,b")->required()->delimiter(',');
  partition->add_option("--from", options->other, "The other side, as c,d")
      ->required()
      ->delimiter(',');
  partition->callback([options, &exit_code] { exit_code = Partition(*options); });
  app.add_subcommand("heal", "Mend every cut of the development cluster of this folder")
      ->callback([&exit_code] { exit_code = Heal(); });
}

}  // namespace once
