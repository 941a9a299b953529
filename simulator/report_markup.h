// HTML and SVG text, growing at its end.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace once {

/// Everything that comes in as an attribute's value or as text is escaped, so that a caller's key
/// cannot become markup; only names of tags and attributes and the arguments of Raw are taken as
/// they are, and those are ours.
class Markup {
 public:
  struct Attribute {
    Attribute(std::string_view name, std::string_view value) : name(name), value(value) {}
    /// With at most one decimal: a tenth of a pixel.
    Attribute(std::string_view name, double value);
    std::string_view name;
    std::string value;
  };
  using Attributes = std::initializer_list<Attribute>;

  Markup& Open(std::string_view tag, Attributes attributes = {});
  Markup& Close(std::string_view tag);
  /// An element with text alone.
  Markup& Leaf(std::string_view tag, Attributes attributes = {}, std::string_view text = {});
  Markup& Text(std::string_view text);
  Markup& Raw(std::string_view markup);

  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

/// "12.5", "3": a coordinate.
std::string Coordinate(double value);

}  // namespace once
