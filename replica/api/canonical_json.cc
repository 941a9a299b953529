#include "replica/api/canonical_json.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "replica/api/json_number.h"
#include "replica/api/json_reader.h"
#include "replica/api/plain_json.h"

namespace once {
namespace {

// Which bytes a canonical string spells as an escape: 0 none, 'u' as \u00xx, others as \ and that.
constexpr std::array<char, 256> kEscapes = [] {
  std::array<char, 256> escapes = {};
  for (int c = 0; c < 0x20; ++c) escapes[c] = 'u';
  escapes['\b'] = 'b';
  escapes['\t'] = 't';
  escapes['\n'] = 'n';
  escapes['\f'] = 'f';
  escapes['\r'] = 'r';
  escapes['"'] = '"';
  escapes['\\'] = '\\';
  return escapes;
}();

void AppendEscaped(std::string_view text, std::string& out) {
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const char escape = kEscapes[byte];
    if (escape == 0) continue;
    out.append(text, copied, i - copied);
    copied = i + 1;
    out.append(1, '\\').append(1, escape);
    if (escape == 'u') out.append("00").append(1, "01"[byte >> 4]) += "0123456789abcdef"[byte & 15];
  }
  out.append(text, copied);
}

// Order by UTF-16 code units, of UTF-8. The two differ only where a character above U+FFFF (lead
// byte F0..F4, in UTF-16 a surrogate) meets one of U+E000..U+FFFF (lead byte EE or EF).
bool Utf16Less(std::string_view a, std::string_view b) {
  const auto rank = [](char c) {
    const int byte = static_cast<unsigned char>(c);
    return byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte;
  };
  const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (left == a.end() || right == b.end()) return left == a.end() && right != b.end();
  return rank(*left) < rank(*right);
}

// Writes the canonical text while the document is read. Members are written as they come; an
// object that was not in order is rewritten when it closes.
class CanonicalWriter : public JsonReader<CanonicalWriter> {
 public:
  CanonicalWriter() {
    open_.reserve(8);
    members_.reserve(16);
    keys_.reserve(128);
  }

  std::string out;

  bool on_array_begin(error_code&) { return Open('[', false); }
  bool on_array_end(std::size_t, error_code&) {
    out += ']';
    open_.pop_back();
    return true;
  }

  bool on_object_begin(error_code&) { return Open('{', true); }
  bool on_object_end(std::size_t, error_code& ec) {
    const Container object = open_.back();
    open_.pop_back();
    if (!Sort(object)) return Refuse("an object has two members of the same name", ec);
    keys_.resize(object.keys_begin);
    members_.resize(object.members_begin);
    out += '}';
    return true;
  }

  bool on_key_part(string_view s, std::size_t, error_code&) { return Key(s); }
  bool on_key(string_view s, std::size_t, error_code&) {
    Key(s);
    out += "\":";
    members_.back().key_size = keys_.size() - members_.back().key_begin;
    in_text_ = false;
    return true;
  }

  bool on_string_part(string_view s, std::size_t, error_code&) { return Text(s); }
  bool on_string(string_view s, std::size_t, error_code&) {
    Text(s);
    out += '"';
    in_text_ = false;
    return true;
  }

  bool on_bool(bool b, error_code&) { return Literal(b ? "true" : "false"); }
  bool on_null(error_code&) { return Literal("null"); }
  bool OnNumber(std::string_view text) {
    BeginValue();
    return AppendCanonicalNumber(text, out);
  }

 private:
  struct Container {
    bool object;
    bool empty;
    std::size_t keys_begin;
    std::size_t members_begin;
  };
  // A member of an open object: its unescaped name in keys_, its text `"name":value` in out. The
  // text ends one comma before the next member's.
  struct Member {
    std::size_t key_begin;
    std::size_t key_size;
    std::size_t text_begin;
    std::size_t text_size;
  };

  std::string_view KeyOf(const Member& member) const {
    return std::string_view(keys_).substr(member.key_begin, member.key_size);
  }

  void Separate() {
    if (!open_.empty() && !std::exchange(open_.back().empty, false)) out += ',';
  }

  // A value of an object follows its key; of an array, maybe a comma.
  void BeginValue() {
    if (!open_.empty() && !open_.back().object) Separate();
  }

  bool Open(char bracket, bool object) {
    BeginValue();
    out += bracket;
    open_.push_back({object, true, keys_.size(), members_.size()});
    return true;
  }

  bool Key(string_view s) {
    if (!std::exchange(in_text_, true)) {
      Separate();
      members_.push_back({keys_.size(), 0, out.size(), 0});
      out += '"';
    }
    keys_.append(s.data(), s.size());
    AppendEscaped(View(s), out);
    return true;
  }

  bool Text(string_view s) {
    if (!std::exchange(in_text_, true)) {
      BeginValue();
      out += '"';
    }
    AppendEscaped(View(s), out);
    return true;
  }

  bool Literal(std::string_view text) {
    BeginValue();
    out += text;
    return true;
  }

  // Puts the members of the object that ends at the end of `out` in order; false when two have the
  // same name.
  bool Sort(const Container& object) {
    const auto begin = members_.begin() + static_cast<std::ptrdiff_t>(object.members_begin);
    const auto less = [this](const Member& a, const Member& b) {
      return Utf16Less(KeyOf(a), KeyOf(b));
    };
    const auto not_rising = [&less](const Member& a, const Member& b) { return !less(a, b); };
    if (std::adjacent_find(begin, members_.end(), not_rising) == members_.end()) return true;

    const std::size_t text_begin = begin->text_begin;
    std::size_t text_end = out.size();
    for (auto member = members_.end(); member != begin;) {
      --member;
      member->text_size = text_end - member->text_begin;
      text_end = member->text_begin - 1;
    }
    std::sort(begin, members_.end(), less);
    if (std::adjacent_find(begin, members_.end(), not_rising) != members_.end()) return false;
    unsorted_.assign(out, text_begin);
    out.resize(text_begin);
    for (auto member = begin; member != members_.end(); ++member) {
      if (member != begin) out += ',';
      out.append(unsorted_, member->text_begin - text_begin, member->text_size);
    }
    return true;
  }

  std::vector<Container> open_;
  std::vector<Member> members_;  // of all open objects
  std::string keys_;
  std::string unsorted_;
  bool in_text_ = false;  // between the parts of a string or a member name
};

}  // namespace

CanonicalJson Canonicalize(std::string_view document) {
  if (IsPlainCanonical(document)) return {std::string(document), {}};
  boost::json::basic_parser<CanonicalWriter> parser(JsonOptions());
  std::string& out = parser.handler().out;
  out.reserve(document.size());
  CanonicalJson canonical;
  if (auto wrong = ReadJson(parser, document)) {
    canonical.error = std::move(*wrong);
  } else {
    canonical.text = std::move(out);
  }
  return canonical;
}

}  // namespace once
