#include "replica/oncectl/keys.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include "replica/api/timestamp.h"
#include "replica/io/key_file.h"
#include "replica/oncectl/fail.h"

namespace once {
namespace {

struct KeyOptions {
  std::string file = ".once/keys.json";
  std::string tenant;
  std::string actor = "service";
  std::vector<std::string> scopes = {"runs", "claims"};
  std::string id;
  std::string directory = ".once";
};

constexpr const char* kReloadHint =
    "Nodes that read this file see the change after SIGHUP or POST /v1/admin/reload.\n";

int Create(const KeyOptions& options) {
  const NewKey made = MakeKey(options.tenant, options.actor, options.scopes);
  const std::string why = ChangeCredentials(options.file, [&made](Credentials& credentials) {
    credentials.Add(made.credential);
    return "";
  });
  if (!why.empty()) return Fail(why + "; --file names the node's credentials file");
  std::cout << made.key << "\n";
  std::cerr << "Made " << made.credential.id << " for tenant " << options.tenant
            << ". The key is shown only now; the file keeps its hash.\n"
            << kReloadHint;
  return 0;
}

int NoFile(const KeyOptions& options) {
  return Fail("there is no file " + options.file + ": --file names the node's credentials file");
}

int List(const KeyOptions& options) {
  if (!std::filesystem::exists(options.file)) return NoFile(options);
  auto loaded = LoadCredentials(options.file);
  if (auto* error = std::get_if<std::string>(&loaded)) return Fail(*error);
  std::printf("%-18s %-16s %-16s %-20s %-26s %s\n", "ID", "TENANT", "ACTOR", "SCOPES", "CREATED",
              "STATE");
  for (const Credential& credential : std::get<Credentials>(loaded).all()) {
    std::string scopes;
    for (const std::string& scope : credential.scopes)
      scopes += (scopes.empty() ? "" : ",") + scope;
    std::printf("%-18s %-16s %-16s %-20s %-26s %s\n", credential.id.c_str(),
                credential.tenant.c_str(), credential.actor.c_str(), scopes.c_str(),
                Timestamp(credential.created_ms).c_str(),
                credential.revoked ? "revoked" : "active");
  }
  return 0;
}

int Revoke(const KeyOptions& options) {
  if (!std::filesystem::exists(options.file)) return NoFile(options);
  const std::string why = ChangeCredentials(options.file, [&options](Credentials& credentials) {
    if (credentials.Revoke(options.id)) return std::string();
    return "no active credential in " + options.file + " has the id " + options.id +
           "; see oncectl keys list";
  });
  if (!why.empty()) return Fail(why);
  std::cout << "Revoked " << options.id << ".\n" << kReloadHint;
  return 0;
}

int MakeDevelopmentKeys(const KeyOptions& options) {
  const std::string why = EnsureDevelopmentKeys(options.directory);
  return why.empty() ? 0 : Fail(why);
}

}  // namespace

void AddKeys(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<KeyOptions>();
  CLI::App* keys = app.add_subcommand("keys", "Credentials of callers");
  keys->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, int (*run)(const KeyOptions&)) {
    CLI::App* command = keys->add_subcommand(name, help);
    command->callback([options, run, &exit_code] { exit_code = run(*options); });
    return command;
  };
  CLI::App* create = add("create", "Make a key; prints it once", Create);
  // A file with another tenant would be refused by every node that reads it.
  create->add_option("--tenant", options->tenant, "Tenant the key speaks for")
      ->required()
      ->check([](const std::string& tenant) {
        return IsTenantName(tenant) ? std::string() : "must be " + std::string(kTenantRule);
      });
  create->add_option("--actor", options->actor, "Who uses it")->capture_default_str();
  create->add_option("--scopes", options->scopes, "Any of runs, claims, admin")
      ->delimiter(',')
      ->check(CLI::IsMember({"runs", "claims", "admin"}))
      ->capture_default_str();
  CLI::App* list = add("list", "Show the credentials; never their keys", List);
  CLI::App* revoke = add("revoke", "Make a credential worthless", Revoke);
  revoke->add_option("id", options->id, "Id as shown by list")->required();
  for (CLI::App* command : {create, list, revoke})
    command->add_option("--file", options->file, "The node's credentials file")
        ->capture_default_str();
  CLI::App* dev = add("dev", "Make the development set of credentials, if it is not there",
                      MakeDevelopmentKeys);
  dev->add_option("--dir", options->directory, "Where to")->capture_default_str();
}

}  // namespace once
