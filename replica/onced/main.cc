// onced: one node of one region. Exit 0: stopped cleanly, 1: could not start or lost its store, 2:
// a command line or a configuration that is wrong.
#include <filesystem>
#include <iostream>

#include "replica/command_line.h"
#include "replica/io/key_file.h"
#include "replica/io/log.h"
#include "replica/io/node.h"

namespace {

constexpr const char* kDevelopmentDirectory = ".once";

// What `onced --dev` runs with: no file is read. Loopback only, one region.
once::Config DevelopmentConfig() {
  once::Config config;
  config.region = "us";
  config.listen_port = 8101;
  config.data_dir = std::string(kDevelopmentDirectory) + "/dev";
  config.credentials_file = std::string(kDevelopmentDirectory) + "/keys.json";
  config.metrics_public = true;
  config.test_seams = true;
  return config;
}

std::string Refusal(const once::Config& config) {
  if (config.data_dir.empty()) return "[node] data_dir is needed";
  if (config.insecure_dev && !once::IsLoopback(config.listen_address))
    return "--insecure-dev turns off authentication and therefore listens on loopback only";
  if (!config.insecure_dev && config.credentials_file.empty())
    return "[auth] credentials_file is needed (make keys with: oncectl keys create)";
  return "";
}

void Banner(const once::Config& config, std::uint16_t port) {
  const bool v6 = config.listen_address.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + config.listen_address + "]" : config.listen_address;
  const std::string url = std::string(config.tls_certificate_file.empty() ? "http" : "https") +
                          "://" + host + ":" + std::to_string(port);
  once::Log(once::LogLevel::kInfo, "ready", {{"region", config.region}, {"url", url}});
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A node of Once, the dedup store that holds across regions.", "onced");
  std::string config_path;
  bool dev = false, check = false, insecure = false, adopt = false;
  auto* config_option = app.add_option("--config", config_path, "Configuration file (TOML)");
  app.add_flag("--dev", dev,
               "One single-region node on loopback with built-in settings; data in .once/")
      ->excludes(config_option);
  app.add_flag("--check-config", check,
               "Read the configuration and the files it names, say whether all are good, and exit");
  app.add_flag("--insecure-dev", insecure, "No credentials; loopback only. Never for real data");
  app.add_flag("--adopt-data", adopt,
               "The data directory is a copy on purpose: give it a new identity");
  app.set_version_flag("--version", std::string("onced ") + ONCE_VERSION);
  if (const auto ended = once::ParseCommandLine(app, argc, argv)) return *ended;

  const auto misused = [](const std::string& why) {
    std::cerr << "onced: " << why << "\n";
    return once::kMisused;
  };
  if (!dev && config_path.empty()) return misused("give --config FILE or --dev; see onced --help");
  once::Config config = DevelopmentConfig();
  if (!dev) {
    auto loaded = once::LoadConfig(config_path);
    if (auto* error = std::get_if<std::string>(&loaded)) return misused(*error);
    config = std::get<once::Config>(std::move(loaded));
  }
  config.insecure_dev = insecure;
  if (const std::string why = Refusal(config); !why.empty())
    return misused(dev ? why : config_path + ": " + why);
  if (check) {
    if (const std::string why = once::CheckFiles(config); !why.empty()) return misused(why);
    std::cout << "the configuration is good\n";
    if (!dev && !config.insecure_dev && !std::filesystem::exists(config.credentials_file))
      std::cout << config.credentials_file << " is not there yet: nobody can call before oncectl "
                << "keys create --tenant TENANT --file " << config.credentials_file << "\n";
    return 0;
  }
  once::StartLog(config.log_level, config.log_json);
  if (dev)
    if (const std::string why = once::EnsureDevelopmentKeys(kDevelopmentDirectory); !why.empty()) {
      std::cerr << "onced: " << why << "\n";
      return 1;
    }
  return once::RunNode({config, config_path, adopt},
                       [&config](std::uint16_t port) { Banner(config, port); });
}
