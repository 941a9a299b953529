// SHA-256 and the text forms of bytes. Every identity in the product is one of these digests, so
// this sits on the hot path.
#pragma once

#include <openssl/sha.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace once {

using Digest = std::array<std::uint8_t, 32>;

/// The digest's bytes; valid as long as `digest`.
std::string_view Bytes(const Digest& digest);

Digest Sha256(std::string_view bytes);

/// SHA-256 over pieces; ends with Finish.
class Sha256Stream {
 public:
  Sha256Stream();

  void Update(std::string_view bytes);
  /// The length of `part` (8 bytes, big endian), then `part`: a sequence of parts hashes
  /// differently from every other sequence, wherever the borders are.
  void UpdatePart(std::string_view part);
  /// Once, last.
  Digest Finish();

 private:
  SHA256_CTX state_;
};

/// Appends `part` as UpdatePart would hash it.
void AppendPart(std::string& out, std::string_view part);

/// Lower case.
std::string Hex(std::string_view bytes);
/// RFC 4648 §5, without padding.
std::string Base64Url(std::string_view bytes);
void AppendBase64Url(std::string& out, std::string_view bytes);
/// RFC 4648 §4, padded.
std::string Base64(std::string_view bytes);
/// Inverse of Base64, and of nothing else: white space, missing padding, the URL alphabet and
/// non-zero spare bits are refused, so two texts never decode to the same bytes.
std::optional<std::string> Base64Decode(std::string_view text);

/// The key that callers see: hex of sha256(tenant ":" endpoint ":" key). Ambiguous when a part
/// contains ':', so nothing is stored under it.
std::string PublicCacheKey(std::string_view tenant, std::string_view endpoint,
                           std::string_view key);

/// The key that records are stored under: 32 raw bytes, different for every different tuple.
std::string SlotKey(std::uint8_t surface, std::string_view tenant, std::string_view endpoint,
                    std::string_view key);

}  // namespace once
