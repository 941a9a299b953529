#include "tests/system/node_process.h"

#include <csignal>

#include "replica/env/check.h"
#include "replica/io/key_file.h"

namespace once {

std::string ProgramPath(const std::string& name) {
  return std::string(ONCE_BIN_DIR) + "/" + name;
}

NodeProcess::NodeProcess(NodeSetup setup) : setup(std::move(setup)) {}

std::string NodeProcess::data_dir() const {
  return setup.data_dir.empty() ? scratch_ / "data" : setup.data_dir;
}

std::string NodeProcess::AddKey(const std::string& tenant, const std::string& actor,
                                const std::vector<std::string>& scopes) {
  auto credentials = std::get<Credentials>(LoadCredentials(keys_file()));
  NewKey made = MakeKey(tenant, actor, scopes);
  credentials.Add(made.credential);
  Check(SaveCredentials(keys_file(), credentials).empty(), "the keys can be written");
  return made.key;
}

void NodeProcess::AcceptKeysOf(const NodeProcess& other) {
  auto credentials = std::get<Credentials>(LoadCredentials(keys_file()));
  const auto others = std::get<Credentials>(LoadCredentials(other.keys_file()));
  for (const Credential& credential : others.all()) credentials.Add(credential);
  Check(SaveCredentials(keys_file(), credentials).empty(), "the keys can be written");
}

void NodeProcess::RevokeKeys(const std::string& tenant, const std::string& actor) {
  auto credentials = std::get<Credentials>(LoadCredentials(keys_file()));
  for (const Credential& credential : std::vector<Credential>(credentials.all()))
    if (credential.tenant == tenant && credential.actor == actor) credentials.Revoke(credential.id);
  Check(SaveCredentials(keys_file(), credentials).empty(), "the keys can be written");
}

void NodeProcess::Launch() {
  program_.reset();
  WriteFile(config_file(), "[node]\nregion = \"" + setup.region + "\"\nlisten = \"" + setup.listen +
                               "\"\ndata_dir = \"" + data_dir() + "\"\n" + setup.node_settings +
                               "\n[auth]\ncredentials_file = \"" + keys_file() + "\"\n" +
                               setup.settings + "\n");
  log_start_ = Log().size();
  Program::Options options;
  options.arguments = setup.wrapper;
  for (const std::string& argument : {ProgramPath("onced"), std::string("--config"), config_file()})
    options.arguments.push_back(argument);
  options.arguments.insert(options.arguments.end(), setup.arguments.begin(), setup.arguments.end());
  options.environment = setup.environment;
  options.directory = scratch_.path();
  options.out_file = options.err_file = scratch_ / "log";
  program_ = std::make_unique<Program>(options);
}

bool NodeProcess::Logged(const std::string& text) const {
  return Log().find(text, log_start_) != std::string::npos;
}

// From the line that says ready: …://127.0.0.1:PORT
void NodeProcess::FindPort() {
  const std::string address = "://127.0.0.1:";
  const std::string log = Log();
  const auto at = log.find(address, log_start_);
  // Only a whole line: the last digit may not have been written yet.
  if (at == std::string::npos || log.find('\n', at) == std::string::npos) return;
  port_ = static_cast<std::uint16_t>(std::stoul(log.substr(at + address.size(), 5)));
}

testing::AssertionResult NodeProcess::Start() {
  port_ = 0;
  Launch();
  WaitUntil([this] {
    FindPort();
    return port_ != 0 || program_->Exited();
  });
  if (port_ != 0 && !program_->Exited()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the node did not get ready; its log:\n"
                                     << Log().substr(log_start_);
}

int NodeProcess::StartAndExit() {
  Launch();
  return program_->WaitExit().value_or(-SIGKILL);
}

std::optional<int> NodeProcess::Stop() {
  Signal(SIGTERM);
  return WaitExit();
}

}  // namespace once
