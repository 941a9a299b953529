// The laws of fingerprints on documents made from a seed: every spelling of a value gives the same
// one, and a change to any leaf gives another.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "replica/api/canonical_json.h"
#include "replica/api/fingerprint.h"
#include "replica/api/json_value.h"
#include "replica/env/random.h"

namespace once {
namespace {

namespace json = boost::json;

std::string MakeText(Random& random) {
  static const std::vector<std::string> pieces = {
      "a",  "b",    "Z",    "0",      " ",      "/",      "\"",        "\\",
      "\n", "\x01", "\x7f", "\u00e9", "\u20ac", "\uffff", "\U0001F600"};
  std::string text;
  for (auto left = random.Below(4); left > 0; --left) text += pieces[random.Below(pieces.size())];
  return text;
}

std::int64_t MakeInteger(Random& random) {
  const auto bits = random.Below(64);
  return static_cast<std::int64_t>(random.Next()) >> bits;
}

json::value MakeValue(Random& random, int depth) {
  switch (random.Below(depth > 0 ? 8 : 6)) {
    case 0:
      return nullptr;
    case 1:
      return random.OneIn(2);
    case 2:
      return json::string(MakeText(random));
    case 3:
      // Never a whole number, and exact in 20 digits.
      return static_cast<double>(MakeInteger(random) % (1 << 30)) / 1024 + 0.0001220703125;
    case 4:
    case 5:
      return MakeInteger(random);
    case 6: {
      json::array array;
      for (auto left = random.Below(5); left > 0; --left)
        array.push_back(MakeValue(random, depth - 1));
      return array;
    }
    default: {
      json::object object;
      for (auto left = random.Below(6); left > 0; --left)
        object.insert_or_assign(MakeText(random), MakeValue(random, depth - 1));
      return object;
    }
  }
}

// Never only a scalar: five values in an array.
json::value MakeDocument(Random& random) {
  json::array array;
  for (int i = 0; i < 5; ++i) array.push_back(MakeValue(random, 4));
  return array;
}

// Writes a value in a spelling of the seed's choice.
class Speller {
 public:
  explicit Speller(std::uint64_t seed) : random_(seed) {}

  std::string Spell(const json::value& value) {
    std::string text = Blank();
    if (const auto* array = value.if_array()) {
      text += Join(*array, '[', ']', [this](const json::value& element) { return Spell(element); });
    } else if (const auto* object = value.if_object()) {
      std::vector<std::pair<json::string, json::value>> members;
      for (const auto& member : *object)
        members.emplace_back(json::string(member.key()), member.value());
      for (std::size_t i = members.size(); i > 1; --i)
        std::swap(members[i - 1], members[random_.Below(i)]);
      text += Join(members, '{', '}', [this](const auto& member) {
        return Blank() + String(member.first) + Blank() + ':' + Spell(member.second);
      });
    } else if (const auto* string = value.if_string()) {
      text += String(*string);
    } else if (const auto* integer = value.if_int64()) {
      text += Integer(*integer);
    } else if (const auto* real = value.if_double()) {
      text += Real(*real);
    } else {
      text += json::serialize(value);
    }
    return text + Blank();
  }

 private:
  template <class Range, class SpellOne>
  std::string Join(const Range& range, char open, char close, SpellOne spell_one) {
    std::string text(1, open);
    bool first = true;
    for (const auto& element : range) {
      if (!std::exchange(first, false)) text += ',';
      text += spell_one(element);
    }
    return text + (first ? Blank() : "") + close;
  }

  std::string Blank() {
    constexpr std::string_view blanks = " \t\r\n";
    return random_.OneIn(4) ? std::string(1 + random_.Below(2), blanks[random_.Below(4)]) : "";
  }

  std::string String(const json::string& string) {
    std::string text = "\"";
    for (const char c : string) {
      const bool must_escape = c == '"' || c == '\\' || (c >= 0 && c < 0x20);
      if (must_escape || (c >= 0 && random_.OneIn(3))) {
        char escape[8];
        std::snprintf(escape, sizeof escape, random_.OneIn(2) ? "\\u%04x" : "\\u%04X", c);
        text += escape;
      } else {
        text += c;
      }
    }
    return text + '"';
  }

  std::string Integer(std::int64_t integer) {
    if (integer == 0) return random_.OneIn(2) ? "-0" : "0.0e7";
    const std::string digits = std::to_string(integer);
    switch (random_.Below(6)) {
      case 0:
        return digits + ".0";
      case 1:
        return digits + "E+00";
      case 2:
        return digits + "00e-2";
      case 3:
        return digits + ".000e0";
      case 4:
        return integer % 10 == 0 ? std::to_string(integer / 10) + "e1" : digits + "0e-1";
      default:
        return digits;
    }
  }

  std::string Real(double real) {
    char text[64];
    std::snprintf(text, sizeof text, random_.OneIn(2) ? "%.20e" : "%.30f", real);
    return text;
  }

  Random random_;
};

// Changes one leaf of the seed's choice: the first on a random way down.
void ChangeOneLeaf(json::value& value, Random& random) {
  if (auto* array = value.if_array(); array && !array->empty()) {
    ChangeOneLeaf((*array)[random.Below(array->size())], random);
  } else if (auto* object = value.if_object(); object && !object->empty()) {
    ChangeOneLeaf(
        (object->begin() + static_cast<std::ptrdiff_t>(random.Below(object->size())))->value(),
        random);
  } else if (auto* integer = value.if_int64()) {
    *integer ^= std::int64_t{1} << random.Below(63);
  } else if (auto* string = value.if_string()) {
    *string += "x";
  } else if (auto* truth = value.if_bool()) {
    *truth = !*truth;
  } else {
    value = "changed";
  }
}

std::string FingerprintBytes(const std::string& document) {
  const CanonicalJson canonical = Canonicalize(document);
  if (!canonical.text) return "refused: " + canonical.error.reason;
  return FingerprintOfCanonicalJson(*canonical.text).bytes;
}

RC_GTEST_PROP(FingerprintLaw, CM_06_OW_N_03_SpellingNeverChangesIt,
              (std::uint64_t seed, std::uint64_t left, std::uint64_t right)) {
  Random random(seed);
  const json::value value = MakeDocument(random);
  const std::string a = FingerprintBytes(Speller(left).Spell(value));
  RC_ASSERT(a.size() == 32u);
  RC_ASSERT(a == FingerprintBytes(Speller(right).Spell(value)));
}

RC_GTEST_PROP(FingerprintLaw, ChangingOneLeafAlwaysChangesIt, (std::uint64_t seed)) {
  Random random(seed);
  const json::value value = MakeDocument(random);
  json::value changed = value;
  ChangeOneLeaf(changed, random);
  RC_ASSERT(FingerprintBytes(Speller(seed).Spell(value)) !=
            FingerprintBytes(Speller(seed + 1).Spell(changed)));
}

RC_GTEST_PROP(FingerprintLaw, CanonicalTextIsItsOwn, (std::uint64_t seed)) {
  Random random(seed);
  const auto once = Canonicalize(Speller(seed).Spell(MakeDocument(random)));
  RC_ASSERT(once.text.has_value());
  RC_ASSERT(Canonicalize(*once.text).text == once.text);
}

RC_GTEST_PROP(FingerprintLaw, ParsedValueIsTheSameValue, (std::uint64_t seed)) {
  Random random(seed);
  const json::value value = MakeDocument(random);
  std::string error;
  RC_ASSERT(ParseJson(Speller(seed).Spell(value), error) == value);
}

}  // namespace
}  // namespace once
