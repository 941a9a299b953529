#include "replica/api/json_value.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value_stack.hpp>

#include "replica/api/json_number.h"
#include "replica/api/json_reader.h"

namespace once {
namespace {

class ValueBuilder : public JsonReader<ValueBuilder> {
 public:
  ValueBuilder() { stack_.reset(); }

  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t n, error_code&) {
    stack_.push_array(n);
    return true;
  }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t n, error_code&) {
    stack_.push_object(n);
    members_ += n;
    return true;
  }
  bool on_key_part(string_view s, std::size_t, error_code&) {
    stack_.push_chars(s);
    return true;
  }
  bool on_key(string_view s, std::size_t, error_code&) {
    stack_.push_key(s);
    return true;
  }
  bool on_string_part(string_view s, std::size_t, error_code&) {
    stack_.push_chars(s);
    return true;
  }
  bool on_string(string_view s, std::size_t, error_code&) {
    stack_.push_string(s);
    return true;
  }
  bool on_bool(bool b, error_code&) {
    stack_.push_bool(b);
    return true;
  }
  bool on_null(error_code&) {
    stack_.push_null();
    return true;
  }
  bool OnNumber(std::string_view text) {
    JsonNumber number;
    if (!ReadNumber(text, number)) return false;
    if (const auto* whole = std::get_if<std::int64_t>(&number)) {
      stack_.push_int64(*whole);
    } else if (const auto* natural = std::get_if<std::uint64_t>(&number)) {
      stack_.push_uint64(*natural);
    } else {
      stack_.push_double(std::get<double>(number));
    }
    return true;
  }

  /// Once, after the document was read.
  boost::json::value Release() { return stack_.release(); }
  /// Members in the text, those included that a later one of the same name replaced.
  std::size_t Members() const { return members_; }

 private:
  boost::json::value_stack stack_;
  std::size_t members_ = 0;
};

std::size_t CountMembers(const boost::json::value& value) {
  std::size_t count = 0;
  if (const auto* array = value.if_array()) {
    for (const auto& element : *array) count += CountMembers(element);
  } else if (const auto* object = value.if_object()) {
    count = object->size();
    for (const auto& member : *object) count += CountMembers(member.value());
  }
  return count;
}

std::string Describe(const JsonError& error) {
  return error.reason + " (at byte " + std::to_string(error.offset) + ")";
}

}  // namespace

std::optional<boost::json::value> ParseJson(std::string_view document, std::string& error) {
  boost::json::basic_parser<ValueBuilder> parser(JsonOptions());
  if (const auto wrong = ReadJson(parser, document)) {
    error = Describe(*wrong);
    return std::nullopt;
  }
  boost::json::value value = parser.handler().Release();
  // Boost keeps the last of two members with one name, without a word: only the count tells. Where
  // it was is found by reading again.
  if (CountMembers(value) != parser.handler().Members()) {
    error = Describe(Canonicalize(document).error);
    return std::nullopt;
  }
  return value;
}

boost::json::value StoredJson(std::string_view document) {
  constexpr std::size_t kWrappingMax = 8;
  boost::json::parse_options options;
  options.max_depth = kJsonDepthMax + kWrappingMax;
  return boost::json::parse(document, {}, options);
}

std::string JsonText(const boost::json::object& object, std::string_view name) {
  const boost::json::value* const value = object.if_contains(name);
  return value && value->is_string() ? std::string(value->as_string()) : std::string();
}

}  // namespace once
