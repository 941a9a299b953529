#include "replica/oncectl/development.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "replica/api/json_value.h"
#include "replica/config.h"

namespace once {

std::variant<Development, std::string> FindDevelopment(const std::string& directory) {
  namespace fs = std::filesystem;
  const fs::path home = fs::weakly_canonical(directory) / ".once";
  if (!fs::exists(home))
    return "there is no development cluster: no folder " + home.string() +
           " (oncectl looks in the folder it runs in; ./ops/up of the repository makes one)";
  Development found;
  for (const auto& entry : fs::directory_iterator(home)) {
    if (entry.path().extension() != ".toml") continue;
    auto loaded = LoadConfig(entry.path().string());
    if (auto* error = std::get_if<std::string>(&loaded)) return *error;
    const Config& config = std::get<Config>(loaded);
    found.urls[config.region] =
        "http://" + config.listen_address + ":" + std::to_string(config.listen_port);
  }
  std::ostringstream text;
  text << std::ifstream(home / "credentials.json").rdbuf();
  std::string error;
  const auto list = ParseJson(text.str(), error);
  if (!list || !list->is_array())
    return "the development cluster has no readable .once/credentials.json: run ./ops/up";
  for (const auto& entry : list->as_array())
    if (entry.is_object() && entry.as_object().contains("tenant") &&
        entry.at("tenant") == "admin" && entry.at("key").is_string())
      found.admin_key = std::string(entry.at("key").as_string());
  if (found.urls.empty() || found.admin_key.empty())
    return "the development cluster in .once/ is not complete: run ./ops/up";
  return found;
}

}  // namespace once
