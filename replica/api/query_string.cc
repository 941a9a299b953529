#include "replica/api/query_string.h"

namespace once {
namespace {

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte of the escape at `at`, or -1 when there is no well-formed one.
int EscapedByte(std::string_view text, std::size_t at) {
  if (text.size() - at < 3) return -1;
  const int high = HexValue(text[at + 1]);
  const int low = HexValue(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

bool IsUnreserved(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string_view QueryOf(std::string_view target) {
  const std::size_t mark = target.find('?');
  return mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
}

std::vector<QueryParameter> ParseQuery(std::string_view query) {
  std::vector<QueryParameter> parameters;
  while (!query.empty()) {
    const std::string_view text = query.substr(0, query.find('&'));
    query.remove_prefix(text.size() < query.size() ? text.size() + 1 : text.size());
    if (text.empty()) continue;
    const std::string_view name = text.substr(0, text.find('='));
    const std::string_view value =
        name.size() < text.size() ? text.substr(name.size() + 1) : std::string_view{};
    parameters.push_back({text, name, value});
  }
  return parameters;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int byte = EscapedByte(text, i);
    if (byte < 0) return std::nullopt;
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

std::string NormalizePercent(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string normal;
  normal.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      normal += text[i];
      continue;
    }
    const int byte = EscapedByte(text, i);
    if (byte < 0) return std::string(text);
    if (IsUnreserved(byte)) {
      normal += static_cast<char>(byte);
    } else {
      normal.append(1, '%').append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
    i += 2;
  }
  return normal;
}

}  // namespace once
