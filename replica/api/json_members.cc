#include "replica/api/json_members.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cstring>

namespace once {
namespace {

// The end of the string literal that starts at `at`.
std::size_t EndOfString(std::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

std::size_t EndOfValue(std::string_view text, std::size_t at) {
  int depth = 0;
  while (true) {
    const char c = text[at];
    if (c == '"') {
      at = EndOfString(text, at);
      if (depth == 0) return at;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']')
      if (--depth == 0) return at + 1;
    ++at;
  }
}

constexpr std::array<bool, 256> kNeedsEscape = [] {
  std::array<bool, 256> needs{};
  for (std::size_t c = 0; c < 0x20; ++c) needs[c] = true;
  needs['"'] = needs['\\'] = true;
  return needs;
}();

// How many bytes at the start of `text` go into a string as they are. Eight at a time: a byte of
// `stops` has its highest bit set when its character is below 0x20, a quote or a backslash (or
// follows one that is, by a carry; then the bytewise loop decides).
std::size_t CleanPrefix(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  constexpr std::uint64_t kHighs = 0x8080808080808080u;
  std::size_t clean = 0;
  for (; clean + 8 <= text.size(); clean += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + clean, sizeof word);
    const auto zero_byte = [](std::uint64_t bytes) { return (bytes - kOnes) & ~bytes; };
    const std::uint64_t stops = zero_byte(word ^ kOnes * '"') | zero_byte(word ^ kOnes * '\\') |
                                ((word - kOnes * 0x20) & ~word);
    if (stops & kHighs) break;
  }
  while (clean < text.size() && !kNeedsEscape[static_cast<unsigned char>(text[clean])]) ++clean;
  return clean;
}

}  // namespace

std::optional<JsonMembers> JsonMembers::Of(std::string_view canonical) {
  if (canonical.empty() || canonical[0] != '{') return std::nullopt;
  JsonMembers result;
  std::size_t at = 1;
  while (canonical[at] != '}') {
    if (canonical[at] == ',') ++at;
    const std::size_t name_end = EndOfString(canonical, at);
    const std::string_view name = canonical.substr(at + 1, name_end - at - 2);
    const std::size_t value_end = EndOfValue(canonical, name_end + 1);
    result.members_.emplace_back(name, canonical.substr(name_end + 1, value_end - name_end - 1));
    at = value_end;
  }
  return result;
}

std::string_view JsonMembers::Raw(std::string_view name) const {
  for (const auto& [key, value] : members_)
    if (key == name) return value;
  return {};
}

std::optional<std::string> JsonMembers::String(std::string_view name) const {
  const std::string_view raw = Raw(name);
  if (raw.empty() || raw[0] != '"') return std::nullopt;
  return UnescapeJson(raw);
}

std::optional<std::uint64_t> JsonMembers::Whole(std::string_view name, std::uint64_t low,
                                                std::uint64_t high) const {
  const std::string_view raw = Raw(name);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  if (raw.empty() || error != std::errc() || end != raw.data() + raw.size()) return std::nullopt;
  if (number < low || number > high) return std::nullopt;
  return number;
}

bool JsonMembers::AllAmong(std::initializer_list<std::string_view> known) const {
  return std::all_of(members_.begin(), members_.end(), [&](const auto& member) {
    return std::find(known.begin(), known.end(), member.first) != known.end();
  });
}

std::string UnescapeJson(std::string_view literal) {
  const std::string_view inside = literal.substr(1, literal.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return std::string(inside);
  return std::string(boost::json::parse(literal).as_string());
}

void AppendJsonString(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  while (true) {
    const std::size_t clean = CleanPrefix(text);
    out.append(text.substr(0, clean));
    if (clean == text.size()) break;
    const unsigned char c = static_cast<unsigned char>(text[clean]);
    text.remove_prefix(clean + 1);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
  }
  out += '"';
}

}  // namespace once
