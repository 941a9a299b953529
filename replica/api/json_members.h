// The members of a canonical JSON object, as views into its text: no tree is built on the hot path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace once {

/// Works on the output of Canonicalize only, which is known to be well formed and without blanks.
class JsonMembers {
 public:
  /// Nothing when the document is not an object. `canonical` must outlive the result.
  static std::optional<JsonMembers> Of(std::string_view canonical);

  /// The canonical text of a member's value, or empty when there is no such member.
  std::string_view Raw(std::string_view name) const;
  bool Has(std::string_view name) const { return !Raw(name).empty(); }
  /// The member as a string; nothing when it is absent or no string.
  std::optional<std::string> String(std::string_view name) const;
  /// The member as a whole number in [low, high]; nothing when it is absent or something else.
  std::optional<std::uint64_t> Whole(std::string_view name, std::uint64_t low,
                                     std::uint64_t high) const;
  /// Names (as escaped in the text) and canonical values, ordered by name.
  const std::vector<std::pair<std::string_view, std::string_view>>& all() const { return members_; }
  /// Every name is one of `known`.
  bool AllAmong(std::initializer_list<std::string_view> known) const;

 private:
  std::vector<std::pair<std::string_view, std::string_view>> members_;
};

/// The text of a JSON string literal (with its quotation marks), unescaped.
std::string UnescapeJson(std::string_view literal);

/// Appends `text` as a JSON string literal. `text` should be UTF-8.
void AppendJsonString(std::string& out, std::string_view text);

}  // namespace once
