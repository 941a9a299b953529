// A JSON document as a value, for the codecs.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace once {

/// The document as a value, or nothing and the reason with its offset, fit to show the caller.
/// Refuses exactly what Canonicalize refuses (canonical_json.h). Numbers are int64, uint64 or
/// double as ReadNumber gives them (json_number.h).
std::optional<boost::json::value> ParseJson(std::string_view document, std::string& error);

/// A document that was written from parsed values, so it must be readable: a value again, or a
/// crash. A few levels deeper than what callers may send, since records wrap it.
boost::json::value StoredJson(std::string_view document);

/// The member as a string; empty when it is absent or no string.
std::string JsonText(const boost::json::object& object, std::string_view name);

}  // namespace once
