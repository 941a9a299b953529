// Who may call. Keys are 256 bits of randomness, kept only as SHA-256.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace once {

inline constexpr std::size_t kTenantBytesMax = 64;
/// 1 to kTenantBytesMax of letters, digits and . _ -. No ':', which ends the tenant in the key that
/// callers see, nor '*', which stands for every tenant in [[strict]].
bool IsTenantName(std::string_view name);
/// That, for messages: "must be …".
inline constexpr std::string_view kTenantRule = "1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'";

struct Credential {
  std::string id;  // shown to the operator; says nothing about the key
  std::string tenant;
  std::string actor;
  std::vector<std::string> scopes;  // runs, claims, admin
  std::string sha256;               // hex, of the key
  std::int64_t created_ms = 0;
  bool revoked = false;

  bool May(std::string_view scope) const;
};

/// The credentials file: a JSON list. Several active keys of one actor make rotation possible.
class Credentials {
 public:
  /// Or what is wrong. A member of the wrong type is an error: an ignored `revoked` would leave the
  /// key active.
  static std::variant<Credentials, std::string> Parse(std::string_view json_text);

  /// The active credential behind a bearer key, or null. The look-up is by the key's hash, so its
  /// time says nothing about how much of a guess was right. The pointer lives as long as *this.
  const Credential* Find(std::string_view key) const;

  const std::vector<Credential>& all() const { return all_; }
  /// The file's text: one credential per entry, never a key.
  std::string Serialize() const;
  void Add(Credential credential);
  /// False when no active credential has that id.
  bool Revoke(std::string_view id);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view digest) const {
      return std::hash<std::string_view>()(digest);
    }
  };

  void Index();

  std::vector<Credential> all_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> by_hash_;  // places in all_
};

}  // namespace once
