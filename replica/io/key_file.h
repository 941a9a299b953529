// Credentials on disk: making keys, the file the node reads, and the development set.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "replica/credentials.h"

namespace once {

struct NewKey {
  Credential credential;  // what the node may know
  std::string key;        // shown once; only its hash is kept
};

/// 256 bits from the system's generator, as once_<base64url>.
NewKey MakeKey(std::string tenant, std::string actor, std::vector<std::string> scopes);

/// A file that is absent holds no credentials.
std::variant<Credentials, std::string> LoadCredentials(const std::string& path);
/// Replaces the file as a whole. It keeps its owner and mode; a new one is readable by its owner
/// only. Empty, or why not.
std::string SaveCredentials(const std::string& path, const Credentials& credentials);
/// Loads, changes and saves; of several at once each sees what the one before has saved. `change`
/// and this return nothing, or why not, and then the file is as it was.
std::string ChangeCredentials(const std::string& path,
                              const std::function<std::string(Credentials&)>& change);

/// The development set: tenants acme, globex and vault, and an administrator. Writes
/// `directory`/credentials.json, a list of {tenant, actor, scopes, key} for people, and
/// `directory`/keys.json, which nodes read; keeps both when they are there. Empty, or why not.
std::string EnsureDevelopmentKeys(const std::string& directory);

}  // namespace once
