// OpenSSL's EVP interface allocates and looks things up for every digest, which costs more than to
// hash the few hundred bytes that ours are made of. The one below it does neither.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "replica/api/digest.h"

#include <algorithm>

#include "replica/env/check.h"

namespace once {
namespace {

constexpr std::string_view kBase64Alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64UrlAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::array<char, 8> LengthPrefix(std::size_t size) {
  std::array<char, 8> prefix;
  for (int i = 0; i < 8; ++i) prefix[i] = static_cast<char>(size >> (56 - 8 * i));
  return prefix;
}

void EncodeBase64(std::string& out, std::string_view bytes, std::string_view alphabet) {
  const auto* in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t left = bytes.size();
  const std::size_t from = out.size();
  out.resize(from + (left * 4 + 2) / 3);
  char* to = out.data() + from;
  for (; left >= 3; left -= 3, in += 3) {
    const std::uint32_t bits = static_cast<std::uint32_t>(in[0]) << 16 | in[1] << 8 | in[2];
    for (const int shift : {18, 12, 6, 0}) *to++ = alphabet[bits >> shift & 63];
  }
  if (left == 0) return;
  const std::uint32_t bits = static_cast<std::uint32_t>(in[0]) << 16 | (left == 2 ? in[1] : 0) << 8;
  *to++ = alphabet[bits >> 18 & 63];
  *to++ = alphabet[bits >> 12 & 63];
  if (left == 2) *to++ = alphabet[bits >> 6 & 63];
}

constexpr std::array<std::int8_t, 256> kBase64Values = [] {
  std::array<std::int8_t, 256> values;
  values.fill(-1);
  for (std::size_t i = 0; i < kBase64Alphabet.size(); ++i)
    values[static_cast<std::uint8_t>(kBase64Alphabet[i])] = static_cast<std::int8_t>(i);
  return values;
}();

}  // namespace

std::string_view Bytes(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Digest Sha256(std::string_view bytes) {
  Sha256Stream stream;
  stream.Update(bytes);
  return stream.Finish();
}

Sha256Stream::Sha256Stream() {
  Check(SHA256_Init(&state_) == 1, "SHA-256 is available");
}

void Sha256Stream::Update(std::string_view bytes) {
  Check(SHA256_Update(&state_, bytes.data(), bytes.size()) == 1, "SHA-256 takes bytes");
}

void Sha256Stream::UpdatePart(std::string_view part) {
  const auto prefix = LengthPrefix(part.size());
  Update({prefix.data(), prefix.size()});
  Update(part);
}

Digest Sha256Stream::Finish() {
  Digest digest;
  Check(SHA256_Final(digest.data(), &state_) == 1, "SHA-256 finishes");
  return digest;
}

void AppendPart(std::string& out, std::string_view part) {
  const auto prefix = LengthPrefix(part.size());
  out.append(prefix.data(), prefix.size());
  out.append(part);
}

std::string Hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    text += digits[static_cast<std::uint8_t>(byte) >> 4];
    text += digits[static_cast<std::uint8_t>(byte) & 15];
  }
  return text;
}

void AppendBase64Url(std::string& out, std::string_view bytes) {
  EncodeBase64(out, bytes, kBase64UrlAlphabet);
}

std::string Base64Url(std::string_view bytes) {
  std::string text;
  AppendBase64Url(text, bytes);
  return text;
}

std::string Base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  EncodeBase64(text, bytes, kBase64Alphabet);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::optional<std::string> Base64Decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  if (text.ends_with('=')) text.remove_suffix(text.ends_with("==") ? 2 : 1);
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int pending = 0;
  for (const char symbol : text) {
    const int value = kBase64Values[static_cast<std::uint8_t>(symbol)];
    if (value < 0) return std::nullopt;
    bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xffff;
    pending += 6;
    if (pending < 8) continue;
    pending -= 8;
    bytes += static_cast<char>(bits >> pending);
  }
  const bool spare_bits_set = (bits & ((1u << pending) - 1)) != 0;
  if (spare_bits_set) return std::nullopt;
  return bytes;
}

std::string PublicCacheKey(std::string_view tenant, std::string_view endpoint,
                           std::string_view key) {
  std::string joined(tenant);
  joined.append(1, ':').append(endpoint).append(1, ':').append(key);
  return Hex(Bytes(Sha256(joined)));
}

std::string SlotKey(std::uint8_t surface, std::string_view tenant, std::string_view endpoint,
                    std::string_view key) {
  std::string tuple;
  tuple.reserve(25 + tenant.size() + endpoint.size() + key.size());
  tuple += static_cast<char>(surface);
  for (const std::string_view part : {tenant, endpoint, key}) AppendPart(tuple, part);
  return std::string(Bytes(Sha256(tuple)));
}

}  // namespace once
