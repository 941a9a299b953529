// The strict reading that canonical texts and values have in common. Heavy to include: only for
// the sources that define a reader.
#pragma once

#include <boost/json/basic_parser_impl.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "replica/api/canonical_json.h"
#include "replica/limits.h"

namespace once {

/// The part of a Boost.JSON event handler that does not depend on what is built. `Reader` adds the
/// events of containers, strings and literals, and OnNumber, which gets every number as it was
/// spelled: Boost's own conversion is inexact and turns 1e400 into infinity.
template <class Reader>
class JsonReader {
 public:
  using error_code = boost::json::error_code;
  using string_view = boost::json::string_view;

  static constexpr std::size_t max_object_size = -1;
  static constexpr std::size_t max_array_size = -1;
  static constexpr std::size_t max_key_size = -1;
  static constexpr std::size_t max_string_size = -1;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, string_view s, error_code& ec) { return Number(s, ec); }
  bool on_uint64(std::uint64_t, string_view s, error_code& ec) { return Number(s, ec); }
  bool on_double(double, string_view s, error_code& ec) { return Number(s, ec); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

  /// Why the reader, not the grammar, refused the document.
  const std::string& Refusal() const { return refusal_; }

 protected:
  static std::string_view View(string_view text) { return {text.data(), text.size()}; }

  bool Refuse(std::string reason, error_code& ec) {
    refusal_ = std::move(reason);
    ec = boost::json::error::syntax;
    return false;
  }

 private:
  bool Number(string_view s, error_code& ec) {
    return static_cast<Reader*>(this)->OnNumber(View(s)) || Refuse("a number is out of range", ec);
  }

  std::string refusal_;
};

/// Reads the whole document into the parser's handler.
template <class Reader>
std::optional<JsonError> ReadJson(boost::json::basic_parser<Reader>& parser,
                                  std::string_view document) {
  boost::json::error_code ec;
  const std::size_t read = parser.write_some(false, document.data(), document.size(), ec);
  if (!ec && read == document.size()) return std::nullopt;
  if (!ec) return JsonError{read, "there is text after the end of the JSON document"};
  const std::string& refusal = parser.handler().Refusal();
  return JsonError{read, refusal.empty() ? ec.message() : refusal};
}

inline boost::json::parse_options JsonOptions() {
  boost::json::parse_options options;
  options.max_depth = kJsonDepthMax;
  return options;
}

}  // namespace once
