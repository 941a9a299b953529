// The caller's idempotency key: where it may stand in a request and what it may look like.
#pragma once

#include <string>
#include <string_view>

#include "replica/api/http.h"

namespace once {

/// The outcome of looking for a key.
struct IdempotencyKey {
  enum class Kind {
    kAbsent,   // no input names a key
    kKey,      // `text` is the key, unquoted: 1..kKeyBytesMax bytes of printable ASCII
    kInvalid,  // `text` says why, for the caller; answer 400 and store nothing
  };
  Kind kind = Kind::kAbsent;
  std::string text;

  bool operator==(const IdempotencyKey&) const = default;
};

/// Looks at the headers Idempotency-Key and X-Idempotency-Key and at the query parameters
/// idempotency_key and idempotency-key (name and value percent-decoded, '+' stays '+'). Each may
/// be there once, and those that are there must agree. A message never repeats the key.
IdempotencyKey ReadIdempotencyKey(const HttpRequest& request);

/// One input's text. `"abc"` (an RFC 8941 string, escapes \" and \\ only) and `abc` are the same
/// key; spaces and tabs around either are not part of it. A bare key has no comma (two header lines
/// may have been joined) and no quotation mark. Never kAbsent: empty is invalid.
IdempotencyKey ParseIdempotencyKey(std::string_view text);

/// Whether a percent-encoded query parameter name is one that carries the key.
bool IsIdempotencyKeyParameter(std::string_view name);

}  // namespace once
