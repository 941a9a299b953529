#include "replica/oncectl/partition.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "replica/api/json_members.h"
#include "replica/io/http_call.h"
#include "replica/oncectl/development.h"

namespace once {
namespace {

struct PartitionOptions {
  std::vector<std::string> one;
  std::vector<std::string> other;
};

int Fail(const std::string& why) {
  std::cerr << "oncectl: " << why << "\n";
  return 1;
}

std::string Join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Tells one node which regions it no longer hears; empty for all well, otherwise the reason.
std::string Cut(const Development& cluster, const std::string& region,
                const std::vector<std::string>& from) {
  std::string body = R"({"regions":[)";
  for (const std::string& name : from) {
    if (body.back() != '[') body += ',';
    AppendJsonString(body, name);
  }
  const auto result =
      CallHttp(cluster.urls.at(region), "PUT", "/v1/admin/cut", cluster.admin_key, body + "]}");
  if (const auto* error = std::get_if<std::string>(&result)) return *error;
  const auto& answer = std::get<HttpCallResult>(result);
  return answer.status == 200 ? ""
                              : "it answered " + std::to_string(answer.status) + ": " + answer.body;
}

int Apply(const PartitionOptions& options, bool heal) {
  auto found = FindDevelopment(".");
  if (auto* error = std::get_if<std::string>(&found)) return Fail(*error);
  const auto& cluster = std::get<Development>(found);
  const auto holds = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const auto* side : {&options.one, &options.other})
    for (const std::string& name : *side)
      if (!cluster.urls.count(name)) return Fail("the development cluster has no region " + name);
  int failed = 0;
  for (const auto& [region, url] : cluster.urls) {
    std::vector<std::string> from;
    if (!heal && holds(options.one, region)) from = options.other;
    if (!heal && holds(options.other, region)) from = options.one;
    if (const std::string why = Cut(cluster, region, from); !why.empty())
      failed = Fail(region + " was not told: " + why);
  }
  if (failed) return failed;
  if (heal)
    std::cout << "Healed: every region hears every other again.\n";
  else
    std::cout << "Cut: " << Join(options.one) << " and " << Join(options.other)
              << " no longer hear each other. Mend it with: oncectl heal\n";
  return 0;
}

}  // namespace

void AddPartition(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PartitionOptions>();
  CLI::App* partition = app.add_subcommand(
      "partition", "Cut the development cluster of this folder: oncectl partition us --from eu,ap");
  partition->add_option("regions", options->one, "One side, as a,b")->required()->delimiter(',');
  partition->add_option("--from", options->other, "The other side, as c,d")
      ->required()
      ->delimiter(',');
  partition->callback([options, &exit_code] { exit_code = Apply(*options, false); });
  app.add_subcommand("heal", "Mend every cut of the development cluster of this folder")
      ->callback([options, &exit_code] { exit_code = Apply(*options, true); });
}

}  // namespace once
