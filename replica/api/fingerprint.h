// What a request asked for, as 32 bytes: a retry has the same fingerprint, a different request
// under the same key has another and is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "replica/api/canonical_json.h"

namespace once {

/// Kept in every record. A change to any rule below, or to canonical_json.h, needs a new version
/// next to this one: records outlive releases.
inline constexpr std::uint32_t kFingerprintVersion = 1;

struct Fingerprint {
  std::string bytes;  // 32
  std::uint32_t version = kFingerprintVersion;

  bool operator==(const Fingerprint&) const = default;
};

struct FingerprintInput {
  std::string_view method;  // upper case
  std::string_view route;   // the template, `/v1/runs/{id}/cancel`
  /// (name, value) in the order of the template. Part of the fingerprint since the route is not
  /// the path: cancelling two runs under one key is a mismatch, not a replay.
  std::span<const std::pair<std::string_view, std::string_view>> path_parameters;
  std::string_view query;         // as sent, without '?'
  std::string_view content_type;  // as sent; empty when absent
  std::string_view body;
};

struct FingerprintResult {
  std::optional<Fingerprint> fingerprint;
  JsonError error;  // set when there is no fingerprint: the body is not JSON although it says so
};

/// Every part is hashed with its length, so no two requests meet by shifting a border.
/// - Query: parameters that carry the idempotency key are left out; the others by name, those of
///   one name in the order sent; percent escapes as NormalizePercent gives them.
/// - Content type: case and blanks do not count. For JSON (application/json, application/*+json)
///   parameters do not count either.
/// - Body: JSON by its canonical text, any other media type (and none) by its bytes. An empty body
///   is no body: it differs from `{}`, `""` and `null`, and is not an error for JSON.
FingerprintResult FingerprintOfRequest(const FingerprintInput& input);

/// Of a JSON value that stands for the request, in its own domain: never equal to another kind. The
/// text is one that Canonicalize gave, or a member's value inside such a text.
Fingerprint FingerprintOfCanonicalJson(std::string_view canonical);

/// Of a fingerprint that the caller made: any bytes, compared as they are, in their own domain.
Fingerprint FingerprintOfOpaque(std::string_view bytes);

/// Whether a Content-Type says application/json or application/*+json.
bool IsJson(std::string_view content_type);

}  // namespace once
