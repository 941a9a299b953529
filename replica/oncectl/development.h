// The development cluster of the project's folder, as ops/up left it in .once/.
#pragma once

#include <map>
#include <string>
#include <variant>

namespace once {

struct Development {
  std::map<std::string, std::string> urls;  // region -> http://ADDRESS:PORT
  std::string admin_key;
};

/// From .once/*.toml and .once/credentials.json below `directory`, or what is missing.
std::variant<Development, std::string> FindDevelopment(const std::string& directory);

}  // namespace once
