#include "replica/api/fingerprint.h"

#include <algorithm>
#include <vector>

#include "replica/api/digest.h"
#include "replica/api/header_list.h"
#include "replica/api/idempotency_key.h"
#include "replica/api/query_string.h"

namespace once {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  return lower;
}

std::string MediaType(std::string_view content_type) {
  return Lower(Trimmed(content_type.substr(0, content_type.find(';'))));
}

bool IsJsonMediaType(std::string_view media_type) {
  return media_type == "application/json" ||
         (media_type.starts_with("application/") && media_type.ends_with("+json"));
}

// Where the parameter that starts `text` ends: at the first ';' outside a quoted string.
std::size_t ParameterEnd(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\') ++i;
    if (!quoted && text[i] == ';') return i;
  }
  return text.size();
}

// `type/subtype` and every parameter as `;name=value`; values keep their case, except a charset.
std::string NormalContentType(std::string_view content_type) {
  std::string normal = MediaType(content_type);
  if (IsJsonMediaType(normal)) return normal;
  content_type.remove_prefix(std::min(content_type.find(';'), content_type.size()));
  while (!content_type.empty()) {
    content_type.remove_prefix(1);
    const std::string_view parameter = content_type.substr(0, ParameterEnd(content_type));
    content_type.remove_prefix(parameter.size());
    const std::string_view text = Trimmed(parameter);
    if (text.empty()) continue;
    const std::string name = Lower(text.substr(0, text.find('=')));
    const std::string_view value = text.substr(name.size());
    normal.append(1, ';').append(name).append(name == "charset" ? Lower(value) : value);
  }
  return normal;
}

void AppendQuery(std::string_view query, std::string& head) {
  struct Named {
    std::string text;
    std::size_t name_size;
    std::string_view Name() const { return std::string_view(text).substr(0, name_size); }
  };
  std::vector<Named> parameters;
  for (const QueryParameter& parameter : ParseQuery(query)) {
    if (IsIdempotencyKeyParameter(parameter.name)) continue;
    std::string text = NormalizePercent(parameter.name);
    const std::size_t name_size = text.size();
    const bool has_value = parameter.name.size() < parameter.text.size();
    if (has_value) text.append(1, '=').append(NormalizePercent(parameter.value));
    parameters.push_back({std::move(text), name_size});
  }
  std::stable_sort(parameters.begin(), parameters.end(),
                   [](const Named& a, const Named& b) { return a.Name() < b.Name(); });
  AppendPart(head, std::to_string(parameters.size()));
  for (const Named& parameter : parameters) AppendPart(head, parameter.text);
}

// `head` holds length-prefixed parts, the first of which names the domain.
Fingerprint Finish(std::string_view head, std::string_view last) {
  Sha256Stream stream;
  stream.Update(head);
  stream.UpdatePart(last);
  return {std::string(Bytes(stream.Finish())), kFingerprintVersion};
}

std::string HeadOf(std::string_view domain) {
  std::string head;
  head.reserve(256);
  AppendPart(head, domain);
  return head;
}

}  // namespace

FingerprintResult FingerprintOfRequest(const FingerprintInput& input) {
  std::string head = HeadOf("once/1/request");
  AppendPart(head, input.method);
  AppendPart(head, input.route);
  AppendPart(head, std::to_string(input.path_parameters.size()));
  for (const auto& [name, value] : input.path_parameters) {
    AppendPart(head, name);
    AppendPart(head, value);
  }
  AppendQuery(input.query, head);
  AppendPart(head, NormalContentType(input.content_type));
  if (input.body.empty()) {
    AppendPart(head, "absent");
    return {Finish(head, {}), {}};
  }
  if (IsJson(input.content_type)) {
    AppendPart(head, "json");
    CanonicalJson canonical = Canonicalize(input.body);
    if (!canonical.text) return {std::nullopt, std::move(canonical.error)};
    return {Finish(head, *canonical.text), {}};
  }
  AppendPart(head, "bytes");
  return {Finish(head, input.body), {}};
}

Fingerprint FingerprintOfCanonicalJson(std::string_view canonical) {
  return Finish(HeadOf("once/1/json"), canonical);
}

Fingerprint FingerprintOfOpaque(std::string_view bytes) {
  return Finish(HeadOf("once/1/opaque"), bytes);
}

bool IsJson(std::string_view content_type) {
  return IsJsonMediaType(MediaType(content_type));
}

}  // namespace once
