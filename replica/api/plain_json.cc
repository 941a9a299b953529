#include "replica/api/plain_json.h"

#include <array>
#include <cstddef>

namespace once {
namespace {

constexpr int kLevelsMax = 8;
constexpr std::ptrdiff_t kDigitsMax = 15;  // a double holds all of them

constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain = {};
  for (int c = 0x20; c < 0x7f; ++c) plain[static_cast<std::size_t>(c)] = true;
  plain['"'] = plain['\\'] = false;
  return plain;
}();

class PlainReader {
 public:
  explicit PlainReader(std::string_view document)
      : at_(document.data()), end_(document.data() + document.size()) {}

  bool Document() { return Value(1) && at_ == end_; }

 private:
  bool Take(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  bool Value(int level) {
    if (at_ == end_) return false;
    switch (*at_) {
      case '{':
        return level <= kLevelsMax && Object(level);
      case '[':
        return level <= kLevelsMax && Array(level);
      case '"': {
        std::string_view ignored;
        return Text(ignored);
      }
      case 't':
        return Word("true");
      case 'f':
        return Word("false");
      case 'n':
        return Word("null");
      default:
        return Number();
    }
  }

  bool Object(int level) {
    ++at_;
    if (Take('}')) return true;
    std::string_view name;
    for (bool first = true;; first = false) {
      const std::string_view before = name;
      // In ASCII the order of bytes is that of UTF-16.
      if (!Text(name) || (!first && name <= before) || !Take(':') || !Value(level + 1))
        return false;
      if (Take('}')) return true;
      if (!Take(',')) return false;
    }
  }

  bool Array(int level) {
    ++at_;
    if (Take(']')) return true;
    while (Value(level + 1)) {
      if (Take(']')) return true;
      if (!Take(',')) return false;
    }
    return false;
  }

  bool Text(std::string_view& text) {
    if (!Take('"')) return false;
    const char* const begin = at_;
    while (at_ != end_ && kPlain[static_cast<unsigned char>(*at_)]) ++at_;
    text = {begin, static_cast<std::size_t>(at_ - begin)};
    return Take('"');
  }

  bool Word(std::string_view word) {
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word))
      return false;
    at_ += word.size();
    return true;
  }

  // What follows it, of a fraction or an exponent, is nothing that may follow a value.
  bool Number() {
    const bool negative = Take('-');
    const char* const begin = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    const std::ptrdiff_t digits = at_ - begin;
    if (digits == 0 || digits > kDigitsMax) return false;
    return *begin != '0' || (digits == 1 && !negative);
  }

  const char* at_;
  const char* const end_;
};

}  // namespace

bool IsPlainCanonical(std::string_view document) {
  return PlainReader(document).Document();
}

}  // namespace once
