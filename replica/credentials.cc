#include "replica/credentials.h"

#include <algorithm>
#include <boost/json.hpp>

#include "replica/api/digest.h"
#include "replica/api/json_value.h"

namespace once {
namespace {

namespace json = boost::json;

constexpr std::string_view kHexDigits = "0123456789abcdef";

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(kHexDigits.find(hex[i]) << 4 | kHexDigits.find(hex[i + 1]));
  return bytes;
}

bool IsDigest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

// What is wrong with the entry, or empty.
std::string ReadCredential(const json::object& object, Credential& credential) {
  credential.id = JsonText(object, "id");
  credential.tenant = JsonText(object, "tenant");
  credential.actor = JsonText(object, "actor");
  credential.sha256 = JsonText(object, "sha256");
  if (!IsDigest(credential.sha256) || credential.tenant.empty() || credential.id.empty())
    return "an entry needs id, tenant and sha256 (64 hex digits in lower case)";
  if (!IsTenantName(credential.tenant))
    return "the tenant of " + credential.id + " must be " + std::string(kTenantRule);
  if (const auto* scopes = object.if_contains("scopes")) {
    if (!scopes->is_array()) return "scopes must be a list of strings";
    for (const auto& scope : scopes->as_array()) {
      if (!scope.is_string()) return "scopes must be a list of strings";
      credential.scopes.emplace_back(scope.as_string());
    }
  }
  if (const auto* created = object.if_contains("createdMs")) {
    if (!created->is_int64()) return "createdMs must be a whole number";
    credential.created_ms = created->as_int64();
  }
  if (const auto* revoked = object.if_contains("revoked")) {
    if (!revoked->is_bool()) return "revoked must be true or false";
    credential.revoked = revoked->as_bool();
  }
  return "";
}

}  // namespace

bool IsTenantName(std::string_view name) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.size() <= kTenantBytesMax &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

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
    Credential credential;
    error = ReadCredential(entry.as_object(), credential);
    if (!error.empty()) return "credentials: " + error;
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
  const auto at = by_hash_.find(Bytes(Sha256(key)));
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
