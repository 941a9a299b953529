#include "replica/api/idempotency_key.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "replica/api/header_list.h"
#include "replica/api/query_string.h"
#include "replica/limits.h"

namespace once {
namespace {

using Kind = IdempotencyKey::Kind;

constexpr std::array<std::string_view, 2> kHeaders = {"Idempotency-Key", "X-Idempotency-Key"};
constexpr std::array<std::string_view, 2> kParameters = {"idempotency_key", "idempotency-key"};

IdempotencyKey Invalid(std::string_view why) {
  return {Kind::kInvalid, std::string(why)};
}

// The content of an RFC 8941 string, or nothing when it is not exactly one.
std::optional<std::string> Unquote(std::string_view text) {
  std::string content;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      if (i + 1 != text.size()) return std::nullopt;
      return content;
    }
    if (text[i] == '\\') {
      ++i;
      if (i == text.size() || (text[i] != '"' && text[i] != '\\')) return std::nullopt;
    }
    content += text[i];
  }
  return std::nullopt;
}

// Which of kParameters the percent-encoded name means, or none of them.
std::optional<std::size_t> ParameterIndex(std::string_view name) {
  const auto matches = [](std::string_view plain) -> std::optional<std::size_t> {
    const auto found = std::find(kParameters.begin(), kParameters.end(), plain);
    if (found == kParameters.end()) return std::nullopt;
    return found - kParameters.begin();
  };
  if (name.find('%') == std::string_view::npos) return matches(name);
  const auto decoded = PercentDecode(name);
  return decoded ? matches(*decoded) : std::nullopt;
}

// Takes `next` into what is known so far.
void Combine(IdempotencyKey& known, IdempotencyKey next) {
  if (known.kind == Kind::kInvalid) return;
  if (known.kind == Kind::kAbsent || next.kind == Kind::kInvalid) {
    known = std::move(next);
  } else if (known.text != next.text) {
    known = Invalid("the request names two different idempotency keys");
  }
}

IdempotencyKey ReadParameter(const QueryParameter& parameter) {
  const auto decoded = PercentDecode(parameter.value);
  if (!decoded) return Invalid("the idempotency key in the query has a malformed percent escape");
  return ParseIdempotencyKey(*decoded);
}

}  // namespace

IdempotencyKey ParseIdempotencyKey(std::string_view text) {
  text = Trimmed(text);
  const bool printable =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
  if (!printable) return Invalid("the idempotency key may hold printable ASCII only");
  IdempotencyKey key{Kind::kKey, std::string(text)};
  if (text.starts_with('"')) {
    auto content = Unquote(text);
    if (!content) return Invalid("the idempotency key is not a well-formed quoted string");
    key.text = std::move(*content);
  } else if (text.find('"') != std::string_view::npos) {
    return Invalid("the idempotency key has a quotation mark inside a bare value");
  } else if (text.find(',') != std::string_view::npos) {
    return Invalid("the idempotency key has a comma outside quotes: send one key");
  }
  if (key.text.empty()) return Invalid("the idempotency key is empty");
  if (key.text.size() > kKeyBytesMax)
    return Invalid("the idempotency key is longer than " + std::to_string(kKeyBytesMax) + " bytes");
  return key;
}

IdempotencyKey ReadIdempotencyKey(const HttpRequest& request) {
  IdempotencyKey key;
  for (const std::string_view header : kHeaders) {
    const int count = request.Count(header);
    if (count > 1) return Invalid("the header " + std::string(header) + " is there twice");
    if (count == 1) Combine(key, ParseIdempotencyKey(request.Header(header)));
  }
  std::array<bool, kParameters.size()> seen = {};
  for (const QueryParameter& parameter : ParseQuery(QueryOf(request.target))) {
    const auto index = ParameterIndex(parameter.name);
    if (!index) continue;
    if (std::exchange(seen[*index], true)) {
      const std::string name(kParameters[*index]);
      return Invalid("the query parameter " + name + " is there twice");
    }
    Combine(key, ReadParameter(parameter));
  }
  return key;
}

bool IsIdempotencyKeyParameter(std::string_view name) {
  return ParameterIndex(name).has_value();
}

}  // namespace once
