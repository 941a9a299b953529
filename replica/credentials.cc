#include "replica/credentials.h"

#include <algorithm>
#include <boost/json.hpp>

#include "replica/api/digest.h"
#include "replica/api/json_value.h"

namespace once {
namespace {

namespace json = boost::json;

std::string Text(const json::object& object, const char* name) {
  const auto* value = object.if_contains(name);
  if (!value || !value->is_string()) return "";
  return std::string(value->as_string());
}

// Empty when it is not lower-case hex.
std::string FromHex(std::string_view hex) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const auto high = kDigits.find(hex[i]), low = kDigits.find(hex[i + 1]);
    if (high == kDigits.npos || low == kDigits.npos) return "";
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

}  // namespace

bool Credential::May(std::string_view scope) const {
  return std::find(scopes.begin(), scopes.end(), scope) != scopes.end();
}

std::variant<Credentials, std::string> Credentials::Parse(std::string_view json_text) {
  std::string error;
  const auto value = ParseJson(json_text, error);
  if (!value) return "credentials: " + error;
  if (!value->is_array()) return std::string("credentials: the file must hold a JSON list");
  Credentials credentials;
  for (const auto& entry : value->as_array()) {
    if (!entry.is_object()) return std::string("credentials: every entry must be an object");
    const json::object& object = entry.as_object();
    Credential credential;
    credential.id = Text(object, "id");
    credential.tenant = Text(object, "tenant");
    credential.actor = Text(object, "actor");
    credential.sha256 = Text(object, "sha256");
    if (FromHex(credential.sha256).size() != 32 || credential.tenant.empty() || credential.id.empty())
      return std::string("credentials: an entry needs id, tenant and sha256 (64 hex digits)");
    if (const auto* scopes = object.if_contains("scopes"); scopes && scopes->is_array())
      for (const auto& scope : scopes->as_array())
        if (scope.is_string()) credential.scopes.emplace_back(scope.as_string());
    if (const auto* created = object.if_contains("createdMs"); created && created->is_int64())
      credential.created_ms = created->as_int64();
    if (const auto* revoked = object.if_contains("revoked"); revoked && revoked->is_bool())
      credential.revoked = revoked->as_bool();
    credentials.all_.push_back(std::move(credential));
  }
  credentials.Index();
  return credentials;
}

void Credentials::Index() {
  by_hash_.clear();
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (!all_[i].revoked) by_hash_[FromHex(all_[i].sha256)] = i;
}

const Credential* Credentials::Find(std::string_view key) const {
  const auto at = by_hash_.find(std::string(Bytes(Sha256(key))));
  return at == by_hash_.end() ? nullptr : &all_[at->second];
}

std::string Credentials::Serialize() const {
  std::string out = "[\n";
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Credential& credential = all_[i];
    json::array scopes(credential.scopes.begin(), credential.scopes.end());
    out += "  " + json::serialize(json::object{{"id", credential.id},
                                               {"tenant", credential.tenant},
                                               {"actor", credential.actor},
                                               {"scopes", scopes},
                                               {"sha256", credential.sha256},
                                               {"createdMs", credential.created_ms},
                                               {"revoked", credential.revoked}});
    out += i + 1 < all_.size() ? ",\n" : "\n";
  }
  return out + "]\n";
}

void Credentials::Add(Credential credential) {
  all_.push_back(std::move(credential));
  Index();
}

bool Credentials::Revoke(std::string_view id) {
  for (Credential& credential : all_) {
    if (credential.id != id || credential.revoked) continue;
    credential.revoked = true;
    Index();
    return true;
  }
  return false;
}

}  // namespace once
